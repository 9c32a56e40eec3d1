//! Accepts and serves local connections until the agent stops.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Events, LoopbackAccess, PackageRoute, SpaceApi,
    gate::{Gate, LoopbackGate, SocketGate},
    loopback, space,
};

/// Time a client has for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of open connections of each listener; further clients wait. The agent needs
/// file descriptors for its links and its method server.
pub(super) const CONNECTIONS_MAX: usize = 256;
/// The maximum number of connections of users without access, which do not count for
/// [`CONNECTIONS_MAX`]. Further ones are closed without an answer.
pub(super) const REFUSALS_MAX: usize = 16;
/// Time for the only request of a user without access, and its answer.
pub(super) const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept, which usually means that no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves loopback TCP until `stop` is cancelled. Open requests then have `grace` to finish.
/// Answers 403 to users without access.
pub async fn serve_loopback(
    listener: TcpListener,
    access: LoopbackAccess,
    events: Arc<Events>,
    packages: Arc<PackageRoute>,
    stop: CancellationToken,
    grace: Duration,
) {
    let address = match listener.local_addr() {
        Ok(address) => address,
        Err(error) => return tracing::error!(%error, "the agent's loopback port is unusable"),
    };
    let gate = LoopbackGate::new(loopback::router(events, packages), access, address);
    let listener = &listener;
    let accept = || async move {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        io::Result::Ok(stream)
    };
    serve(accept, gate, stop, grace).await;
}

/// Serves the Unix socket until `stop` is cancelled. Open requests then have `grace` to finish.
/// Answers 403 to every user except root and the agent's user.
pub async fn serve_socket(
    listener: UnixListener,
    api: Arc<SpaceApi>,
    stop: CancellationToken,
    grace: Duration,
) {
    let gate = SocketGate {
        router: space::router(api),
    };
    let listener = &listener;
    let accept = || async move { Ok(listener.accept().await?.0) };
    serve(accept, gate, stop, grace).await;
}

/// `accept` returns the next connection, and `gate` chooses its router.
pub(super) async fn serve<S, A>(
    accept: impl Fn() -> A,
    gate: impl Gate<S>,
    stop: CancellationToken,
    grace: Duration,
) where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static,
    A: Future<Output = io::Result<S>>,
{
    let (mut connections, mut refusals) = (JoinSet::new(), JoinSet::new());
    loop {
        tokio::select! {
            accepted = accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                // Awaited here: the user decides which limit the connection counts for.
                Ok(stream) => match gate.admit(&stream).await {
                    Ok(router) => {
                        connections.spawn(serve_connection(stream, router, true, stop.clone()));
                    }
                    Err(router) if refusals.len() < REFUSALS_MAX => {
                        let refusal = serve_connection(stream, router, false, stop.clone());
                        refusals.spawn(timeout(REFUSAL_TIMEOUT, refusal));
                    }
                    Err(_) => {}
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a local connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            Some(_) = refusals.join_next() => {}
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
    keep_alive: bool,
    stop: CancellationToken,
) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .keep_alive(keep_alive)
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
