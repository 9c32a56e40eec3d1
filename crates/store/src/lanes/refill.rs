//! Refilling: if an event is not queued in a lane at once, the lane checks the stored events later,
//! from this event on and in the order of their numbers. Until the lane has checked all of them, no
//! new event is queued directly, so that no event overtakes another.
//!
//! A lane may also have feeds: requests to send past events again.

use svc_core::{
    EventId, LaneId, Timestamp, UserId,
    lane::{QUEUE_CAPACITY, REFILL_DEPTH},
    pattern::Pattern,
};

use super::Receiver;
use crate::{
    deliveries,
    error::StoreError,
    events,
    record::row,
    sql::{Tx, values},
};

/// The fields of a lane that its refill needs.
#[derive(Clone, PartialEq, Debug)]
pub struct RefillLane {
    pub id: LaneId,
    /// The owner's id, or `global`.
    pub owner_key: String,
    pub owner_id: UserId,
    pub receiver: Receiver,
    pub patterns: Vec<Pattern>,
    pub filter: Option<String>,
    pub active: bool,
    pub holds: bool,
    pub depth: u32,
    /// The number of the first event that the lane has not checked.
    pub refill_from: Option<u64>,
    pub feeds: u32,
}

row! {
    RefillLane: id, owner_key, owner_id, patterns, filter, active, holds, depth, refill_from, feeds;
    receiver
}

impl RefillLane {
    pub fn matches(&self, event_type: &str) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| pattern.matches(event_type))
    }
}

const COLUMNS: &str = "id, owner_key, owner_id, sink_id, method, patterns, filter, active, holds,
    depth, refill_from, feeds";

/// The condition for lanes that can check stored events or continue a feed now. An active lane can
/// check stored events while at least half of its queue is empty, and continue a feed while more
/// than half is empty. A lane that drops events instead of holding them can always check stored
/// events, even while it is inactive: otherwise it would later check events that were emitted while
/// it was inactive.
fn ready() -> String {
    format!(
        "refilling = 1 AND (refill_from IS NOT NULL AND (holds = 0 OR active = 1 AND depth <= {REFILL_DEPTH})
             OR feeds > 0 AND active = 1 AND depth < {REFILL_DEPTH})"
    )
}

/// Every owner with a lane that fulfils the condition `ready`. Costs a look-up for each owner with
/// lanes that are behind or have feeds, and reads the owner's lanes up to the first ready lane.
pub fn list_ready_owners(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    let ready = ready();
    tx.list(
        &format!(
            "WITH RECURSIVE owners (owner_key) AS (
                 SELECT MIN(owner_key) FROM lanes WHERE refilling = 1
                 UNION ALL
                 SELECT (SELECT MIN(owner_key) FROM lanes
                         WHERE refilling = 1 AND lanes.owner_key > owners.owner_key)
                 FROM owners WHERE owners.owner_key IS NOT NULL)
             SELECT owner_key FROM owners WHERE owner_key IS NOT NULL AND EXISTS (
                 SELECT 1 FROM lanes WHERE lanes.owner_key = owners.owner_key AND {ready})"
        ),
        &[],
    )
}

/// The owner's first lane with an id after `after` that fulfils the condition `ready`.
pub fn find_ready(
    tx: &mut Tx<'_>,
    owner_key: &str,
    after: LaneId,
) -> Result<Option<RefillLane>, StoreError> {
    tx.find(
        &format!(
            "SELECT {COLUMNS} FROM lanes WHERE owner_key = ?1 AND id > ?2 AND {}
             ORDER BY id LIMIT 1",
            ready()
        ),
        values![owner_key, after],
    )
}

/// `None` if the lane was removed.
pub fn find_refill(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<RefillLane>, StoreError> {
    tx.find(
        &format!("SELECT {COLUMNS} FROM lanes WHERE id = ?1 AND removed_from IS NULL"),
        values![lane],
    )
}

/// Records that a lane has checked every event before `next`. If these are all stored events, the
/// lane is up to date.
pub fn move_refill(tx: &mut Tx<'_>, lane: LaneId, next: u64) -> Result<(), StoreError> {
    let newest = events::NEWEST;
    tx.send(
        &format!(
            "UPDATE lanes SET refill_from = CASE WHEN ?2 > {newest} THEN NULL ELSE ?2 END,
                 refilling = CASE WHEN ?2 > {newest} AND feeds = 0 THEN 0 ELSE 1 END
             WHERE id = ?1"
        ),
        values![lane, next],
    )
}

/// Adds events to the tail of a lane. Returns the number of the first delivery. Returns `None` if
/// there are no events, or if the lane has no room for all of them: then none is added.
pub fn append(
    tx: &mut Tx<'_>,
    lane: LaneId,
    events: &[(EventId, &str)],
    at: Timestamp,
) -> Result<Option<u64>, StoreError> {
    if events.is_empty() {
        return Ok(None);
    }
    let (now, count) = (tx.now()?, events.len() as u64);
    let tail: Option<u64> = tx.find(
        "UPDATE lanes SET tail = tail + ?2, depth = depth + ?2,
             next_at = CASE WHEN depth = 0 OR keyed = 1 THEN ?3 ELSE next_at END
         WHERE id = ?1 AND depth + ?2 <= ?4 RETURNING tail",
        values![lane, count, now, QUEUE_CAPACITY],
    )?;
    let Some(tail) = tail else {
        return Ok(None);
    };
    tx.hint();
    let first = tail + 1 - count;
    for (n, event) in (first..).zip(events) {
        deliveries::insert(tx, lane, n, *event, at)?;
    }
    Ok(Some(first))
}

/// Counts events for which the filter failed, and keeps the newest error.
pub fn count_filter_errors(
    tx: &mut Tx<'_>,
    lane: LaneId,
    errors: u64,
    newest: &str,
) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET filter_errors = filter_errors + ?2, filter_error = ?3 WHERE id = ?1",
        values![lane, errors, newest],
    )
}

#[cfg(test)]
mod tests;
