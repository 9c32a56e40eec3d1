//! The audit log. An entry is written in the transaction of the change it records, and holds no
//! secrets.

use std::time::Duration;

use serde_json::Value as JsonValue;
use svc_core::{Id, Timestamp};
use svc_protocol::api::{AuditEntry, AuditQuery};
use uuid::Uuid;

use super::{
    conditions::Conditions,
    error::StoreError,
    events::{first_id_at, just_before},
    page::{Page, PageRequest, SizedWindow},
    record::record,
    sql::{Tx, values},
    value::Value,
};

/// The actor of changes that no user made.
pub const SYSTEM: &str = "system";

/// How far the time in an entry's id may be before the entry's time: a clock may be set back.
const ID_BEFORE: Duration = Duration::from_secs(60);
/// How far the time in the id may be after the entry's time: the write may have waited.
const ID_AFTER: Duration = Duration::from_secs(10 * 60);

/// One statement reads at most this many entries.
const WINDOW: u32 = 2_000;
/// The maximum number of windows of one page.
const WINDOWS_MAX: usize = 10;

/// A new entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub at: Timestamp,
    /// A user's name, or [`SYSTEM`].
    pub actor: String,
    /// Such as `token.created`.
    pub action: &'static str,
    pub target_type: &'static str,
    pub target_id: String,
    pub detail: JsonValue,
}

impl Entry {
    /// An entry about a change that no user made.
    pub fn by_system(
        at: Timestamp,
        action: &'static str,
        (target_type, target_id): (&'static str, String),
        detail: JsonValue,
    ) -> Self {
        Self {
            at,
            actor: SYSTEM.to_owned(),
            action,
            target_type,
            target_id,
            detail,
        }
    }
}

record! { AuditEntry in "audit": id, at, actor, action, target_type, target_id, detail }

pub fn append(tx: &mut Tx<'_>, entry: &Entry) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO audit (id, at, actor, action, target_type, target_id, detail)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            Id(Uuid::now_v7()),
            entry.at,
            &entry.actor,
            entry.action,
            entry.target_type,
            &entry.target_id,
            &entry.detail
        ],
    )
}

/// Lists the entries that match a query, newest first. If few entries match, a page may have fewer
/// entries than its limit, or none, and still have a cursor.
pub fn list(
    tx: &mut Tx<'_>,
    query: &AuditQuery,
    page: PageRequest,
) -> Result<Page<AuditEntry>, StoreError> {
    let window = match is_narrow(query) {
        true => WINDOW,
        false => page.rows(),
    };
    page.read_windows(tx, WINDOWS_MAX, |tx, before, _| {
        let (sql, values) = window_sql(query, before, window);
        let rows = tx.query(&sql, &values)?;
        let last = match rows.last() {
            Some(last) if rows.len() >= window as usize => Some(last.get("id")?),
            _ => None,
        };
        let mut sizes = Vec::new();
        for row in &rows {
            if row.get("matches")? {
                sizes.push((row.get("id")?, row.get("bytes")?));
            }
        }
        Ok(SizedWindow { sizes, last })
    })
}

/// Whether some entries of a window may not match.
fn is_narrow(query: &AuditQuery) -> bool {
    let indexed = [
        &query.target_id,
        &query.actor,
        &query.action,
        &query.target_type,
    ];
    let indexed = indexed.into_iter().flatten().count();
    indexed > 1 || query.since.is_some() || query.until.is_some()
}

/// Selects the ids and sizes of the entries of a window. One index finds the window; `matches` is
/// false for entries that the other conditions exclude.
pub(super) fn window_sql(query: &AuditQuery, before: Id, limit: u32) -> (String, Vec<Value>) {
    // Ids contain a time, which limits the search to slightly more than the requested span. Only
    // `at` is exact, because the clock was read separately for the id.
    let after = query.since.map(|since| since.minus(ID_BEFORE));
    let after = after.map_or(Id(Uuid::nil()), |at| just_before(first_id_at(at)));
    let end = query.until.map(|until| until.plus(ID_AFTER));
    let end = end.map_or(before, |at| before.min(Id(first_id_at(at).0)));
    let mut window = Conditions::new("id > ?", after);
    window.add("id < ?", end);
    let mut others = Vec::new();
    let mut is_found = false;
    // The columns with an index that also has the id, the most selective first.
    for (column, value) in [
        ("target_id", &query.target_id),
        ("actor", &query.actor),
        ("action", &query.action),
        ("target_type", &query.target_type),
    ] {
        let Some(value) = value else { continue };
        let condition = format!("{column} = {}", window.placeholder(value));
        match is_found {
            false => window.and(&condition),
            true => others.push(condition),
        }
        is_found = true;
    }
    for (condition, at) in [("at >= ", query.since), ("at <= ", query.until)] {
        let placeholder = at.map(|at| window.placeholder(at));
        others.extend(placeholder.map(|placeholder| format!("{condition}{placeholder}")));
    }
    let matches = match others.is_empty() {
        true => "1".to_owned(),
        false => format!("CASE WHEN {} THEN 1 ELSE 0 END", others.join(" AND ")),
    };
    let limit = window.placeholder(limit);
    let sql = format!(
        "SELECT id, octet_length(detail) + octet_length(target_id) AS bytes, {matches} AS matches
         FROM audit WHERE {} ORDER BY id DESC LIMIT {limit}",
        window.sql
    );
    (sql, window.values)
}

/// Removes at most `limit` entries from before a time. Returns their number.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ?1 ORDER BY at LIMIT ?2)",
        values![before, limit],
    )
}
