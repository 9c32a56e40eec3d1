//! Asks the kernel for one socket, with a message of `sock_diag` (man 7 sock_diag). The cost does
//! not depend on the number of sockets.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, sendto,
    socket_with,
};

use super::Socket;

/// Lengths of `nlmsghdr`, `inet_diag_req_v2` and `inet_diag_msg`.
const HEAD_BYTES: usize = 16;
const REQUEST_BYTES: usize = 56;
const ANSWER_BYTES: usize = 72;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// Matches every cookie. A cookie distinguishes sockets with the same addresses.
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// The socket at the address `local` that is connected to `remote`.
pub fn find(local: SocketAddr, remote: SocketAddr) -> io::Result<Socket> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::SOCK_DIAG);
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
    let everyone = netlink::SocketAddrNetlink::new(0, 0);
    sendto(
        &kernel,
        &request(local, remote),
        SendFlags::empty(),
        &everyone,
    )?;
    let mut answer = [0; 1024];
    // The kernel answers before `sendto` returns.
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT)?;
    read(&answer[..length]).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let length = u32::try_from(HEAD_BYTES + REQUEST_BYTES).expect("a small number");
    let mut bytes = Vec::with_capacity(HEAD_BYTES + REQUEST_BYTES);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and port, of which the kernel needs none.
    bytes.extend([0; 8]);
    let family = if local.is_ipv4() { AF_INET } else { AF_INET6 };
    bytes.extend([family, IPPROTO_TCP, 0, 0]);
    // All states.
    bytes.extend([0xff; 4]);
    bytes.extend(local.port().to_be_bytes());
    bytes.extend(remote.port().to_be_bytes());
    bytes.extend(octets(local.ip()));
    bytes.extend(octets(remote.ip()));
    // Any interface.
    bytes.extend([0; 4]);
    bytes.extend(NO_COOKIE);
    bytes
}

fn octets(ip: IpAddr) -> [u8; 16] {
    let mut octets = [0; 16];
    match ip {
        IpAddr::V4(ip) => octets[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => octets = ip.octets(),
    }
    octets
}

/// `None` if the kernel returns an error: the socket does not exist.
fn read(answer: &[u8]) -> Option<Socket> {
    let kind = u16::from_ne_bytes(*answer.get(4..)?.first_chunk()?);
    if kind != SOCK_DIAG_BY_FAMILY || answer.len() < HEAD_BYTES + ANSWER_BYTES {
        return None;
    }
    let body = &answer[HEAD_BYTES..];
    let number = |at: usize| Some(u32::from_ne_bytes(*body.get(at..)?.first_chunk()?));
    Some(Socket {
        state: body[1],
        uid: number(64)?,
        inode: number(68)?.into(),
    })
}
