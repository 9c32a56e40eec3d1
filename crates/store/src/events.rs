//! Events, to which deliveries refer. [`list`](list::list) reads the history.

mod list;
mod numbers;
mod removal;
mod search;
pub mod usage;
mod window;

use svc_core::{EventId, Id, LaneId, SpaceId, Timestamp, UserId, event::Event, pattern::Pattern};
use uuid::Uuid;

pub(crate) use self::numbers::{NEWEST, set_newest};
use self::window::Order;
pub use self::{
    list::{list, list_times},
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
    /// Only events that this lane has not delivered and will not deliver: they do not wait in its
    /// queue, and the lane has already checked them.
    pub undelivered_by: Option<LaneId>,
}

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

/// The matching events of one window of the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastEvents {
    /// Ids and types, oldest first.
    pub events: Vec<(EventId, String)>,
    /// Where the next window begins; `None` if there are no further events.
    pub next: Option<EventId>,
}

/// Ids and types of the events after an event, oldest first. Replays choose events by id and type,
/// without the payload. The nil id starts from the beginning. Reads at most `window` events, whether
/// or not they match.
pub fn list_after(
    tx: &mut Tx<'_>,
    filter: &Filter,
    after: EventId,
    window: u32,
) -> Result<PastEvents, StoreError> {
    let between = (Id(after.0), Id(Uuid::max()));
    let read = window::read(tx, filter, between, Order::OldestFirst, window)?;
    let events = read.rows.into_iter();
    Ok(PastEvents {
        events: events.map(|row| (EventId(row.id.0), row.r#type)).collect(),
        next: read.last.map(|last| EventId(last.0)),
    })
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

/// The least id of this time: a UUIDv7 begins with its milliseconds.
pub(super) fn first_id_at(at: Timestamp) -> EventId {
    // A UUIDv7 has 48 bits for the milliseconds, enough for every year of RFC 3339.
    let millis = u128::try_from(at.0.clamp(0, (1 << 48) - 1)).unwrap_or(0);
    EventId(Uuid::from_u128(millis << 80))
}

/// The greatest id that is less than this one: for `id > ?` in place of `id >= ?`.
pub(super) fn just_before(id: EventId) -> Id {
    Id(Uuid::from_u128(id.0.as_u128().saturating_sub(1)))
}
