//! The agent's two listeners for programs of the space (DECISIONS 5): loopback TCP, where a
//! browser's page must get nowhere, and a Unix socket, which is its owner's alone.

mod loopback;
mod problem;
mod proxy;
mod serve;
mod socket;
mod space;

pub use proxy::Proxy;
pub use serve::{serve_loopback, serve_socket};
pub use socket::{SocketError, SocketFile, default_socket_path};
pub use space::SpaceApi;

use std::{io, net::SocketAddr};

use svc_protocol::agent_api::DEFAULT_LISTEN;
use tokio::net::TcpListener;

/// Binds the loopback listener. The default port, taken, gives way to a free one; an address
/// that was asked for does not.
pub async fn bind_loopback(listen: Option<SocketAddr>) -> io::Result<TcpListener> {
    if let Some(address) = listen {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the agent listens on a loopback address only",
            ));
        }
        return TcpListener::bind(address).await;
    }
    let default: SocketAddr = DEFAULT_LISTEN.parse().expect("a valid address");
    match TcpListener::bind(default).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let listener = TcpListener::bind(SocketAddr::new(default.ip(), 0)).await?;
            let address = listener.local_addr()?;
            tracing::info!(%address, "{default} is taken; the agent listens on another port");
            Ok(listener)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
