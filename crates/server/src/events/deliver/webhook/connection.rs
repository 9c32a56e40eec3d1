//! A connection to a receiver, used for one request at a time.
//!
//! The attempt that uses a connection also drives it: no task exists for a connection, and nothing is
//! read from an idle one.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use svc_client::transport::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{answer::WebhookAnswer, innermost_cause};

/// Bytes of headers that an answer may have.
const ANSWER_HEADER_BYTES_MAX: usize = 64 * 1024;
/// The age after which a connection is not used again, so that changes of names and of the guard take
/// effect.
const AGE_MAX: Duration = Duration::from_secs(60);

pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: http1::Connection<TokioIo<ObservedStream>, Full<Bytes>>,
    /// Whether a byte arrived since the last request.
    has_read: Arc<AtomicBool>,
    opened: Instant,
    /// The URL for which it was opened.
    url: String,
    address: SocketAddr,
}

/// Why a request got no complete answer.
pub(super) struct ExchangeError {
    pub(super) why: String,
    /// Whether a part of the answer arrived.
    pub(super) is_answered: bool,
}

impl Connection {
    pub(super) async fn start(
        stream: Box<dyn Stream>,
        url: &str,
        address: SocketAddr,
    ) -> Result<Self, String> {
        let has_read = Arc::new(AtomicBool::new(false));
        let stream = ObservedStream {
            stream,
            has_read: Arc::clone(&has_read),
        };
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(ANSWER_HEADER_BYTES_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        Ok(Self {
            sender,
            driver,
            has_read,
            opened: Instant::now(),
            url: url.to_owned(),
            address,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether an idle connection can be used for another request to this URL. False if the receiver
    /// closed it or sent bytes that no request asked for.
    pub(super) async fn can_send_to(&mut self, url: &str) -> bool {
        self.url == url && self.is_young() && self.is_idle().await
    }

    fn is_young(&self) -> bool {
        self.opened.elapsed() < AGE_MAX
    }

    /// Polls the connection once, so that it notices what happened on the socket.
    async fn is_idle(&mut self) -> bool {
        let driver = &mut self.driver;
        let polled = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *driver).poll(cx))).await;
        polled.is_pending() && self.sender.is_ready()
    }

    /// Sends a request and reads its answer. Returns whether the connection can be used again.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        answer: &mut WebhookAnswer,
        answer_bytes_max: usize,
    ) -> Result<bool, ExchangeError> {
        let began = Instant::now();
        self.has_read.store(false, Ordering::Relaxed);
        let (sender, has_read) = (&mut self.sender, &self.has_read);
        let exchange = async {
            let response = sender.send_request(request).await;
            let response = response.map_err(|error| ExchangeError {
                why: format!("no answer: {}", exchange_reason(&error)),
                is_answered: has_read.load(Ordering::Relaxed),
            })?;
            answer.first_byte = Some(began.elapsed());
            let read = answer.read(response, answer_bytes_max).await;
            read.map_err(|why| ExchangeError {
                why,
                is_answered: true,
            })
        };
        {
            let mut exchange = std::pin::pin!(exchange);
            tokio::select! {
                biased;
                done = &mut exchange => done?,
                // The connection may end before the end of the answer was read from it.
                _ = &mut self.driver => return exchange.await.map(|()| false),
            }
        }
        Ok(self.is_young() && self.is_idle().await)
    }
}

/// Why a request got no answer.
fn exchange_reason(error: &hyper::Error) -> String {
    if error.is_parse_too_large() {
        "the head of the receiver's answer is too large".to_owned()
    } else if error.is_parse() {
        "the receiver's answer is not HTTP/1.1".to_owned()
    } else if error.is_incomplete_message() {
        "the receiver closed the connection before it answered".to_owned()
    } else {
        innermost_cause(error)
    }
}

/// A stream that notes when bytes arrive.
struct ObservedStream {
    stream: Box<dyn Stream>,
    has_read: Arc<AtomicBool>,
}

impl AsyncRead for ObservedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.has_read.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl AsyncWrite for ObservedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
