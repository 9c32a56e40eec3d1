//! Accepts connections (TCP or TLS, HTTP/1.1 or 2), limits their time and number, and drains them
//! at shutdown.

use std::{
    future::poll_fn,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use http::{HeaderMap, Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use ipnet::IpNet;
use svc_protocol::problem::{CONTENT_TYPE, Problem};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    answers::{Outlet, Sending},
    auth::LastToken,
    client_stream::ClientStream,
    connections::{Connections, Order, Registration, Slot, TooManyFromAddress},
    door::Door,
    head_guard::HeadGuard,
    head_timer::HeadTimer,
};

/// Time for a TLS handshake. The limit for the first head includes the handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// The maximum size of an HTTP/1 request head, and of each buffer of an HTTP/1 connection.
const HTTP1_BUFFER_BYTES: usize = 64 * 1024;
/// The maximum size of the request head of one HTTP/2 stream.
const HTTP2_HEAD_BYTES: u32 = 16 * 1024;
/// The maximum number of concurrent requests on one HTTP/2 connection. RFC 9113 advises against a
/// limit below 100.
const HTTP2_STREAMS: u32 = 250;
/// Bytes that a client may send before a handler reads them: for one stream, and for all streams of
/// a connection.
const HTTP2_STREAM_WINDOW: u32 = 256 * 1024;
const HTTP2_CONNECTION_WINDOW: u32 = 1024 * 1024;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    pub tls: bool,
}

pub struct Listener {
    pub tcp: TcpListener,
    pub tls: Option<TlsAcceptor>,
    pub door: Door,
    /// The table of connections, shared by all listeners.
    pub connections: Connections,
    /// Time for the head of a request, and so the time that a connection may be idle.
    pub head_max: Duration,
    /// When cancelled, the listener accepts no more connections and lets requests in flight finish.
    pub shutdown: CancellationToken,
}

/// The settings that all connections of a listener share.
#[derive(Clone)]
struct ConnectionSettings {
    tls: Option<TlsAcceptor>,
    door: Door,
    head_max: Duration,
}

impl Listener {
    /// Serves until shutdown; returns when all connections have ended or after `linger`.
    pub async fn run(self, linger: Duration) {
        let tasks = TaskTracker::new();
        let settings = ConnectionSettings {
            tls: self.tls.clone(),
            door: self.door.clone(),
            head_max: self.head_max,
        };
        loop {
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                () = self.shutdown.cancelled() => break,
            };
            let Some((tcp, address, registration)) = accepted else {
                continue;
            };
            let stream = ClientStream::new(tcp, registration);
            tasks.spawn(serve(stream, address, settings.clone()));
        }
        drop(self.tcp);
        self.connections.finish_all();
        tasks.close();
        if tokio::time::timeout(linger, tasks.wait()).await.is_err() {
            warn!(
                open = tasks.len(),
                "connections still open at the end of the drain time"
            );
        }
    }

    async fn accept(&self) -> Option<(TcpStream, SocketAddr, Registration)> {
        let (tcp, address) = match self.tcp.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually the process is out of file descriptors: close a dispensable connection.
                warn!("cannot accept a connection: {error}");
                self.connections.close_one();
                tokio::time::sleep(Duration::from_millis(50)).await;
                return None;
            }
        };
        match self.connections.admit(address.ip()).await {
            Ok(registration) => Some((tcp, address, registration)),
            Err(refusal) => {
                debug!(%address, "connection refused: {refusal}");
                if self.tls.is_none() {
                    send_rejection(&tcp, &refusal);
                }
                None
            }
        }
    }
}

/// Sends the reason as an HTTP answer, if the socket accepts the bytes without waiting.
fn send_rejection(tcp: &TcpStream, refusal: &TooManyFromAddress) {
    let title = "Service Unavailable";
    let problem = Problem::new(503, "too_many_connections", title, refusal.to_string());
    let problem = serde_json::to_string(&problem).expect("a problem is always JSON");
    let answer = format!(
        "HTTP/1.1 503 {title}\r\ncontent-type: {CONTENT_TYPE}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{problem}",
        problem.len()
    );
    let _ = tcp.try_write(answer.as_bytes());
}

async fn serve(stream: ClientStream, address: SocketAddr, settings: ConnectionSettings) {
    // Small answers must not wait for a full TCP segment.
    stream.set_nodelay();
    let slot = Arc::clone(stream.slot());
    let Some(tls) = &settings.tls else {
        let peer = Peer {
            address,
            tls: false,
        };
        return serve_http(stream, peer, slot, &settings).await;
    };
    let handshake = tokio::time::timeout(HANDSHAKE_MAX, tls.accept(stream));
    let accepted = tokio::select! {
        accepted = handshake => accepted,
        () = slot.wait_for_order() => return,
    };
    match accepted {
        Ok(Ok(stream)) => {
            let peer = Peer { address, tls: true };
            serve_http(stream, peer, slot, &settings).await;
        }
        Ok(Err(error)) => debug!(%address, "TLS handshake failed: {error}"),
        Err(_) => debug!(%address, "TLS handshake took too long"),
    }
}

async fn serve_http<S>(stream: S, peer: Peer, slot: Arc<Slot>, settings: &ConnectionSettings)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = ConnectionService {
        door: settings.door.clone(),
        peer,
        slot: Arc::clone(&slot),
        last_token: LastToken::default(),
    };
    let builder = builder(&slot, settings.head_max);
    let stream = HeadGuard::around(stream, Arc::clone(&slot));
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut order_given = std::pin::pin!(slot.wait_for_order());
    let mut is_registered = false;
    let mut is_finishing = false;
    // The table of connections may order this connection to close, or to finish its requests. The
    // future that waits for an order is polled once, so that an order wakes this task. After that,
    // a busy connection only reads a flag.
    let ended = poll_fn(|context| {
        loop {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended);
            }
            if !is_registered {
                is_registered = order_given.as_mut().poll(context).is_pending();
                if !is_registered {
                    order_given.set(slot.wait_for_order());
                    continue;
                }
            }
            match slot.order() {
                Order::Close => return Poll::Ready(Ok(())),
                Order::Finish if !is_finishing => {
                    is_finishing = true;
                    is_registered = false;
                    connection.as_mut().graceful_shutdown();
                }
                _ => return Poll::Pending,
            }
        }
    });
    if let Err(error) = ended.await {
        debug!(address = %peer.address, "connection ended: {error}");
    }
}

fn builder(slot: &Arc<Slot>, head_max: Duration) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(StreamExecutor(Arc::clone(slot)));
    builder
        .http1()
        .timer(HeadTimer::new(Arc::clone(slot)))
        .header_read_timeout(head_max)
        .max_buf_size(HTTP1_BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(HTTP2_STREAMS)
        .max_header_list_size(HTTP2_HEAD_BYTES)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW);
    builder
}

/// Runs the streams of an HTTP/2 connection, which is not idle while a stream runs.
#[derive(Clone)]
struct StreamExecutor(Arc<Slot>);

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let guard = self.0.begin_stream();
        tokio::spawn(async move {
            // If the stream must end, dropping it resets it.
            tokio::select! {
                biased;
                () = guard.ended() => {}
                _ = stream => {}
            }
        });
    }
}

/// Passes the requests of one connection to the door, with the connection's peer.
struct ConnectionService {
    door: Door,
    peer: Peer,
    slot: Arc<Slot>,
    last_token: LastToken,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = Sending;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.slot.note_head();
        let outlet = Outlet::new(&self.slot, request.version());
        let answering = self
            .door
            .handle(request, self.peer, &self.slot, &self.last_token);
        Sending::new(answering, outlet)
    }
}

/// The address of the client: the last address in `X-Forwarded-For` that is not a trusted proxy. If
/// all of them are trusted proxies, the first address. The header counts only if a trusted proxy
/// sent it.
pub fn client_address(peer: Peer, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    let mut address = peer.address.ip().to_canonical();
    if !is_trusted(&address) {
        return address;
    }
    let lists = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok());
    let hops: Vec<&str> = lists
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .collect();
    for hop in hops.iter().rev() {
        let Ok(hop) = hop.parse::<IpAddr>() else {
            break;
        };
        address = hop.to_canonical();
        if !is_trusted(&address) {
            break;
        }
    }
    address
}

/// Whether the browser uses TLS: to this server, or to a trusted proxy in front of it.
pub fn is_secure(peer: Peer, headers: &HeaderMap, trusted: &[IpNet]) -> bool {
    let proto = headers
        .get("x-forwarded-proto")
        .and_then(|value| value.to_str().ok());
    let from_proxy = trusted
        .iter()
        .any(|net| net.contains(&peer.address.ip().to_canonical()));
    peer.tls || from_proxy && proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_addresses_are_accepted_only_from_trusted_proxies() {
        let trusted = ["10.0.0.0/8".parse().expect("a network")];
        let check = |peer: &str, forwarded: &str, expected: &str| {
            let peer = Peer {
                address: SocketAddr::new(peer.parse().expect("an address"), 1),
                tls: false,
            };
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", forwarded.parse().expect("a value"));
            assert_eq!(
                client_address(peer, &headers, &trusted).to_string(),
                expected
            );
        };
        check("192.0.2.1", "198.51.100.7", "192.0.2.1");
        check("10.0.0.1", "198.51.100.7", "198.51.100.7");
        check(
            "10.0.0.1",
            "203.0.113.9, 198.51.100.7, 10.0.0.2",
            "198.51.100.7",
        );
        check("10.0.0.1", "garbage", "10.0.0.1");
        check("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7");
    }
}
