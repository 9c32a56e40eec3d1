//! A connection to a receiver, used for one request at a time.
//!
//! The attempt that uses a connection also drives it, so no task reads from an idle HTTP/1.1
//! connection. HTTP/2 needs tasks, which end with the connection.

use std::{
    error::Error,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use svc_client::transport::{Stream, StrictStream, find_answer_error};
use svc_protocol::http_answer::RequestKind;
use tokio::task::JoinSet;
use tokio_util::io::InspectReader;

use super::{
    Progress,
    error::{OutboundError, innermost_cause},
    request::{Request, RequestForm},
    settings::ConnectionSettings,
};

/// Limit of the header bytes of an answer.
const ANSWER_HEADER_BYTES_MAX: usize = 64 * 1024;
/// How many bytes of an answer a receiver may send over HTTP/2 before the server has read them.
const HTTP2_WINDOW_BYTES: u32 = 64 * 1024;
/// The age after which a connection is not used again, so that DNS changes take effect.
const AGE_MAX: Duration = Duration::from_secs(60);

pub(super) struct Connection {
    sender: Sender,
    driver: Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>,
    /// The tasks of HTTP/2; none for HTTP/1.1.
    tasks: Tasks,
    /// Whether a byte arrived since the last request was sent.
    has_read: Arc<AtomicBool>,
    opened: Instant,
    form: RequestForm,
    settings: ConnectionSettings,
    /// The address of the receiver; `None` if the proxy resolves names.
    pub(super) address: Option<SocketAddr>,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.0.lock().abort_all();
    }
}

impl Connection {
    pub(super) async fn start(
        stream: Box<dyn Stream>,
        form: RequestForm,
        settings: ConnectionSettings,
        address: Option<SocketAddr>,
    ) -> Result<Self, OutboundError> {
        let (has_read, tasks) = (Arc::new(AtomicBool::new(false)), Tasks::default());
        let observed = Arc::clone(&has_read);
        let stream = InspectReader::new(stream, move |bytes| {
            if !bytes.is_empty() {
                observed.store(true, Ordering::Relaxed);
            }
        });
        let failed = OutboundError::Start;
        let (sender, driver): (_, Pin<Box<dyn Future<Output = _> + Send>>) = match form {
            RequestForm::Http2 => {
                let handshake = http2::Builder::new(tasks.clone())
                    .initial_stream_window_size(HTTP2_WINDOW_BYTES)
                    .initial_connection_window_size(HTTP2_WINDOW_BYTES)
                    .max_header_list_size(ANSWER_HEADER_BYTES_MAX as u32)
                    .handshake(TokioIo::new(stream));
                let (sender, driver) = handshake.await.map_err(failed)?;
                (Sender::Http2(sender), Box::pin(driver))
            }
            RequestForm::Origin | RequestForm::Absolute { .. } => {
                let stream = StrictStream::new(stream, RequestKind::Usual);
                let handshake = http1::Builder::new()
                    .max_buf_size(ANSWER_HEADER_BYTES_MAX)
                    .handshake(TokioIo::new(stream));
                let (sender, driver) = handshake.await.map_err(failed)?;
                (Sender::Http1(sender), Box::pin(driver))
            }
        };
        Ok(Self {
            sender,
            driver,
            tasks,
            has_read,
            opened: Instant::now(),
            form,
            settings,
            address,
        })
    }

    pub(super) fn is_http2(&self) -> bool {
        self.form == RequestForm::Http2
    }

    /// Whether an idle connection can be used for another request with these settings. False if the
    /// connection is too old, or if the receiver closed it or sent bytes without a request.
    pub(super) async fn can_send(&mut self, settings: &ConnectionSettings) -> bool {
        self.settings == *settings && self.is_young() && self.is_idle().await
    }

    fn is_young(&self) -> bool {
        self.opened.elapsed() < AGE_MAX
    }

    /// Polls the connection once, so that it detects a close or unexpected bytes.
    async fn is_idle(&mut self) -> bool {
        let driver = &mut self.driver;
        let polled = std::future::poll_fn(|cx| Poll::Ready(driver.as_mut().poll(cx))).await;
        polled.is_pending() && self.sender.is_ready()
    }

    /// Sends a request and reads its answer. Returns whether the connection can be used again.
    pub(super) async fn exchange(
        &mut self,
        request: &Request<'_>,
        progress: &mut Progress,
    ) -> Result<bool, OutboundError> {
        (progress.address, progress.is_http2) = (self.address, self.is_http2());
        let (answer, answer_bytes_max) = (&mut progress.answer, request.answer_bytes_max);
        let request = request.to_http(&self.form)?;
        let (began, is_http2) = (Instant::now(), self.is_http2());
        self.has_read.store(false, Ordering::Relaxed);
        let (sender, has_read) = (&mut self.sender, &self.has_read);
        let exchange = async {
            let response = sender.send(request).await;
            let response = response.map_err(|error| OutboundError::NoAnswer {
                why: exchange_reason(&error),
                may_repeat: match is_http2 {
                    true => is_unprocessed(&error),
                    false => !has_read.load(Ordering::Relaxed),
                },
            })?;
            answer.first_byte = Some(began.elapsed());
            answer.read(response, answer_bytes_max).await
        };
        {
            let mut exchange = std::pin::pin!(exchange);
            tokio::select! {
                biased;
                done = &mut exchange => done?,
                // The connection may end while it still holds a part of the answer.
                _ = &mut self.driver => return exchange.await.map(|()| false),
            }
        }
        Ok(self.is_young() && self.is_idle().await)
    }
}

impl Sender {
    async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        match self {
            Self::Http1(sender) => sender.send_request(request).await,
            Self::Http2(sender) => sender.send_request(request).await,
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_ready(),
            Self::Http2(sender) => sender.is_ready(),
        }
    }
}

/// Why a request got no answer.
fn exchange_reason(error: &hyper::Error) -> String {
    if let Some(refused) = find_answer_error(error) {
        format!("the receiver's answer is not valid HTTP/1.1: {refused}")
    } else if error.is_parse_too_large() {
        "the head of the receiver's answer is too large".to_owned()
    } else if error.is_parse() {
        "the receiver's answer is not HTTP/1.1".to_owned()
    } else if error.is_incomplete_message() {
        "the receiver closed the connection before it answered".to_owned()
    } else {
        innermost_cause(error)
    }
}

/// Whether an HTTP/2 request counts as not processed: the connection was closed, or the receiver
/// refused the request.
fn is_unprocessed(error: &hyper::Error) -> bool {
    let reason = error
        .source()
        .and_then(|source| source.downcast_ref::<h2::Error>());
    error.is_canceled()
        || error.is_closed()
        || reason.is_some_and(|error| {
            error.is_io()
                || error.is_go_away()
                || error.reason() == Some(h2::Reason::REFUSED_STREAM)
        })
}

/// The tasks of an HTTP/2 connection.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<T: Future<Output = ()> + Send + 'static> hyper::rt::Executor<T> for Tasks {
    fn execute(&self, task: T) {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}
