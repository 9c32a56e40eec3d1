//! Events. Deliveries refer to them. [`list`](list::list) is the history.

mod list;
mod numbers;
mod removal;
mod search;
pub mod usage;

use std::time::Duration;

use svc_core::{EventId, LaneId, SpaceId, Timestamp, UserId, event::Event, pattern::Pattern};
use uuid::Uuid;

pub(crate) use self::numbers::{NEWEST, set_newest};
pub use self::{
    list::list,
    numbers::{NumberedEvent, list_numbered, newest_number},
    removal::{LostEvents, Pruned, prune},
    search::{Search, search},
};
use super::{
    conditions::Conditions,
    error::StoreError,
    record::record,
    sql::{Tx, values},
};

/// A filter of events. A field that is `None` matches all events.
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
    /// Only events that this lane has not delivered and that do not wait for it.
    pub undelivered_by: Option<LaneId>,
}

/// The maximum time from the `ts` of an event to the time in its id. It is longer than any write
/// waits.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5 * 60);

record! {
    Event in "events": id, r#type as "type", ts, owner_id, space_id, actor, data, trace
}

/// Stores an event. The caller updates the newest number and the bytes of the owner.
pub(super) fn insert_numbered(tx: &mut Tx<'_>, event: &Event, seq: u64) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO events (id, type, ts, owner_id, space_id, actor, data, seq, trace)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        values![
            event.id,
            &event.r#type,
            event.ts,
            event.owner_id,
            event.space_id,
            &event.actor,
            &event.data,
            seq,
            &event.trace
        ],
    )
}

pub fn find(tx: &mut Tx<'_>, id: EventId) -> Result<Option<Event>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn get(tx: &mut Tx<'_>, id: EventId) -> Result<Event, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::missing("event", id))
}

/// The time of the event with the highest id.
pub fn newest_time(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let newest: Option<Event> = tx.find_record("ORDER BY id DESC LIMIT 1", values![])?;
    Ok(newest.map(|event| event.ts))
}

/// Ids and types of the events after an event, oldest first. Replays choose events by id and type,
/// without the payload. The nil id starts from the beginning.
pub fn list_after(
    tx: &mut Tx<'_>,
    filter: &Filter,
    after: EventId,
    limit: u32,
) -> Result<Vec<(EventId, String)>, StoreError> {
    let mut conditions = Conditions::new("id > ?", after);
    // An event gets its id when it is written, some time after its `ts`.
    let span = Filter {
        until: filter.until.map(|until| until.plus(WRITTEN_WITHIN)),
        ..filter.clone()
    };
    span.add_to(&mut conditions);
    conditions.add_some("ts <= ?", filter.until);
    let limit = conditions.placeholder(limit);
    tx.list(
        &format!(
            "SELECT id, type FROM events WHERE {} ORDER BY id LIMIT {limit}",
            conditions.sql
        ),
        &conditions.values,
    )
}

/// The number of events since a time, of one owner or of all; at most `max`.
pub fn count_since(
    tx: &mut Tx<'_>,
    owner: Option<UserId>,
    since: Timestamp,
    max: u32,
) -> Result<u64, StoreError> {
    let mut conditions = Conditions::new("id >= ?", first_id_at(since));
    conditions.add_some("owner_id = ?", owner);
    let limit = conditions.placeholder(max);
    tx.get(
        &format!(
            "SELECT COUNT(*) FROM (
                 SELECT 1 FROM events WHERE {} LIMIT {limit}) AS counted",
            conditions.sql
        ),
        &conditions.values,
    )
}

impl Filter {
    fn add_to(&self, conditions: &mut Conditions) {
        self.add_without_patterns(conditions);
        if list::matches_all(&self.patterns) {
            return;
        }
        // Types and patterns are ASCII, so `length` and `substr` count the same units.
        let mut alternatives = Vec::new();
        for pattern in &self.patterns {
            let (text, condition) = match pattern {
                Pattern::Exact(exact) => (exact, "type = ?"),
                Pattern::Prefix(prefix) => (prefix, "substr(type, 1, length(?)) = ?"),
            };
            alternatives.push(condition.replace('?', &conditions.placeholder(text)));
        }
        conditions.and(&format!("({})", alternatives.join(" OR ")));
    }

    fn add_without_patterns(&self, conditions: &mut Conditions) {
        conditions.add_some("owner_id = ?", self.owner);
        conditions.add_some("space_id = ?", self.space);
        conditions.add_some(
            "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = events.id
                 AND d.lane_id = ? AND d.state <> 'dead')",
            self.undelivered_by,
        );
        conditions.add_some(
            "NOT EXISTS (SELECT 1 FROM lanes l WHERE l.id = ? AND l.refill_from <= events.seq)",
            self.undelivered_by,
        );
        // Ids contain their time, so only the events of the span are read.
        conditions.add_some("id >= ?", self.since.map(first_id_at));
        let after = |until: Timestamp| first_id_at(Timestamp(until.0.saturating_add(1)));
        conditions.add_some("id < ?", self.until.map(after));
    }
}

/// The least id of this time: a UUIDv7 begins with its milliseconds.
pub(super) fn first_id_at(at: Timestamp) -> EventId {
    // A UUIDv7 has 48 bits for the milliseconds, enough for every year of RFC 3339.
    let millis = u128::try_from(at.0.clamp(0, (1 << 48) - 1)).unwrap_or(0);
    EventId(Uuid::from_u128(millis << 80))
}
