//! The host of a URL, of a `Host` header or of a connection string, and whether the host is this
//! machine.
//!
//! Numeric hosts are read as the URL standard reads them: `127.1`, `0x7f.1` and `2130706433` are
//! the address 127.0.0.1. No name is resolved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The name under which each machine knows itself, and under which all names lead to the same
/// machine (RFC 6761, section 6.3).
const LOCALHOST: &str = "localhost";

#[derive(Clone, Copy, Debug)]
pub enum Host<'a> {
    /// A name as written, without the dot at its end.
    Name(&'a str),
    Address(IpAddr),
}

impl<'a> Host<'a> {
    /// Parses a host without a port. An IPv6 address may be in brackets. `None` if the text is
    /// neither an address nor a name.
    pub fn parse(text: &'a str) -> Option<Self> {
        let address = match text.strip_prefix('[') {
            Some(rest) => Some(rest.strip_suffix(']')?),
            None => text.contains(':').then_some(text),
        };
        if let Some(address) = address {
            let address = address.parse::<Ipv6Addr>().ok()?;
            return Some(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if !is_name(name) {
            return None;
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        match is_number(last) {
            true => Some(Self::Address(parse_ipv4(name)?.into())),
            false => Some(Self::Name(name)),
        }
    }

    /// Parses `host` or `host:port`, as in a `Host` header. An IPv6 address must be in brackets.
    pub fn parse_authority(text: &'a str) -> Option<(Self, Option<u16>)> {
        let (host, port) = match text.find(']') {
            Some(end) if text.starts_with('[') => text.split_at(end + 1),
            _ => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            None if port.is_empty() => None,
            _ => return None,
        };
        Some((Self::parse(host)?, port))
    }

    /// Whether the host is the machine that uses it: `localhost`, a name under it, or a loopback
    /// address.
    pub fn is_loopback(self) -> bool {
        match self {
            Self::Name(name) => {
                let last = name.rsplit('.').next();
                last.is_some_and(|label| label.eq_ignore_ascii_case(LOCALHOST))
            }
            Self::Address(address) => address.to_canonical().is_loopback(),
        }
    }
}

/// Whether `host` or `host:port` is the machine that uses it.
pub fn is_loopback_authority(text: &str) -> bool {
    Host::parse_authority(text).is_some_and(|(host, _)| host.is_loopback())
}

/// Whether the text consists of labels with characters that the URL standard allows in a host.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\"#%,/:<>?@[\\]^`{|}".contains(&byte);
    text.split('.')
        .all(|label| !label.is_empty() && label.bytes().all(is_allowed))
}

/// Whether a label is a number. A host whose last label is a number is an IPv4 address or nothing.
fn is_number(label: &str) -> bool {
    let is_decimal = label.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal || matches!(digits_of(label), (digits, 16) if is_in_radix(digits, 16))
}

/// Parses one to four numbers. The last number fills the bytes that the others leave.
fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Option<Vec<u32>> = text.split('.').map(parse_number).collect();
    let numbers = numbers?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 255) {
        return None;
    }
    let last_bits = 32 - 8 * u32::try_from(first.len()).ok()?;
    if u64::from(*last) >> last_bits != 0 {
        return None;
    }
    let first = first
        .iter()
        .zip([24, 16, 8])
        .fold(0, |bits, (number, shift)| bits | number << shift);
    Some(Ipv4Addr::from_bits(first | last))
}

/// Parses a decimal number, an octal number (`0177`) or a hexadecimal number (`0x7f`). `0x` is 0.
fn parse_number(text: &str) -> Option<u32> {
    match digits_of(text) {
        ("", 16) => Some(0),
        (digits, radix) if is_in_radix(digits, radix) => u32::from_str_radix(digits, radix).ok(),
        _ => None,
    }
}

/// The digits of a number, and their radix.
fn digits_of(text: &str) -> (&str, u32) {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    }
}

fn is_in_radix(digits: &str, radix: u32) -> bool {
    digits.chars().all(|digit| digit.is_digit(radix))
}

#[cfg(test)]
mod tests;
