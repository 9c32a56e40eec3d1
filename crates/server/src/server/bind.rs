//! Binds the address on which a server listens.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::{TcpListener, TcpSocket};

use super::StartError;

/// Connections that may wait to be accepted. The system limits them too (`net.core.somaxconn`).
/// After a restart all agents reconnect at the same time. If the queue is full, a connection
/// attempt is dropped, and TCP repeats it only after a second.
const WAITING_MAX: u32 = 16 * 1024;

/// Listens on an address. Returns the actual address, because port 0 becomes a free port.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    listen(address).map_err(|source| StartError::Listen { address, source })
}

/// Listens on loopback, without TLS, for agents that the server runs. TLS would fail: the server's
/// certificate is usually not valid for the loopback address.
pub fn bind_loopback() -> Result<(TcpListener, String), StartError> {
    let (tcp, address) = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    Ok((tcp, format!("http://{address}")))
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Lets a restarted server bind its port while connections of the old process linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let tcp = socket.listen(WAITING_MAX)?;
    let address = tcp.local_addr()?;
    Ok((tcp, address))
}

/// The address at which programs on this machine reach a listener. For a listener on all addresses,
/// this is the loopback address.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let mut reachable = address;
    if address.ip().is_unspecified() {
        reachable.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    reachable
}
