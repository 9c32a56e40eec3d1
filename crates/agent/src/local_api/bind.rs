//! Binds the agent's two listeners: loopback TCP and a Unix socket.

use std::{io, net::SocketAddr, path::Path};

use svc_protocol::agent_api::DEFAULT_LISTEN;
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};

use super::{
    LoopbackAccess,
    socket::{SocketError, SocketFile, default_socket_path},
};
use crate::registration::AgentAddresses;

#[derive(Debug, Error)]
pub enum BindError {
    #[error("the agent cannot listen on `{address}`: {source}")]
    Loopback { address: String, source: io::Error },
    #[error("the agent listens on loopback addresses only, and `{0}` is not one; use 127.0.0.1")]
    NotLoopback(SocketAddr),
    #[error(transparent)]
    Socket(#[from] SocketError),
}

/// Both listeners and their addresses.
pub struct Listeners {
    /// `None` if the loopback port is off.
    pub tcp: Option<TcpListener>,
    pub unix: UnixListener,
    pub socket: SocketFile,
    pub addresses: AgentAddresses,
}

impl Listeners {
    pub async fn bind(
        loopback: LoopbackAccess,
        listen: Option<SocketAddr>,
        socket: Option<&Path>,
        working_folder: &Path,
    ) -> Result<Self, BindError> {
        let path = match socket {
            Some(path) => working_folder.join(path),
            None => default_socket_path(working_folder)?,
        };
        let (unix, socket) = SocketFile::bind(&path).await?;
        let (tcp, address) = match loopback {
            LoopbackAccess::Off => (None, None),
            LoopbackAccess::SameUser | LoopbackAccess::Any => {
                let (tcp, address) = bind_loopback(listen).await?;
                (Some(tcp), Some(address))
            }
        };
        Ok(Self {
            tcp,
            unix,
            socket,
            addresses: AgentAddresses {
                url: address.map(|address| format!("http://{address}")),
                socket: path,
            },
        })
    }
}

/// Binds the loopback listener. Without `listen`, binds the default port, or a free port if the
/// default port is in use. With `listen`, fails if this address is in use.
pub async fn bind_loopback(
    listen: Option<SocketAddr>,
) -> Result<(TcpListener, SocketAddr), BindError> {
    let default: SocketAddr = DEFAULT_LISTEN.parse().expect("a valid address");
    let wanted = listen.unwrap_or(default);
    if !wanted.ip().is_loopback() {
        return Err(BindError::NotLoopback(wanted));
    }
    let bound = match bind(wanted).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && listen.is_none() => {
            let bound = bind(SocketAddr::new(wanted.ip(), 0)).await;
            if let Ok((_, address)) = &bound {
                tracing::info!(%address, "{wanted} is in use; the agent listens on another port");
            }
            bound
        }
        other => other,
    };
    bound.map_err(|source| BindError::Loopback {
        address: wanted.to_string(),
        source,
    })
}

async fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
