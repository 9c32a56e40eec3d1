//! Searches a socket in `/proc/self/net/tcp` and `tcp6`. The cost grows with the number of sockets.

use std::{
    fmt::Write,
    fs::File,
    io::{BufRead, BufReader, Read},
    net::{IpAddr, Ipv6Addr, SocketAddr},
};

use super::Socket;

/// About 27,000 sockets. A socket beyond this size is not found.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The socket at the address `local` that is connected to `remote`.
pub fn find(local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
    let found = read("/proc/self/net/tcp", &shown(local), &shown(remote));
    // A client may use IPv6 sockets for IPv4 addresses.
    found.or_else(|| read("/proc/self/net/tcp6", &mapped(local), &mapped(remote)))
}

fn read(path: &str, local: &str, remote: &str) -> Option<Socket> {
    let table = BufReader::new(File::open(path).ok()?.take(BYTES_MAX));
    search(table, local, remote)
}

fn search(table: impl BufRead, local: &str, remote: &str) -> Option<Socket> {
    table.lines().map_while(Result::ok).find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        if columns.next()? != local || columns.next()? != remote {
            return None;
        }
        let state = u8::from_str_radix(columns.next()?, 16).ok()?;
        // Skips queues, timer and retransmits; between the two numbers is the timeout.
        let uid = columns.nth(3)?.parse().ok()?;
        let inode = columns.nth(1)?.parse().ok()?;
        Some(Socket { state, uid, inode })
    })
}

/// An address as the tables show it: each 32 bits of the address are one number.
fn shown(address: SocketAddr) -> String {
    let mut text = String::new();
    let mut put = |octets: &[u8]| {
        for word in octets.chunks_exact(4) {
            let word = word.try_into().expect("four bytes");
            let _ = write!(text, "{:08X}", u32::from_ne_bytes(word));
        }
    };
    match address.ip() {
        IpAddr::V4(ip) => put(&ip.octets()),
        IpAddr::V6(ip) => put(&ip.octets()),
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

fn mapped(address: SocketAddr) -> String {
    let ip: Ipv6Addr = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    shown(SocketAddr::new(ip.into(), address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             \x20  0: 0100007F:2FA9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1500        0 17 1 0 100 0 0 10 0\n\
             \x20  1: 0100007F:8A4A 0100007F:2FA9 01 00000000:00000000 00:00000000 00000000  1501        0 6006 1 0 21 4 0 114 146\n";
        let found = search(table.as_bytes(), "0100007F:8A4A", "0100007F:2FA9");
        let expected = Socket {
            state: 1,
            uid: 1501,
            inode: 6006,
        };
        assert_eq!(found, Some(expected));
        assert_eq!(
            search(table.as_bytes(), "0100007F:8A4B", "0100007F:2FA9"),
            None
        );
        assert_eq!(
            search("".as_bytes(), "0100007F:8A4B", "0100007F:2FA9"),
            None
        );
        assert_eq!(search("a b c\nx".as_bytes(), "b", "c"), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_are_shown_as_in_the_table() {
        let shown = |address: &str| shown(address.parse().expect("an address"));
        assert_eq!(shown("127.0.0.1:12201"), "0100007F:2FA9");
        assert_eq!(shown("[::1]:80"), "00000000000000000000000001000000:0050");
        let mapped = mapped("127.0.0.1:80".parse().expect("an address"));
        assert_eq!(mapped, "0000000000000000FFFF00000100007F:0050");
    }
}
