//! Decides which addresses requests may reach: those of the public internet, and those that an
//! administrator allows. Callers must check the address that they connect to: a name may resolve to
//! another address each time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use thiserror::Error;

/// The networks of this machine. `svc up` allows webhooks to reach them, so that users can develop
/// receivers.
pub const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GuardError {
    #[error(
        "`{0}` cannot be allowed for webhooks: use a host name, an IP address or a CIDR such as `10.1.0.0/16`"
    )]
    Entry(String),
}

#[derive(Debug, Clone, Default)]
pub struct AddressGuard {
    /// In lower case, without a trailing dot.
    hosts: Vec<String>,
    networks: Vec<IpNet>,
}

impl AddressGuard {
    /// `allow` holds host names, addresses and CIDRs that are allowed in addition to the public
    /// internet.
    pub fn new(allow: &[String]) -> Result<Self, GuardError> {
        let mut guard = Self::default();
        for entry in allow {
            let text = entry.trim();
            let bare = text
                .strip_prefix('[')
                .and_then(|text| text.strip_suffix(']'))
                .unwrap_or(text);
            if let Ok(network) = bare.parse::<IpNet>() {
                guard.networks.push(network);
            } else if let Ok(address) = bare.parse::<IpAddr>() {
                guard.networks.push(IpNet::from(address));
            } else if is_host_name(text) {
                guard.hosts.push(normalize(text));
            } else {
                return Err(GuardError::Entry(entry.clone()));
            }
        }
        Ok(guard)
    }

    /// Whether a request whose URL has this host may connect to this address.
    pub fn permits(&self, host: &str, address: IpAddr) -> bool {
        is_global(address)
            || self.hosts.contains(&normalize(host))
            || self.networks.iter().any(|network| {
                network.contains(&address) || network.contains(&address.to_canonical())
            })
    }
}

fn normalize(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether a text is a host name. A host name must contain a letter: `10.0.0.300` is a mistyped
/// address.
fn is_host_name(text: &str) -> bool {
    let text = text.trim_end_matches('.');
    (1..=253).contains(&text.len())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
}

/// IPv4 networks that are not globally reachable (IANA special-purpose registry), and multicast.
const CLOSED_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// Global unicast: the only part of IPv6 in which IANA allocates public addresses.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0], 3);
/// Networks in [`GLOBAL_V6`] that are not globally reachable.
const CLOSED_V6: [Ipv6Net; 3] = [
    // Protocol assignments, with benchmarking and ORCHID.
    v6([0x2001, 0, 0], 23),
    // Documentation.
    v6([0x2001, 0xdb8, 0], 32),
    v6([0x3fff, 0, 0], 20),
];

// IPv6 networks whose addresses contain an IPv4 address. The guard checks the IPv4 address.
const MAPPED: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const COMPATIBLE: Ipv6Net = v6([0, 0, 0], 96);
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0], 16);
const TEREDO: Ipv6Net = v6([0x2001, 0, 0], 32);

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(start: [u16; 3], prefix: u8) -> Ipv6Net {
    let [a, b, c] = start;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    !CLOSED_V4.iter().any(|network| network.contains(&address))
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let bytes = address.octets();
    let embedded =
        |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    if [MAPPED, COMPATIBLE, NAT64]
        .iter()
        .any(|network| network.contains(&address))
    {
        return is_global_v4(embedded(12));
    }
    if SIX_TO_FOUR.contains(&address) {
        return is_global_v4(embedded(2));
    }
    if TEREDO.contains(&address) {
        // A Teredo address contains the address of its server, and that of its client with inverted
        // bits.
        let client = Ipv4Addr::from_bits(!embedded(12).to_bits());
        return is_global_v4(embedded(4)) && is_global_v4(client);
    }
    GLOBAL_V6.contains(&address) && !CLOSED_V6.iter().any(|network| network.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    fn guard(allow: &[&str]) -> AddressGuard {
        let allow: Vec<_> = allow.iter().map(ToString::to_string).collect();
        AddressGuard::new(&allow).expect("valid entries")
    }

    #[test]
    fn only_globally_routable_addresses_pass() {
        for open in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(guard(&[]).permits("x", ip(open)), "{open}");
        }
        for closed in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "3fff::1",
            "64:ff9b:1::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::1",
            "2002:a00:1::",
            // Teredo with a public server and the client 127.0.0.1.
            "2001:0:808:808:0:0:80ff:fffe",
        ] {
            assert!(!guard(&[]).permits("x", ip(closed)), "{closed}");
        }
    }

    #[test]
    fn configuration_allows_hosts_addresses_and_networks() {
        let allowing = guard(&["10.1.0.0/16", "192.168.0.7", "Hooks.Internal", "[::1]"]);
        let check = |host: &str, address: &str, expected| {
            assert_eq!(
                allowing.permits(host, ip(address)),
                expected,
                "{host} {address}"
            );
        };
        check("x", "10.1.2.3", true);
        check("x", "::ffff:10.1.2.3", true);
        check("x", "10.2.0.1", false);
        check("x", "192.168.0.7", true);
        check("x", "192.168.0.8", false);
        check("hooks.internal", "172.16.0.1", true);
        check("HOOKS.internal.", "172.16.0.1", true);
        check("evil.hooks.internal", "172.16.0.1", false);
        check("x", "::1", true);
        check("x", "127.0.0.1", false);
        assert!(guard(&LOOPBACK).permits("localhost", ip("127.0.0.1")));
    }

    #[test]
    fn invalid_entries_are_rejected_and_named_in_the_error() {
        for bad in ["", "10.0.0.0/33", "10.0.0.300", "a b", "http://x", "x:80"] {
            let error = AddressGuard::new(&[bad.to_owned()]).expect_err(bad);
            assert!(error.to_string().contains(&format!("`{bad}`")), "{error}");
        }
    }
}
