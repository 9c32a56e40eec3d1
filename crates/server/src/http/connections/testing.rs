//! Connections for tests.

use std::{net::Ipv4Addr, time::Duration};

use super::{ConnectionLimits, Connections, Registration};

/// A table with the given limits.
pub fn connections(total: usize, per_address: usize) -> Connections {
    Connections::new(ConnectionLimits {
        total,
        per_address,
        head: Duration::from_secs(30),
        trusted_proxies: vec!["10.0.0.0/8".parse().expect("a network")],
    })
}

/// The only connection of a new table.
pub async fn admit_one() -> Registration {
    let connections = connections(1, 1);
    let admitted = connections.admit(Ipv4Addr::LOCALHOST.into()).await;
    admitted.expect("there is room")
}
