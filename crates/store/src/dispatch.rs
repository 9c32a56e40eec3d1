//! Dispatch chooses the lanes of events: the queues of sinks and of subscribed methods. This module
//! reads the data for the choice, and writes the result. The number of round trips to the database
//! does not depend on the number of events. Lanes that no event can match are not read.
//!
//! Transactions that write run one at a time, so nothing that is read here changes before the
//! transaction writes.

use std::collections::HashMap;

use svc_core::{EventId, LaneId, Timestamp, UserId, event::Event};

use crate::{
    conditions::Conditions,
    deliveries,
    error::StoreError,
    events::{self, usage},
    idempotency::{self, Use},
    lanes::{Candidate, patterns},
    record::row,
    sinks::GLOBAL,
    sql::{Query, Tx, read_all, values},
};

/// An idempotency key of a user.
pub type UserKey = (UserId, String);

/// The lanes that may receive some events, and the counters of the owners of these events.
#[derive(Debug, Default)]
pub struct DispatchState {
    /// In the order of the ids of the lanes.
    pub lanes: Vec<DispatchLane>,
    /// The number of the newest event.
    pub newest: u64,
    /// Bytes of stored events, for each user who has events.
    pub bytes: HashMap<UserId, u64>,
    /// The requested keys that were used and have not expired.
    pub used: HashMap<UserKey, Use>,
}

/// A lane that may receive an event, and its queue.
#[derive(Clone, PartialEq, Debug)]
pub struct DispatchLane {
    pub candidate: Candidate,
    /// The owner's id, or `global`.
    pub owner_key: String,
    /// The number of the newest delivery.
    pub tail: u64,
    pub depth: u32,
    /// Whether the lane dropped events since its queue was last empty.
    pub dropping: bool,
}

row! { DispatchLane: owner_key, tail, depth, dropping; candidate }

/// Changes of a lane that dispatch collects and writes once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneChange {
    pub queued: u32,
    pub dropped: u32,
    /// The number of the first event that the lane must read from the store later.
    pub refill_from: Option<u64>,
}

/// Reads the data that dispatch needs for events of these owners and types, in one round trip. Global
/// lanes are included.
pub fn read(
    tx: &mut Tx<'_>,
    events: &[(UserId, &str)],
    keys: &[UserKey],
    now: Timestamp,
) -> Result<DispatchState, StoreError> {
    let events = match events {
        // The other counters are read all the same.
        [] => &[(UserId::NIL, "")],
        events => events,
    };
    let mut owners: Vec<_> = events.iter().map(|(owner, _)| *owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let mut queries = vec![
        select_lanes(events),
        select_bytes(&owners),
        Query {
            sql: format!("SELECT {}", events::NEWEST),
            values: Vec::new(),
        },
    ];
    if !keys.is_empty() {
        queries.push(idempotency::select(keys, now));
    }
    let mut answers = tx.query_all(&queries)?.into_iter();
    let mut next = || answers.next().unwrap_or_default();
    Ok(DispatchState {
        lanes: read_all(&next())?,
        bytes: read_all(&next())?
            .into_iter()
            // A counter that is negative by mistake must not prevent emits.
            .map(|(owner, bytes): (UserId, i64)| (owner, bytes.max(0).unsigned_abs()))
            .collect(),
        newest: read_all(&next())?
            .first()
            .copied()
            .ok_or(StoreError::NoRow)?,
        used: next()
            .iter()
            .map(idempotency::read_used)
            .collect::<Result<_, _>>()?,
    })
}

/// The active lanes, and inactive lanes with `holds`, that one of the events may match.
fn select_lanes(events: &[(UserId, &str)]) -> Query {
    let mut wanted: Vec<_> = events
        .iter()
        .flat_map(|(owner, event_type)| {
            let owned = (owner.to_string(), (*event_type).to_owned());
            [owned, (GLOBAL.to_owned(), (*event_type).to_owned())]
        })
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    patterns::select(
        &wanted,
        "id, owner_key, sink_id, method, patterns, active, holds, tail, depth, dropping,
            CASE WHEN filter IS NULL THEN 0 ELSE 1 END AS has_filter,
            CASE WHEN refill_from IS NULL THEN 0 ELSE 1 END AS is_behind",
        "(active = 1 OR holds = 1)",
    )
}

fn select_bytes(owners: &[UserId]) -> Query {
    let mut conditions = Conditions::default();
    conditions.add_in_padded("owner_key", owners);
    conditions.query("SELECT owner_key, bytes FROM event_usage WHERE {}")
}

/// Stores an event with its number. [`finish`] writes the counters.
pub fn insert_event(tx: &mut Tx<'_>, event: &Event, seq: u64) -> Result<(), StoreError> {
    events::insert_numbered(tx, event, seq)
}

/// Stores an event that no lane receives.
#[cfg(any(test, feature = "testing"))]
pub fn store_event(tx: &mut Tx<'_>, event: &Event) -> Result<(), StoreError> {
    let seq = events::newest_number(tx)? + 1;
    insert_event(tx, event, seq)?;
    finish(tx, seq, [(event.owner_id, usage::size_of(event))])
}

/// Queues an event in a lane, as its delivery number `n`. [`change_lane`] writes the counters.
pub fn insert_delivery(
    tx: &mut Tx<'_>,
    (lane, n): (LaneId, u64),
    event: (EventId, &str),
    at: Timestamp,
) -> Result<(), StoreError> {
    deliveries::insert(tx, lane, n, event, at)
}

/// Writes the collected changes of a lane.
pub fn change_lane(tx: &mut Tx<'_>, lane: LaneId, change: &LaneChange) -> Result<(), StoreError> {
    if change.queued > 0 {
        let now = tx.now()?;
        tx.hint();
        tx.send(
            "UPDATE lanes SET tail = tail + ?2, depth = depth + ?2,
                 next_at = CASE WHEN depth = 0 OR keyed = 1 THEN ?3 ELSE next_at END
             WHERE id = ?1",
            values![lane, change.queued, now],
        )?;
    }
    if change.dropped > 0 {
        tx.send(
            "UPDATE lanes SET dropped = dropped + ?2, dropping = 1 WHERE id = ?1",
            values![lane, change.dropped],
        )?;
    }
    if let Some(from) = change.refill_from {
        tx.send(
            "UPDATE lanes SET refill_from = ?2, refilling = 1 WHERE id = ?1",
            values![lane, from],
        )?;
    }
    Ok(())
}

/// Writes the number of the newest event, and the bytes of new events for each owner.
pub fn finish(
    tx: &mut Tx<'_>,
    newest: u64,
    added: impl IntoIterator<Item = (UserId, u64)>,
) -> Result<(), StoreError> {
    events::set_newest(tx, newest)?;
    for (owner, bytes) in added {
        usage::add(tx, owner, bytes)?;
    }
    Ok(())
}
