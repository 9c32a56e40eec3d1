//! The servers of a zone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::{ServerId, Timestamp};

/// Answer of `GET /api/servers`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Servers {
    pub servers: Vec<ServerRecord>,
}

/// One server of the zone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServerRecord {
    /// `node_id` of the spaces whose agents are linked to this server.
    pub id: ServerId,
    /// The server's address for agents and users.
    pub url: String,
    /// `up`, `draining` or `gone`.
    #[schemars(extend("enum" = ["up", "draining", "gone"]))]
    pub state: String,
    pub svc_version: String,
    pub started_at: Timestamp,
    /// Time of the last heartbeat.
    pub seen_at: Timestamp,
    /// Number of linked agents.
    pub links: u32,
    /// Number of lanes that the server holds a lease of.
    pub leases: u32,
    /// Whether this is the server that answered the request.
    pub is_this: bool,
}
