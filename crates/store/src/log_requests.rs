//! Requests for the log of a space that is linked to another server of the zone.

use std::time::Duration;

use svc_core::{ServerId, SpaceId};

use super::{
    error::StoreError,
    record::record,
    sql::{Tx, values},
    zone_changes::{self, ZoneChange},
};

/// A request that is older than this was left over by a server that crashed. [`add`] removes such
/// requests.
const KEPT: Duration = Duration::from_secs(60);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRequest {
    pub id: String,
    /// The server that holds the link.
    pub server_id: ServerId,
    pub space_id: SpaceId,
    /// Only lines after this number.
    pub after_line: Option<i64>,
    pub line_limit: i64,
    /// The answer: lines as JSON.
    pub lines: Option<String>,
}

record! {
    LogRequest in "log_requests": id, server_id, space_id, after_line, line_limit, lines
}

/// Adds a request and notifies the other servers.
pub fn add(tx: &mut Tx<'_>, request: &LogRequest) -> Result<(), StoreError> {
    let now = tx.now()?;
    tx.send(
        "DELETE FROM log_requests WHERE at < ?1",
        values![now.minus(KEPT)],
    )?;
    tx.send(
        "INSERT INTO log_requests (id, at, server_id, space_id, after_line, line_limit)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            &request.id,
            now,
            request.server_id,
            request.space_id,
            request.after_line,
            request.line_limit
        ],
    )?;
    zone_changes::append(tx, &ZoneChange::LogRequest(request.id.clone()))
}

pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<LogRequest>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

/// Writes the answer, unless the request was removed.
pub fn answer(tx: &mut Tx<'_>, id: &str, lines: &str) -> Result<(), StoreError> {
    tx.send(
        "UPDATE log_requests SET lines = ?2 WHERE id = ?1",
        values![id, lines],
    )
}

pub fn remove(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    tx.send("DELETE FROM log_requests WHERE id = ?1", values![id])
}
