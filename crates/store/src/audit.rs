//! The audit log. An entry is written in the transaction of the change it records, and holds no
//! secrets.

use std::time::Duration;

use serde_json::Value as JsonValue;
use svc_core::{Id, Timestamp};
use svc_protocol::api::{AuditEntry, AuditQuery};
use uuid::Uuid;

use super::{
    error::StoreError,
    events::first_id_at,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
    value::{Json, Value},
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
            Json(&entry.detail)
        ],
    )
}

/// Newest first.
pub fn list(
    tx: &mut Tx<'_>,
    query: &AuditQuery,
    page: PageRequest,
) -> Result<Page<AuditEntry>, StoreError> {
    let (sql, values) = sizes_sql(query, page);
    let sizes = tx.query(&sql, &values)?;
    let select = "SELECT id, at, actor, action, target_type, target_id, detail FROM audit";
    page.read(tx, &sizes, select, read)
}

/// Selects ids and sizes of the entries of a page, and of one more entry.
pub(super) fn sizes_sql(query: &AuditQuery, page: PageRequest) -> (String, Vec<Value>) {
    let mut sql = String::from(
        "SELECT id, octet_length(detail) + octet_length(target_id) AS bytes
         FROM audit WHERE id < ?1",
    );
    let mut values: Vec<Value> = vec![page.before()];
    for (column, wanted) in [
        ("actor", &query.actor),
        ("action", &query.action),
        ("target_type", &query.target_type),
        ("target_id", &query.target_id),
    ] {
        if let Some(wanted) = wanted {
            values.push(wanted.into());
            sql.push_str(&format!(" AND {column} = ?{}", values.len()));
        }
    }
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        sql.push_str(&format!(" AND {condition} ?{}", values.len()));
    };
    // Ids contain a time, which narrows the search to slightly more than the span. The time of the
    // entry is exact: the clock was read separately for it.
    if let Some(since) = query.since {
        add("id >=", first_id_at(since.minus(ID_BEFORE)).into());
        add("at >=", since.into());
    }
    if let Some(until) = query.until {
        add("id <", first_id_at(until.plus(ID_AFTER)).into());
        add("at <=", until.into());
    }
    values.push(page.limit());
    sql.push_str(&format!(" ORDER BY id DESC LIMIT ?{}", values.len()));
    (sql, values)
}

/// Removes entries from before a time. Returns their number.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM audit WHERE at < ?1", values![before])
}

fn read(row: &Row) -> Result<AuditEntry, StoreError> {
    let Json(detail) = row.get("detail")?;
    Ok(AuditEntry {
        id: row.get("id")?,
        at: row.get("at")?,
        actor: row.get("actor")?,
        action: row.get("action")?,
        target_type: row.get("target_type")?,
        target_id: row.get("target_id")?,
        detail,
    })
}
