//! Finds the user at the other end of a TCP connection within this machine.
//!
//! TCP has no `SO_PEERCRED`, but the kernel lists the user of each socket. On Linux `sock_diag`
//! finds one socket by its addresses. Where this kind of socket is not permitted, such as in a
//! hardened service, the table in `/proc/self/net` has the same numbers. Other systems have neither,
//! and every user is unknown.
//!
//! Never guesses: a connection that its peer has closed has no user any more, and is unknown.

#[cfg(target_os = "linux")]
mod sock_diag;
#[cfg(target_os = "linux")]
mod table;

use std::net::SocketAddr;

use tokio::net::TcpStream;

/// The interface of the kernel. Chosen once for each listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerLookup {
    #[cfg(target_os = "linux")]
    SockDiag,
    #[cfg(target_os = "linux")]
    Table,
    /// No user can be found.
    Unavailable,
}

/// A socket as the kernel describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Socket {
    /// A state of TCP, numbered as in `/proc/net/tcp`.
    state: u8,
    uid: u32,
    /// 0 after the last process has closed the socket. The user id is then 0 too.
    inode: u64,
}

/// States of a client that has connected and that the agent has not closed: `ESTABLISHED`, and
/// `FIN_WAIT1` and `FIN_WAIT2` after the client has sent everything.
const CONNECTED: [u8; 3] = [1, 4, 5];

impl Socket {
    fn user(self) -> Option<u32> {
        (CONNECTED.contains(&self.state) && self.inode != 0).then_some(self.uid)
    }
}

impl PeerLookup {
    /// The first interface that works: one that finds the listener itself.
    #[cfg(target_os = "linux")]
    pub fn for_listener(address: SocketAddr) -> Self {
        let no_peer = SocketAddr::new(unspecified(address), 0);
        [Self::SockDiag, Self::Table]
            .into_iter()
            .find(|way| way.find(address, no_peer).is_some())
            .unwrap_or(Self::Unavailable)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn for_listener(_: SocketAddr) -> Self {
        Self::Unavailable
    }

    /// The user of the process that opened the connection. `None` if the user cannot be found.
    pub async fn user_of(self, stream: &TcpStream) -> Option<u32> {
        let (peer, own) = (stream.peer_addr().ok()?, stream.local_addr().ok()?);
        let mut user = self.find_user(peer, own).await?;
        if user == 0 {
            // The kernel reports root for a socket that was closed while it looked. So a second
            // answer must agree.
            user = self
                .find_user(peer, own)
                .await
                .filter(|again| *again == 0)?;
        }
        // If the connection was reset, the port may belong to another client by now.
        stream.peer_addr().is_ok().then_some(user)
    }

    async fn find_user(self, peer: SocketAddr, own: SocketAddr) -> Option<u32> {
        match self {
            #[cfg(target_os = "linux")]
            // The table may be long, and calls must not wait for it.
            Self::Table => tokio::task::spawn_blocking(move || self.find(peer, own))
                .await
                .ok()?,
            _ => self.find(peer, own),
        }
        .and_then(Socket::user)
    }

    /// The socket at the address `local` that is connected to `remote`.
    #[cfg(target_os = "linux")]
    fn find(self, local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
        match self {
            Self::SockDiag => sock_diag::find(local, remote).ok(),
            Self::Table => table::find(local, remote),
            Self::Unavailable => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn find(self, _local: SocketAddr, _remote: SocketAddr) -> Option<Socket> {
        None
    }
}

#[cfg(target_os = "linux")]
fn unspecified(address: SocketAddr) -> std::net::IpAddr {
    use std::net::{Ipv4Addr, Ipv6Addr};
    match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
