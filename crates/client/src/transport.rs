//! Sends a request over HTTP/1.1 and reads the answer, with limits for time and size.
//!
//! Open connections are kept and used again. If a kept connection turns out to be closed, the
//! request is sent on another connection only if no byte of the request was sent.

use std::{io, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use svc_core::Timestamp;
use svc_private::{is_own_or_root, own_uid};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use crate::{
    certificates::{self, TlsFailure},
    error::Error,
    proxy::Proxy,
    sse::EventStream,
    target::{Address, Target},
};

mod guarded;

pub use guarded::{GuardedError, connect_permitted, start_tls};

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

/// Opens a connection to a target, through its proxy if it has one. The agent's link uses this
/// function too.
pub async fn connect(target: &Target) -> io::Result<Box<dyn Stream>> {
    let proxy = target.proxy.as_deref();
    match &target.address {
        Address::Tcp { host, port } => Ok(Box::new(connect_tcp(proxy, host, *port).await?)),
        Address::Tls { host, port, config } => {
            let stream = connect_tcp(proxy, host, *port).await?;
            Ok(Box::new(begin_tls(host, stream, config.clone()).await?))
        }
        Address::Unix { path } => Ok(Box::new(connect_unix(path).await?)),
    }
}

/// The time at which the certificate of the server expires. `None` without TLS, or if the
/// certificate cannot be read.
pub async fn certificate_end(target: &Target) -> io::Result<Option<Timestamp>> {
    let Address::Tls { host, port, config } = &target.address else {
        return Ok(None);
    };
    let stream = connect_tcp(target.proxy.as_deref(), host, *port).await?;
    let stream = begin_tls(host, stream, config.clone()).await?;
    let (_, session) = stream.get_ref();
    let certificate = session.peer_certificates().and_then(<[_]>::first);
    Ok(certificate.and_then(certificates::end))
}

async fn begin_tls(
    host: &str,
    stream: TcpStream,
    config: Arc<ClientConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(bare_host(host).to_owned())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let connected = TlsConnector::from(config).connect(name, stream).await;
    connected.map_err(|error| TlsFailure::explain(error, bare_host(host)))
}

async fn connect_tcp(proxy: Option<&Proxy>, host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = match proxy {
        Some(proxy) => proxy.connect(&format!("{host}:{port}")).await?,
        None => TcpStream::connect((bare_host(host), port)).await?,
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connects to an agent's socket. Fails before anything is sent if another user listens there:
/// a user who can change the folder of a socket can replace the socket.
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path).await?;
    let listener = stream.peer_cred()?.uid();
    if is_own_or_root(listener) {
        return Ok(stream);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "user id {listener} listens on this socket, and you are {}; nothing was sent, because \
             only an agent of yours or of root is used. Remove the socket and start your agent, or \
             run this command as the agent's user",
            own_uid()
        ),
    ))
}

/// The host without the brackets that a URL has around an IPv6 address.
pub fn bare_host(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

/// A connection and the task that drives it. The task ends when the connection is dropped.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
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
            let target = self.target.to_string();
            Ok(Ok(EventStream::new(
                response.into_body(),
                connection,
                target,
            )))
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
            Ok(Reply::Stream(EventStream::with_limit(
                response.into_body(),
                connection,
                self.target.to_string(),
                self.policy.answer_bytes_max,
            )))
        };
        self.finish_within(within, answering).await
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
        while let Some(mut connection) = self.take_idle() {
            match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok((connection, response)),
                Err(mut failed) => match failed.take_message() {
                    // The connection was closed before anything was sent.
                    Some(unsent) => request = unsent,
                    None => return Err(self.unreachable(failed.into_error())),
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
        let mut connection = self.open().await?;
        let sent = connection.sender.send_request(request).await;
        let response = sent.map_err(|error| self.unreachable(error))?;
        Ok((connection, response))
    }

    async fn open(&self) -> Result<Connection, Error> {
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
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(error))?;
        // A connection error reaches the request in flight through the sender.
        let driver = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Connection { sender, driver })
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
            Err(error) => return Err(self.unreachable(error)),
        };
        if connection.sender.ready().await.is_ok() {
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

    pub(crate) fn unexpected(&self, why: impl Into<String>) -> Error {
        Error::Unexpected {
            target: self.target.to_string(),
            why: why.into(),
        }
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
