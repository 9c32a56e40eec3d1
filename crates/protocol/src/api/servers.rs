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
    /// The address that the server announces to the agents of the zone. Absent if the server
    /// announces none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise_url: Option<String>,
    /// Number of home links that agents have to the server.
    pub links: u32,
    /// Number of links of agents whose home is another server.
    #[serde(default)]
    pub side_links: u32,
    /// Number of lanes that the server holds a lease of.
    pub leases: u32,
    /// Whether this is the server that answered the request.
    pub is_this: bool,
}
