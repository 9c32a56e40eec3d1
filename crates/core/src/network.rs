//! The networks of an address, from narrow to wide. A customer of an internet provider usually has
//! one IPv4 address, but a whole IPv6 /56 or /48. So a limit for each address also needs a limit for
//! each wider network, and rows that strangers cause are counted for a wide network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The sizes of networks: the number of leading bits that the addresses of one network share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkSize {
    pub v4_bits: u32,
    pub v6_bits: u32,
}

impl NetworkSize {
    /// An IPv4 address, or an IPv6 /64. It usually belongs to one client.
    pub const CLIENT: Self = Self::new(32, 64);
    /// The network that shares a full table with others: see [`row_network`].
    const ROWS: Self = Self::new(24, 48);

    pub const fn new(v4_bits: u32, v6_bits: u32) -> Self {
        Self { v4_bits, v6_bits }
    }

    /// The first address of the network of this size that contains `address`.
    pub fn network_of(self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - self.v4_bits).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - self.v6_bits).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        }
    }
}

/// The network that a stored row counts for, if a stranger at `address` caused the row: an IPv6 /48
/// or an IPv4 /24, such as `2001:db8:1::/48`.
pub fn row_network(address: IpAddr) -> String {
    let network = NetworkSize::ROWS.network_of(address);
    let bits = match network {
        IpAddr::V4(_) => NetworkSize::ROWS.v4_bits,
        IpAddr::V6(_) => NetworkSize::ROWS.v6_bits,
    };
    format!("{network}/{bits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_is_the_common_start_of_its_addresses() {
        const V6: &str = "2001:db8:1:abcd:5:6:7:8";
        for (size, of, expected) in [
            (NetworkSize::CLIENT, "192.0.2.9", "192.0.2.9"),
            (NetworkSize::CLIENT, V6, "2001:db8:1:abcd::"),
            (NetworkSize::new(24, 56), "192.0.2.9", "192.0.2.0"),
            (NetworkSize::new(24, 56), V6, "2001:db8:1:ab00::"),
            (NetworkSize::new(16, 48), "192.0.2.9", "192.0.0.0"),
            (NetworkSize::new(16, 48), V6, "2001:db8:1::"),
            (NetworkSize::new(8, 32), "192.0.2.9", "192.0.0.0"),
            (NetworkSize::new(8, 32), V6, "2001:db8::"),
            (NetworkSize::new(0, 0), "192.0.2.9", "0.0.0.0"),
            (NetworkSize::new(0, 0), V6, "::"),
            // An IPv4 address in the form of IPv6.
            (NetworkSize::new(24, 56), "::ffff:192.0.2.9", "192.0.2.0"),
        ] {
            assert_eq!(
                size.network_of(address(of)),
                address(expected),
                "{size:?} {of}"
            );
        }
    }

    #[test]
    fn rows_of_one_customer_count_for_one_network() {
        for n in 0..256 {
            let of = address(&format!("2001:db8:1:{n:x}::1"));
            assert_eq!(row_network(of), "2001:db8:1::/48");
        }
        assert_eq!(row_network(address("2001:db8:2::1")), "2001:db8:2::/48");
        assert_eq!(row_network(address("192.0.2.9")), "192.0.2.0/24");
        assert_eq!(row_network(address("::ffff:192.0.2.9")), "192.0.2.0/24");
        assert_eq!(row_network(address("::1")), "::/48");
    }
}
