//! Connections for tests.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use super::{ConnectionLimits, Connections, Registration};
use crate::limits::ByteBudget;

/// A table with the given limits.
pub fn connections(total: usize, per_address: usize) -> Connections {
    let limits = ConnectionLimits {
        total,
        per_address,
        head: Duration::from_secs(30),
        stall: Duration::from_secs(30),
        trusted_proxies: vec!["10.0.0.0/8".parse().expect("a network")],
    };
    Connections::new(limits, Arc::new(ByteBudget::of_answers(1024 * 1024)))
}

/// The only connection of a new table.
pub async fn admit_one() -> Registration {
    let connections = connections(1, 1);
    let admitted = connections.admit(Ipv4Addr::LOCALHOST.into()).await;
    admitted.expect("there is room")
}
