//! The audit log. An entry is written in the transaction of the change it records, and holds no
//! secrets.
//!
//! What one user can add to the log is bounded. The transaction of a user's change counts the
//! entries that it wrote ([`usage`], [`Tx::take_audited`]). Entries of the server about the records
//! of an owner are merged beyond a number of bytes per day ([`append_for`]).

mod actions;
mod detail;
#[cfg(test)]
mod tests;
pub mod usage;

use std::time::Duration;

pub use actions::ACTIONS;
pub use detail::DETAIL_BYTES_MAX;
use serde_json::Value as JsonValue;
use svc_core::{EventId, Id, Timestamp, activity_stats::start_of};
use svc_crypto::Sha256;
use svc_protocol::api::{AuditEntry, AuditQuery};
use uuid::Uuid;

use super::{
    conditions::Conditions,
    error::StoreError,
    events::{first_id_at, just_before},
    page::{Page, PageRequest, SizedWindow},
    record::record,
    sql::{Tx, WrittenEntry, values},
    value::Value,
};

/// The actor of changes that no user made.
pub const SYSTEM: &str = "system";

/// Single entries of the server about records of one owner take at most this many bytes per day.
/// Further entries are merged: one for each target (or group of targets), action and
/// [`MERGE_PERIOD`].
pub const SYSTEM_BYTES_PER_DAY: u64 = 10 * 1024 * 1024;
const MERGE_PERIOD: Duration = Duration::from_secs(60 * 60);
/// Bytes counted for an entry in addition to its texts: its other columns and its index entries.
const OVERHEAD: usize = 256;

/// How far the time in an entry's id may be before the entry's time: a clock may be set back, and
/// the id of a merged entry has the start of its period.
const ID_BEFORE: Duration = Duration::from_secs(MERGE_PERIOD.as_secs() + 60);
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
    pub fn by(
        at: Timestamp,
        actor: &str,
        action: &'static str,
        (target_type, target_id): (&'static str, impl ToString),
        detail: JsonValue,
    ) -> Self {
        Self {
            at,
            actor: actor.to_owned(),
            action,
            target_type,
            target_id: target_id.to_string(),
            detail,
        }
    }

    /// An entry about a change that no user made.
    pub fn by_system(
        at: Timestamp,
        action: &'static str,
        target: (&'static str, String),
        detail: JsonValue,
    ) -> Self {
        Self::by(at, SYSTEM, action, target, detail)
    }
}

record! { AuditEntry in "audit": id, at, actor, action, target_type, target_id, detail,
count as "occurrences" }

/// Writes an entry. A large detail is cut.
pub fn append(tx: &mut Tx<'_>, entry: &Entry) -> Result<(), StoreError> {
    actions::check(entry.action);
    let detail = detail::shorten(&entry.detail);
    tx.note_audited(WrittenEntry {
        action: entry.action,
        target_type: entry.target_type,
        target_id: entry.target_id.clone(),
        bytes: size_of(entry, &detail),
    });
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
            detail
        ],
    )
}

/// Writes an entry that no request of a caller is refused for. `owner_key` names the user who may
/// cause many such entries: the key of a user's lanes and spaces, or `global`. The first entries of
/// a day are single. After [`SYSTEM_BYTES_PER_DAY`], entries with the same action and target within
/// [`MERGE_PERIOD`] become one entry, which counts them and has the newest detail. So every entry
/// leaves a trace, and an owner cannot fill the disk with them.
pub fn append_for(tx: &mut Tx<'_>, owner_key: &str, entry: &Entry) -> Result<(), StoreError> {
    append_grouped(tx, owner_key, &entry.target_id, None, entry)
}

/// Like [`append_for`], for an entry by which the receivers of an event are found.
pub fn append_about_event(
    tx: &mut Tx<'_>,
    owner_key: &str,
    event: EventId,
    entry: &Entry,
) -> Result<(), StoreError> {
    append_grouped(tx, owner_key, &entry.target_id, Some(event), entry)
}

/// Like [`append_for`], for entries that each have a target of their own: those of one owner and
/// action are merged.
pub fn append_by_action(tx: &mut Tx<'_>, owner_key: &str, entry: &Entry) -> Result<(), StoreError> {
    append_grouped(tx, owner_key, "", None, entry)
}

fn append_grouped(
    tx: &mut Tx<'_>,
    owner_key: &str,
    group: &str,
    event: Option<EventId>,
    entry: &Entry,
) -> Result<(), StoreError> {
    actions::check(entry.action);
    let detail = detail::shorten(&entry.detail);
    let key = format!("system {owner_key}");
    let bytes = size_of(entry, &detail);
    tx.send(usage::ADD, values![&key, usage::day_of(entry.at), bytes])?;
    // One statement, without waiting for the counter: an emit may drop many events.
    tx.send(
        "INSERT INTO audit (id, at, actor, action, target_type, target_id, detail, event_id)
         SELECT CASE WHEN bytes <= CAST(?9 AS BIGINT)
                 THEN CAST(?1 AS TEXT) ELSE CAST(?2 AS TEXT) END,
             CAST(?3 AS BIGINT), CAST(?4 AS TEXT), CAST(?5 AS TEXT), CAST(?6 AS TEXT),
             CAST(?7 AS TEXT), CAST(?8 AS TEXT), CAST(?11 AS TEXT)
         FROM audit_usage WHERE owner_key = ?10
         ON CONFLICT (id) DO UPDATE SET occurrences = audit.occurrences + 1,
             at = excluded.at, target_id = excluded.target_id, detail = excluded.detail,
             event_id = excluded.event_id",
        values![
            Id(Uuid::now_v7()),
            merged_id(owner_key, group, entry),
            entry.at,
            &entry.actor,
            entry.action,
            entry.target_type,
            &entry.target_id,
            detail,
            SYSTEM_BYTES_PER_DAY,
            &key,
            event
        ],
    )
}

fn size_of(entry: &Entry, detail: &str) -> u64 {
    (OVERHEAD + entry.actor.len() + entry.target_id.len() + detail.len()) as u64
}

/// The id of the entry into which the entries of a group and a period are merged: a UUIDv7 of the
/// start of the period and a hash. All servers of a zone compute the same id.
fn merged_id(owner_key: &str, group: &str, entry: &Entry) -> Id {
    let mut hash = Sha256::new();
    for part in [owner_key, entry.action, entry.target_type, group] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut tail = [0; 16];
    tail.copy_from_slice(&hash.finish()[..16]);
    let tail = u128::from_le_bytes(tail) & !(u128::from(u64::MAX) << 80);
    let mut id = first_id_at(start_of(entry.at, MERGE_PERIOD)).0.as_u128() | tail;
    id = id & !(0xf << 76) | 0x7 << 76;
    id = id & !(0b11 << 62) | 0b10 << 62;
    Id(Uuid::from_u128(id))
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
