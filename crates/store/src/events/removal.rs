//! Removes old events, and reports the events that lanes (queues of sinks and subscribed methods)
//! still needed.
//!
//! An event with a waiting delivery is not removed. An event that a lane still has to check
//! (`refill_from`) is kept longer than usual, but not forever. If such an event is removed, it is
//! reported as lost.

use std::collections::BTreeSet;

use svc_core::{EventId, LaneId, Timestamp, UserId, pattern::Pattern};

use super::{first_id_at, usage};
use crate::{
    error::StoreError,
    lanes::{Receiver, patterns},
    record::row,
    sinks::{GLOBAL, owner_key},
    sql::{Tx, values},
};

/// The columns that a `DELETE` of events returns.
pub(super) const RETURNED: &str =
    "COALESCE(charged_to, owner_id) AS charged_to, owner_id, id, type, seq,
    octet_length(data) AS data_bytes";

/// Events, and whether a waiting delivery or a lane needs them.
const NEEDED: &str = "SELECT e.id AS id, CASE WHEN EXISTS (SELECT 1 FROM deliveries d
            WHERE d.event_id = e.id AND d.state = 'pending')
        OR (e.id >= ?3 AND EXISTS (SELECT 1 FROM lanes l WHERE l.refilling = 1
            AND l.owner_key IN (e.owner_id, 'global') AND l.refill_from <= e.seq))
        THEN 1 ELSE 0 END AS needed
     FROM events e WHERE e.id > ?1 AND e.id < ?2 ORDER BY e.id LIMIT ?4";

/// An event that was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RemovedEvent {
    /// The key of the counter that includes the bytes of the event.
    pub(super) charged_to: String,
    pub(super) owner_id: UserId,
    pub(super) id: EventId,
    pub(super) r#type: String,
    pub(super) seq: u64,
    pub(super) data_bytes: i64,
}

row! { RemovedEvent: charged_to, owner_id, id, r#type as "type", seq, data_bytes }

/// A lane that has not yet checked every event.
struct HeldLane {
    lane: LaneId,
    owner_key: String,
    receiver: Receiver,
    patterns: Vec<Pattern>,
    refill_from: u64,
}

row! { HeldLane: lane as "id", owner_key, patterns, refill_from; receiver }

/// Removed events that a lane had not checked and that its patterns match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostEvents {
    pub lane: LaneId,
    /// The owner of the lane, or `global`.
    pub owner_key: String,
    pub receiver: Receiver,
    pub events: u64,
    pub first: EventId,
    pub last: EventId,
}

impl LostEvents {
    /// Adds losses to a list with at most one entry for each lane, in the order of their ids.
    pub fn merge(all: &mut Vec<Self>, more: Vec<Self>) {
        for lost in more {
            match all.binary_search_by_key(&lost.lane, |known| known.lane) {
                Ok(index) => {
                    all[index].events += lost.events;
                    all[index].last = lost.last;
                }
                Err(index) => all.insert(index, lost),
            }
        }
    }
}

/// The result of one step of [`prune`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub events: usize,
    pub lost: Vec<LostEvents>,
    /// The last event that was checked; `None` if there are no further events.
    pub next: Option<EventId>,
}

/// Checks at most `limit` events that are newer than `after` and older than `before`. Removes those
/// that no waiting delivery and no lane needs. An event before `held_since` is removed even if a
/// lane still has to check it.
pub fn prune(
    tx: &mut Tx<'_>,
    after: EventId,
    (before, held_since): (Timestamp, Timestamp),
    limit: u32,
) -> Result<Pruned, StoreError> {
    let rows = tx.query(
        NEEDED,
        values![after, first_id_at(before), first_id_at(held_since), limit],
    )?;
    let mut unneeded = Vec::new();
    let mut last = None;
    for row in &rows {
        let id = row.get("id")?;
        last = Some(id);
        if !row.get("needed")? {
            unneeded.push(id);
        }
    }
    let lost = remove(tx, &unneeded)?;
    Ok(Pruned {
        events: unneeded.len(),
        lost,
        next: last.filter(|_| rows.len() == limit as usize),
    })
}

/// Removes events and subtracts them from their counters. Returns the events that lanes lost.
pub(super) fn remove(tx: &mut Tx<'_>, events: &[EventId]) -> Result<Vec<LostEvents>, StoreError> {
    let sql = format!("DELETE FROM events WHERE id = ?1 RETURNING {RETURNED}");
    let mut removed = Vec::with_capacity(events.len());
    for event in events {
        removed.extend(tx.list::<RemovedEvent>(&sql, values![*event])?);
    }
    settle(tx, &removed)
}

/// Subtracts removed events from their counters. Returns the events that lanes lost.
pub(super) fn settle(
    tx: &mut Tx<'_>,
    removed: &[RemovedEvent],
) -> Result<Vec<LostEvents>, StoreError> {
    if removed.is_empty() {
        return Ok(Vec::new());
    }
    usage::subtract(tx, removed)?;
    list_lost(tx, removed)
}

/// The removed events that lanes had not checked, in the order of the ids of the lanes.
fn list_lost(tx: &mut Tx<'_>, removed: &[RemovedEvent]) -> Result<Vec<LostEvents>, StoreError> {
    let wanted: BTreeSet<_> = removed
        .iter()
        .flat_map(|event| {
            let keys = [owner_key(event.owner_id), GLOBAL.to_owned()];
            keys.map(|key| (key, event.r#type.clone()))
        })
        .collect();
    // Reads only the lanes that may receive these events, so that other lanes cost nothing.
    let query = patterns::select(
        &Vec::from_iter(wanted),
        "id, owner_key, sink_id, method, patterns, refill_from",
        "refilling = 1 AND refill_from IS NOT NULL",
    );
    let held: Vec<HeldLane> = tx.list(&query.sql, &query.values)?;
    Ok(held
        .iter()
        .filter_map(|lane| lane.losses(removed))
        .collect())
}

impl HeldLane {
    fn losses(&self, removed: &[RemovedEvent]) -> Option<LostEvents> {
        let mut lost = removed.iter().filter(|event| self.needs(event));
        let first = lost.next()?;
        let (count, last) = lost.fold((1, first), |(count, _), event| (count + 1, event));
        Some(LostEvents {
            lane: self.lane,
            owner_key: self.owner_key.clone(),
            receiver: self.receiver.clone(),
            events: count,
            first: first.id,
            last: last.id,
        })
    }

    fn needs(&self, event: &RemovedEvent) -> bool {
        event.seq >= self.refill_from
            && (self.owner_key == GLOBAL || self.owner_key == event.owner_id.to_string())
            && self
                .patterns
                .iter()
                .any(|pattern| pattern.matches(&event.r#type))
    }
}

#[cfg(test)]
mod tests;
