//! Sends a request over HTTP/1.1 and reads the answer, with limits for time and size.
//!
//! Open connections are kept and used again. If a kept connection turns out to be closed, the
//! request is sent on another connection only if no byte of the request was sent.

use std::{error, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use svc_protocol::http_answer::RequestKind;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    certificates::TlsFailure,
    error::Error,
    sse::{EventStream, MESSAGE_BYTES_MAX},
    target::Target,
};

mod connect;
mod filter;
mod strict;

pub use connect::{bare_host, certificate_end, connect};
pub use filter::{FilteredStream, ReadFilter};
pub use strict::{StrictStream, find_answer_error};

/// A byte stream of any kind: TCP, TLS or Unix socket.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The client's timeouts and limits.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Time to connect, TLS included.
    pub connect_timeout: Duration,
    /// Time for a request, from the start of connecting to the last byte of the answer.
    pub answer_timeout: Duration,
    /// Time for a method call. Longer than `answer_timeout`, because the timeout of a method may be
    /// an hour (spec 8).
    pub call_timeout: Duration,
    /// The maximum size of an answer.
    pub answer_bytes_max: usize,
    /// The maximum number of idle connections that are kept.
    pub idle_max: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(3_615),
            answer_bytes_max: 256 * 1024 * 1024,
            idle_max: 64,
        }
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// An answer as a whole, or a stream of messages.
#[derive(Debug)]
pub enum Reply {
    Whole(Answer),
    Stream(EventStream),
}

/// A connection and the task that drives it. The task ends when the connection is dropped.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    /// The kind of all requests of the connection.
    request: RequestKind,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Sends requests to one target.
pub(crate) struct Transport {
    target: Target,
    policy: Policy,
    idle: std::sync::Mutex<Vec<Connection>>,
}

impl Transport {
    pub(crate) fn new(target: Target, policy: Policy) -> Self {
        Self {
            target,
            policy,
            idle: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sends a request whose URI is a path; the `Host` header is added here.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        within: Duration,
    ) -> Result<Answer, Error> {
        self.put_host(&mut request)?;
        self.finish_within(within, self.exchange(request)).await
    }

    fn put_host(&self, request: &mut Request<Full<Bytes>>) -> Result<(), Error> {
        let host = HeaderValue::from_str(&self.target.host_header())
            .map_err(|error| self.unreachable(error))?;
        request.headers_mut().insert(header::HOST, host);
        Ok(())
    }

    /// Sends a request for an event stream, on a connection of its own. If the status is not a
    /// success, returns the whole answer instead of a stream.
    pub(crate) async fn open_stream(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Result<EventStream, Answer>, Error> {
        self.put_host(&mut request)?;
        let opening = async {
            let (connection, response) = self.send_on_new(request).await?;
            if !response.status().is_success() {
                return self.read(connection, response).await.map(Err);
            }
            let stream = self.stream(connection, response, MESSAGE_BYTES_MAX);
            Ok(Ok(stream))
        };
        let within = self.policy.answer_timeout;
        self.finish_within(within, opening).await
    }

    /// Sends a request whose answer may be a stream. `within` limits the time until the whole
    /// answer, or the start of the stream, has arrived.
    pub(crate) async fn send_for_reply(
        &self,
        mut request: Request<Full<Bytes>>,
        within: Duration,
    ) -> Result<Reply, Error> {
        self.put_host(&mut request)?;
        let answering = async {
            let (connection, response) = self.start(request).await?;
            if !is_event_stream(response.headers()) {
                return self.read(connection, response).await.map(Reply::Whole);
            }
            let stream = self.stream(connection, response, self.policy.answer_bytes_max);
            Ok(Reply::Stream(stream))
        };
        self.finish_within(within, answering).await
    }

    fn stream(
        &self,
        connection: Connection,
        response: Response<Incoming>,
        message_bytes_max: usize,
    ) -> EventStream {
        let (body, target) = (response.into_body(), self.target.to_string());
        EventStream::new(body, connection, target, message_bytes_max)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Error> {
        let (connection, response) = self.start(request).await?;
        self.read(connection, response).await
    }

    /// Sends a request and waits for the head of its answer.
    async fn start(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Connection, Response<Incoming>), Error> {
        while kind_of(&request) == RequestKind::Usual
            && let Some(mut connection) = self.take_idle()
        {
            match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok((connection, response)),
                Err(mut failed) => match failed.take_message() {
                    // The connection was closed before anything was sent.
                    Some(unsent) => request = unsent,
                    None => return Err(self.broken(&failed.into_error())),
                },
            }
        }
        self.send_on_new(request).await
    }

    /// Sends a request on a new connection.
    async fn send_on_new(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Connection, Response<Incoming>), Error> {
        let mut connection = self.open(kind_of(&request)).await?;
        let sent = connection.sender.send_request(request).await;
        let response = sent.map_err(|error| self.broken(&error))?;
        Ok((connection, response))
    }

    async fn open(&self, request: RequestKind) -> Result<Connection, Error> {
        let connecting = async {
            let connected = connect(&self.target).await;
            connected.map_err(|error| {
                let (why, remedy) = match TlsFailure::find(&error) {
                    Some(failure) => (failure.why.clone(), Some(failure.remedy.clone())),
                    None => (error.to_string(), self.target.proxy_remedy()),
                };
                Error::Unreachable {
                    target: self.target.to_string(),
                    why,
                    remedy,
                }
            })
        };
        let within = self.policy.connect_timeout;
        let stream = self.finish_within(within, connecting).await?;
        let stream = TokioIo::new(StrictStream::new(stream, request));
        let (sender, connection) = http1::handshake(stream)
            .await
            .map_err(|error| self.unreachable(error))?;
        // A connection error reaches the request in flight through the sender.
        let driver = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Connection {
            sender,
            driver,
            request,
        })
    }

    async fn read(
        &self,
        mut connection: Connection,
        response: Response<Incoming>,
    ) -> Result<Answer, Error> {
        let (parts, body) = response.into_parts();
        let limit = self.policy.answer_bytes_max;
        let body = match Limited::new(body, limit).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(self.unexpected(format!("the answer has more than {limit} bytes")));
            }
            Err(error) => return Err(self.broken(&*error)),
        };
        if connection.request == RequestKind::Usual && connection.sender.ready().await.is_ok() {
            self.keep(connection);
        }
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.lock_idle();
        while let Some(connection) = idle.pop() {
            if !connection.sender.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.lock_idle();
        if idle.len() < self.policy.idle_max {
            idle.push(connection);
        }
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        let locked = self.idle.lock();
        locked.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn finish_within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let timed_out = || Error::Timeout {
            target: self.target.to_string(),
            after: limit,
        };
        timeout(limit, work).await.map_err(|_| timed_out())?
    }

    fn unreachable(&self, error: impl ToString) -> Error {
        Error::Unreachable {
            target: self.target.to_string(),
            why: error.to_string(),
            remedy: None,
        }
    }

    fn broken(&self, error: &(dyn error::Error + 'static)) -> Error {
        self.unreachable(why_broken(error))
    }

    pub(crate) fn unexpected(&self, why: impl Into<String>) -> Error {
        Error::Unexpected {
            target: self.target.to_string(),
            why: why.into(),
        }
    }
}

/// Why an exchange with a server failed.
pub(crate) fn why_broken(error: &(dyn error::Error + 'static)) -> String {
    match find_answer_error(error) {
        Some(refused) => format!("its answer is not valid HTTP/1.1: {refused}"),
        None => error.to_string(),
    }
}

fn kind_of<B>(request: &Request<B>) -> RequestKind {
    match *request.method() {
        Method::HEAD => RequestKind::Head,
        _ => RequestKind::Usual,
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/event-stream")
}

#[cfg(test)]
mod tests;
