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
    events::first_id_at,
    page::{Page, PageRequest},
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

/// Lists the entries that match a query, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    query: &AuditQuery,
    page: PageRequest,
) -> Result<Page<AuditEntry>, StoreError> {
    let (sql, values) = sizes_sql(query, page);
    let sizes = tx.list(&sql, &values)?;
    page.read(tx, sizes)
}

/// Selects the ids and sizes of the entries of a page, and of one further entry.
pub(super) fn sizes_sql(query: &AuditQuery, page: PageRequest) -> (String, Vec<Value>) {
    let mut conditions = Conditions::new("id < ?", page.before());
    conditions.add_some("actor = ?", query.actor.as_ref());
    conditions.add_some("action = ?", query.action.as_ref());
    conditions.add_some("target_type = ?", query.target_type.as_ref());
    conditions.add_some("target_id = ?", query.target_id.as_ref());
    // Ids contain a time, which limits the search to slightly more than the requested span. Only
    // `at` is exact, because the clock was read separately for the id.
    if let Some(since) = query.since {
        conditions.add("id >= ?", first_id_at(since.minus(ID_BEFORE)));
        conditions.add("at >= ?", since);
    }
    if let Some(until) = query.until {
        conditions.add("id < ?", first_id_at(until.plus(ID_AFTER)));
        conditions.add("at <= ?", until);
    }
    let limit = conditions.placeholder(page.rows());
    let sql = format!(
        "SELECT id, octet_length(detail) + octet_length(target_id) AS bytes
         FROM audit WHERE {} ORDER BY id DESC LIMIT {limit}",
        conditions.sql
    );
    (sql, conditions.values)
}

/// Removes entries from before a time. Returns their number.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes("DELETE FROM audit WHERE at < ?1", values![before])
}
