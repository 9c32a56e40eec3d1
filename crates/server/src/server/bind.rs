//! Takes the address a server listens on.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::{TcpListener, TcpSocket};

use super::StartError;

/// Connections that may wait to be accepted; the system has a limit of its own
/// (`net.core.somaxconn`). After a restart all agents come back at once, and one that finds no
/// room tries again a whole second later.
const WAITING_MAX: u32 = 16 * 1024;

/// Listens on an address; says which, as port 0 becomes a free one.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    listen(address).map_err(|source| StartError::Listen { address, source })
}

/// Agents the server runs itself reach it without TLS: its certificate is made for another name.
pub fn bind_loopback() -> Result<(TcpListener, String), StartError> {
    let (tcp, address) = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    Ok((tcp, format!("http://{address}")))
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted server gets its port although connections of the old one linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let tcp = socket.listen(WAITING_MAX)?;
    let address = tcp.local_addr()?;
    Ok((tcp, address))
}

/// An address one can connect to, for a listener on all of them.
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
