//! Reports of the servers of a zone: how much of the users' limits was used at each server. This
//! module does not interpret the text of a report.

use std::time::Duration;

use svc_core::{ServerId, Timestamp};

use super::{
    error::StoreError,
    sql::{Tx, values},
};

/// Replaces the report of a server.
pub fn set(tx: &mut Tx<'_>, server: ServerId, uses: &str) -> Result<(), StoreError> {
    let now = tx.now()?;
    tx.send(
        "INSERT INTO limit_use (server_id, at, uses) VALUES (?1, ?2, ?3)
         ON CONFLICT (server_id) DO UPDATE SET at = excluded.at, uses = excluded.uses",
        values![server, now, uses],
    )
}

/// The reports of the other servers, without those that are older than `max_age`.
pub fn list_others(
    tx: &mut Tx<'_>,
    server: ServerId,
    max_age: Duration,
) -> Result<Vec<(ServerId, String)>, StoreError> {
    let since = tx.now()?.minus(max_age);
    tx.list(
        "SELECT server_id, uses FROM limit_use WHERE server_id <> ?1 AND at >= ?2
         ORDER BY server_id",
        values![server, since],
    )
}

/// Removes reports from before a time.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes("DELETE FROM limit_use WHERE at < ?1", values![before])
}
