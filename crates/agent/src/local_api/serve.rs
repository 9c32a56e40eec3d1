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
    net::{TcpListener, UnixListener, UnixStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Events, PackageRoute, SpaceApi, loopback, problem::Failure, socket::may_connect, space,
};

/// Time a client has for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of open connections of each listener; further clients wait. Other users of
/// the machine can connect too, and the agent needs file descriptors for its links and its method
/// server.
pub(super) const CONNECTIONS_MAX: usize = 256;
/// Pause after a failed accept, which usually means that no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves loopback TCP until `stop` is cancelled. Open requests then have `grace` to finish.
pub async fn serve_loopback(
    listener: TcpListener,
    events: Arc<Events>,
    packages: Arc<PackageRoute>,
    stop: CancellationToken,
    grace: Duration,
) {
    let (listener, router) = (&listener, &loopback::router(events, packages));
    let accept = || async move {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        io::Result::Ok((stream, router.clone()))
    };
    serve(accept, stop, grace).await;
}

/// Serves the Unix socket until `stop` is cancelled. Open requests then have `grace` to finish.
/// Answers 403 to every user except root and the agent's user.
pub async fn serve_socket(
    listener: UnixListener,
    api: Arc<SpaceApi>,
    stop: CancellationToken,
    grace: Duration,
) {
    let (listener, router) = (&listener, &space::router(api));
    let refusal = &Router::new().fallback(foreign_user);
    let accept = || async move {
        let (stream, _) = listener.accept().await?;
        let router = if is_allowed(&stream) { router } else { refusal };
        io::Result::Ok((stream, router.clone()))
    };
    serve(accept, stop, grace).await;
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

/// `accept` returns the next connection and its router.
async fn serve<S, A>(accept: impl Fn() -> A, stop: CancellationToken, grace: Duration)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    A: Future<Output = io::Result<(S, Router)>>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
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
