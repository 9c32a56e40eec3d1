//! Host names that a loopback listener accepts: those of this machine, and configured ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Host names that a loopback listener accepts in addition to those of this machine.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts {
    /// Lowercase, with or without a port.
    names: Vec<String>,
    any: bool,
}

impl AllowedHosts {
    /// `public` is the authority of the public URL. Its host is accepted with any port.
    pub fn new(public: Option<&str>, allowed: &[String]) -> Self {
        let public = public.map(|public| split_port(public).0);
        Self {
            names: public
                .into_iter()
                .chain(allowed.iter().map(String::as_str))
                .map(str::to_ascii_lowercase)
                .collect(),
            any: allowed.iter().any(|name| name == "*"),
        }
    }

    pub fn contains(&self, host: &str) -> bool {
        let is = |name: &String| {
            name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(split_port(host).0)
        };
        self.any || self.names.iter().any(is)
    }
}

/// `localhost`, a name under it, or a loopback address; without a port or with any port.
pub fn is_this_machine(host: &str) -> bool {
    let (name, port) = split_port(host);
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return false;
    }
    if let Some(address) = name.strip_prefix('[') {
        let address = address.strip_suffix(']').map(str::parse::<Ipv6Addr>);
        return matches!(address, Some(Ok(address)) if IpAddr::V6(address).to_canonical().is_loopback());
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some(at) = name.len().checked_sub("localhost".len()) else {
        return false;
    };
    let is_localhost = name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case("localhost");
    is_localhost && (at == 0 || name[..at].ends_with('.'))
}

/// Splits `name:80` into `name` and `80`.
pub fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_machine_are_recognised() {
        for own in [
            "localhost",
            "LocalHost:12200",
            "localhost.",
            "app.localhost:1",
            "127.0.0.1:12200",
            "127.1.2.3",
            "[::1]:80",
            "[::1]",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(is_this_machine(own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]:80",
            "[::1",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "user@localhost",
            "localhost,evil.example",
            "äocalhost",
        ] {
            assert!(!is_this_machine(foreign), "{foreign}");
        }
    }
}
