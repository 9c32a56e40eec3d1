//! The servers of the zone: their heartbeats and their load.

use svc_core::{ServerId, Timestamp};

use super::{
    error::StoreError,
    record::{record, row},
    sql::{Tx, values},
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerRow {
    pub id: ServerId,
    /// The address for agents and users.
    pub url: String,
    pub svc_version: String,
    /// By the database's clock. Later than any earlier start with the same id.
    pub started_at: Timestamp,
    /// The time of the last heartbeat.
    pub seen_at: Timestamp,
    /// Number of agents whose home is this server. An agent has one home at a time.
    pub links: u32,
    /// Number of links of agents whose home is another server.
    pub side_links: u32,
    /// The address that the server announces to agents. Empty if it announces none.
    pub advertise_url: String,
    /// Whether the server is about to stop.
    pub draining: bool,
}

/// A server and the number of its leases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerLoad {
    pub server: ServerRow,
    /// Lanes that the server holds.
    pub leases: u32,
}

record! {
    ServerRow in "servers": id, url, svc_version, started_at, seen_at, links, side_links,
        advertise_url, draining
}

row! { ServerLoad: leases; server }

/// The start time for a server that starts now.
pub fn next_start(tx: &mut Tx<'_>, id: ServerId) -> Result<Timestamp, StoreError> {
    let now = tx.now()?;
    let before = find(tx, id)?.map(|server| server.started_at);
    Ok(before.map_or(now, |before| now.max(Timestamp(before.0 + 1))))
}

/// Records a heartbeat. Returns false, and records nothing, if another server with the same id has
/// started after this server.
pub fn beat(tx: &mut Tx<'_>, server: &ServerRow) -> Result<bool, StoreError> {
    tx.changes(
        "INSERT INTO servers
             (id, url, svc_version, started_at, seen_at, links, draining, side_links, advertise_url)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (id) DO UPDATE SET url = excluded.url, svc_version = excluded.svc_version,
             started_at = excluded.started_at, seen_at = excluded.seen_at,
             links = excluded.links, draining = excluded.draining,
             side_links = excluded.side_links, advertise_url = excluded.advertise_url
         WHERE servers.started_at <= excluded.started_at",
        values![
            server.id,
            &server.url,
            &server.svc_version,
            server.started_at,
            server.seen_at,
            server.links,
            server.draining,
            server.side_links,
            &server.advertise_url
        ],
    )
}

pub fn find(tx: &mut Tx<'_>, id: ServerId) -> Result<Option<ServerRow>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn list(tx: &mut Tx<'_>) -> Result<Vec<ServerLoad>, StoreError> {
    let now = tx.now()?;
    tx.list(
        "SELECT id, url, svc_version, started_at, seen_at, links, side_links, advertise_url,
                draining,
                (SELECT COUNT(*) FROM lanes l
                 WHERE l.lease_owner = servers.id AND l.lease_until > ?1) AS leases
         FROM servers ORDER BY started_at, id",
        values![now],
    )
}

/// The servers that announce an address to agents, were seen at or after a time and are not about to
/// stop. At most `limit`.
pub fn list_announced(
    tx: &mut Tx<'_>,
    seen_since: Timestamp,
    limit: u32,
) -> Result<Vec<ServerRow>, StoreError> {
    tx.list_records(
        "WHERE advertise_url <> '' AND seen_at >= ?1 AND draining = 0 ORDER BY id LIMIT ?2",
        values![seen_since, limit],
    )
}

/// The number of servers that were seen since a time.
pub fn count_since(tx: &mut Tx<'_>, since: Timestamp) -> Result<u32, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM servers WHERE seen_at >= ?1",
        values![since],
    )
}

/// Removes servers that were last seen before a time and have no spaces.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM servers WHERE seen_at < ?1 AND NOT EXISTS (
             SELECT 1 FROM spaces s WHERE s.node_id = servers.id)",
        values![before],
    )
}
