//! Accepts connections: TCP or TLS, HTTP/1.1 or 2, with limits on time and number, and a clean end.

use std::{
    future::poll_fn,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use http::{HeaderMap, Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use ipnet::IpNet;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    door::{self, Door},
    head_timer::HeadTimer,
};

/// Time for a TLS handshake, and for the head of a request.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
const HEAD_MAX: Duration = Duration::from_secs(30);

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
    /// Connections at one time; more wait to be accepted.
    pub connections_max: usize,
    /// Stop accepting, let requests in flight finish.
    pub shutdown: CancellationToken,
}

/// Tells connections that the listener closes.
#[derive(Clone, Default)]
struct Closing(Arc<ClosingState>);

#[derive(Default)]
struct ClosingState {
    /// Set before the token is cancelled, and cheaper to look at.
    begun: AtomicBool,
    token: CancellationToken,
}

impl Closing {
    fn begin(&self) {
        self.0.begun.store(true, Ordering::Release);
        self.0.token.cancel();
    }

    fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Acquire)
    }
}

impl Listener {
    /// Serves until shutdown; returns when no connection is left or `linger` is over.
    pub async fn run(self, linger: Duration) {
        let connections = TaskTracker::new();
        let places = Arc::new(Semaphore::new(self.connections_max));
        let closing = Closing::default();
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.tcp, &places) => accepted,
                () = self.shutdown.cancelled() => break,
            };
            let Some((stream, address, place)) = accepted else {
                continue;
            };
            let (tls, door, closing) = (self.tls.clone(), self.door.clone(), closing.clone());
            connections.spawn(async move {
                serve(stream, address, tls, door, closing).await;
                drop(place);
            });
        }
        closing.begin();
        drop(self.tcp);
        connections.close();
        if tokio::time::timeout(linger, connections.wait())
            .await
            .is_err()
        {
            warn!(
                open = connections.len(),
                "connections still open at the end of the drain time"
            );
        }
    }
}

async fn accept(
    tcp: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match tcp.accept().await {
        Ok((stream, address)) => Some((stream, address, place)),
        Err(error) => {
            // Out of file descriptors, mostly: give the others a moment to end.
            warn!("could not accept a connection: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn serve(
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    door: Door,
    closing: Closing,
) {
    // Small answers must not wait for a full segment.
    let _ = stream.set_nodelay(true);
    match tls {
        None => {
            serve_http(
                stream,
                Peer {
                    address,
                    tls: false,
                },
                door,
                closing,
            )
            .await
        }
        Some(tls) => match tokio::time::timeout(HANDSHAKE_MAX, tls.accept(stream)).await {
            Ok(Ok(stream)) => serve_http(stream, Peer { address, tls: true }, door, closing).await,
            Ok(Err(error)) => debug!(%address, "TLS handshake failed: {error}"),
            Err(_) => debug!(%address, "TLS handshake took too long"),
        },
    }
}

async fn serve_http<S>(stream: S, peer: Peer, door: Door, closing: Closing)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = WithPeer { door, peer };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(HeadTimer::default())
        .header_read_timeout(HEAD_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(1_000);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut cancelled = std::pin::pin!(closing.0.token.cancelled());
    let mut is_told = false;
    // The token is asked once, so that it wakes this task; a busy connection then only looks at a
    // flag.
    let ended = poll_fn(|context| {
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            return Poll::Ready(Some(ended));
        }
        if !is_told {
            is_told = true;
            let _ = cancelled.as_mut().poll(context);
        }
        if closing.has_begun() {
            return Poll::Ready(None);
        }
        Poll::Pending
    });
    let ended = match ended.await {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(address = %peer.address, "connection ended: {error}");
    }
}

/// Tells the door who is at the other end.
struct WithPeer {
    door: Door,
    peer: Peer,
}

impl hyper::service::Service<Request<Incoming>> for WithPeer {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = door::Answering;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.door.take(request, self.peer)
    }
}

/// The address a request really comes from: the last one in `X-Forwarded-For` that is not a
/// trusted proxy, believed only when a trusted proxy says it.
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

/// Whether the browser sees TLS: ours, or that of a trusted proxy in front.
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
    fn forwarded_addresses_are_believed_from_trusted_proxies_only() {
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
