//! Accepts and serves local connections until the agent stops.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use http::StatusCode;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Events, PackageRoute, SpaceApi, loopback, problem::Failure, socket::may_connect, space,
};

/// Time a client has for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, which usually means that no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listener that chooses the router for each connection.
trait Accept: Send {
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Router)>> + Send;
}

struct Loopback {
    listener: TcpListener,
    router: Router,
}

struct Socket {
    listener: UnixListener,
    router: Router,
    /// Answers connections of other users.
    refusal: Router,
}

impl Accept for Loopback {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Router)> {
        let (stream, _) = self.listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok((stream, self.router.clone()))
    }
}

impl Accept for Socket {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Router)> {
        let (stream, _) = self.listener.accept().await?;
        let router = if is_allowed(&stream) {
            &self.router
        } else {
            &self.refusal
        };
        Ok((stream, router.clone()))
    }
}

/// Serves loopback TCP until `stop` is cancelled. Open requests then have `grace` to finish.
pub async fn serve_loopback(
    listener: TcpListener,
    events: Arc<Events>,
    packages: Arc<PackageRoute>,
    stop: CancellationToken,
    grace: Duration,
) {
    let router = loopback::router(events, packages);
    serve(Loopback { listener, router }, stop, grace).await;
}

/// Serves the Unix socket in the same way.
pub async fn serve_socket(
    listener: UnixListener,
    api: Arc<SpaceApi>,
    stop: CancellationToken,
    grace: Duration,
) {
    let socket = Socket {
        listener,
        router: space::router(api),
        refusal: Router::new().fallback(foreign_user),
    };
    serve(socket, stop, grace).await;
}

fn is_allowed(stream: &UnixStream) -> bool {
    match stream.peer_cred() {
        Ok(peer) if may_connect(peer.uid()) => true,
        Ok(peer) => {
            tracing::warn!(
                uid = peer.uid(),
                "another user tried to use the agent's socket"
            );
            false
        }
        Err(error) => {
            tracing::warn!(%error, "cannot determine the user of a local connection; it is refused");
            false
        }
    }
}

async fn foreign_user() -> Failure {
    Failure::new(
        StatusCode::FORBIDDEN,
        "foreign_user",
        "this socket is for the user who runs the agent",
    )
}

async fn serve(listener: impl Accept, stop: CancellationToken, grace: Duration) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, router)) => {
                    connections.spawn(serve_connection(stream, router, stop.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a local connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = stop.cancelled() => break,
        }
    }
    let finishing = async { while connections.join_next().await.is_some() {} };
    if timeout(grace, finishing).await.is_err() {
        connections.shutdown().await;
    }
}

async fn serve_connection<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    router: Router,
    stop: CancellationToken,
) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut stopping = false;
    let result = loop {
        tokio::select! {
            result = connection.as_mut() => break result,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a local connection ended early");
    }
}
