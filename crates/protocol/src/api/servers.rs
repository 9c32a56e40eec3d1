//! The servers of a zone.

use serde::{Deserialize, Serialize};
use svc_core::{ServerId, Timestamp};

/// Answer of `GET /api/servers`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Servers {
    pub servers: Vec<ServerRecord>,
}

/// One server of the zone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerRecord {
    /// `node_id` of the spaces whose agents are linked to it.
    pub id: ServerId,
    /// The address agents and people reach it by.
    pub url: String,
    /// `up`, `draining` or `gone`.
    pub state: String,
    pub svc_version: String,
    pub started_at: Timestamp,
    /// Its last sign of life.
    pub seen_at: Timestamp,
    /// Agents linked to it.
    pub links: u32,
    /// Event queues it delivers from at the moment.
    pub leases: u32,
    /// Whether it is the one that answers.
    pub is_this: bool,
}
