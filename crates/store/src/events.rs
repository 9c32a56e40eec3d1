//! Events. Deliveries refer to them. [`list`](list::list) is the history.

mod list;
pub mod usage;

use svc_core::{EventId, SpaceId, Timestamp, UserId, event::Event, pattern::Pattern};
use uuid::Uuid;

pub use self::list::{StoredEvent, list};
use super::{
    error::StoreError,
    sql::{Row, Tx, values},
    value::{Json, Value},
};

/// A filter of events. A field that is `None` matches all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    pub owner: Option<UserId>,
    pub space: Option<SpaceId>,
    /// At least one must match; an empty list matches every event.
    pub patterns: Vec<Pattern>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
}

/// Stores an event and counts its bytes for its owner.
pub fn insert(tx: &mut Tx<'_>, event: &Event) -> Result<(), StoreError> {
    let data = event.data.to_string();
    usage::add(tx, event.owner_id, data.len())?;
    tx.send(
        "INSERT INTO events (id, type, ts, owner_id, space_id, actor, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            event.id,
            &event.r#type,
            event.ts,
            event.owner_id,
            event.space_id,
            Json(&event.actor),
            data
        ],
    )
}

pub fn find(tx: &mut Tx<'_>, id: EventId) -> Result<Option<Event>, StoreError> {
    tx.find(
        "SELECT id, type, ts, owner_id, space_id, actor, data FROM events WHERE id = ?1",
        values![id],
        read,
    )
}

pub fn get(tx: &mut Tx<'_>, id: EventId) -> Result<Event, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::missing("event", id))
}

/// Ids and types of the events after an event, oldest first: for replays, which do not need the
/// payload to choose. The nil id starts from the beginning.
pub fn list_after(
    tx: &mut Tx<'_>,
    filter: &Filter,
    after: EventId,
    limit: u32,
) -> Result<Vec<(EventId, String)>, StoreError> {
    let (conditions, mut values) = conditions(filter, vec![after.into()]);
    values.push(limit.into());
    tx.list(
        &format!(
            "SELECT id, type FROM events WHERE id > ?1{conditions} ORDER BY id LIMIT ?{}",
            values.len()
        ),
        &values,
        |row| Ok((row.get("id")?, row.get("type")?)),
    )
}

/// The number of events since a time, of one owner or of all; at most `max`.
pub fn count_since(
    tx: &mut Tx<'_>,
    owner: Option<UserId>,
    since: Timestamp,
    max: u32,
) -> Result<u64, StoreError> {
    let filter = Filter {
        owner,
        since: Some(since),
        ..Filter::default()
    };
    let (conditions, values) = conditions(&filter, vec![max.into()]);
    let row = tx.query_opt(
        &format!(
            "SELECT COUNT(*) AS events FROM (
                 SELECT 1 FROM events WHERE 1 = 1{conditions} LIMIT ?1) AS counted"
        ),
        &values,
    )?;
    row.ok_or(StoreError::NoRow)?.get("events")
}

/// Removes at most `limit` events from before a time that no delivery needs. Returns their number.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
    let removed = tx.query(
        &format!(
            "DELETE FROM events WHERE id IN (
                 SELECT e.id FROM events e WHERE e.id < ?1 AND NOT EXISTS (
                     SELECT 1 FROM deliveries d WHERE d.event_id = e.id AND d.state = 'pending')
                 ORDER BY e.id LIMIT ?2) RETURNING {}",
            usage::RETURNED
        ),
        values![first_id_at(before), limit],
    )?;
    usage::subtract(tx, &removed)?;
    Ok(removed.len())
}

/// The conditions of the filter; their values are appended to `values`.
fn conditions(filter: &Filter, mut values: Vec<Value>) -> (String, Vec<Value>) {
    let mut sql = String::new();
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        sql.push_str(" AND ");
        sql.push_str(&condition.replace('?', &format!("?{}", values.len())));
    };
    if let Some(owner) = filter.owner {
        add("owner_id = ?", owner.into());
    }
    if let Some(space) = filter.space {
        add("space_id = ?", space.into());
    }
    // Ids contain their time, so only the events of the span are read.
    if let Some(since) = filter.since {
        add("id >= ?", first_id_at(since).into());
    }
    if let Some(until) = filter.until {
        let next = Timestamp(until.0.saturating_add(1));
        add("id < ?", first_id_at(next).into());
    }
    let types = type_condition(&filter.patterns, &mut values);
    (sql + &types, values)
}

/// The condition that one of the patterns matches. Types and patterns are ASCII, so `length` and
/// `substr` count the same units.
fn type_condition(patterns: &[Pattern], values: &mut Vec<Value>) -> String {
    if list::matches_all(patterns) {
        return String::new();
    }
    let alternatives: Vec<_> = patterns
        .iter()
        .map(|pattern| {
            let (text, condition) = match pattern {
                Pattern::Exact(exact) => (exact, "type = ?"),
                Pattern::Prefix(prefix) => (prefix, "substr(type, 1, length(?)) = ?"),
            };
            values.push(text.into());
            condition.replace('?', &format!("?{}", values.len()))
        })
        .collect();
    format!(" AND ({})", alternatives.join(" OR "))
}

/// The least id of this time: a UUIDv7 begins with its milliseconds.
pub(super) fn first_id_at(at: Timestamp) -> EventId {
    // A UUIDv7 has 48 bits for them, enough for every year of RFC 3339.
    let millis = u128::try_from(at.0.clamp(0, (1 << 48) - 1)).unwrap_or(0);
    EventId(Uuid::from_u128(millis << 80))
}

pub(super) fn read(row: &Row) -> Result<Event, StoreError> {
    let Json(actor) = row.get("actor")?;
    let Json(data) = row.get("data")?;
    Ok(Event {
        id: row.get("id")?,
        r#type: row.get("type")?,
        ts: row.get("ts")?,
        owner_id: row.get("owner_id")?,
        space_id: row.get("space_id")?,
        actor,
        data,
    })
}
