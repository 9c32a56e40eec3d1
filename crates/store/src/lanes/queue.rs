//! Adds deliveries to lanes. One update of the lane's row checks its capacity and assigns the
//! number, so that two writers never get the same number.

use svc_core::{EventId, LaneId, Timestamp, lane::QUEUE_CAPACITY, pattern::Pattern};

use super::Receiver;
use crate::{
    deliveries,
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// A lane whose patterns may match an event.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    pub lane: LaneId,
    pub receiver: Receiver,
    pub patterns: Vec<Pattern>,
    /// An inactive lane is a candidate only if `holds` is set.
    pub active: bool,
    /// Whether events wait in the store, and are not dropped, while the lane is full or inactive.
    pub holds: bool,
    pub has_filter: bool,
    /// Whether earlier events still wait for the lane. If so, the lane reads new events from the
    /// store later.
    pub is_behind: bool,
}

row! { Candidate: lane as "id", patterns, active, holds, has_filter, is_behind; receiver }

/// Adds an event to the tail of a lane. Returns the number of the delivery, or `None` if the lane
/// is full (spec 6.5).
pub fn enqueue(
    tx: &mut Tx<'_>,
    lane: LaneId,
    event: (EventId, &str),
    at: Timestamp,
) -> Result<Option<u64>, StoreError> {
    let now = tx.now()?;
    let n = tx.find(
        "UPDATE lanes SET tail = tail + 1, depth = depth + 1,
             next_at = CASE WHEN depth = 0 OR keyed = 1 THEN ?2 ELSE next_at END
         WHERE id = ?1 AND depth < ?3 RETURNING tail",
        values![lane, now, QUEUE_CAPACITY],
    )?;
    if let Some(n) = n {
        tx.hint();
        deliveries::insert(tx, lane, n, event, at)?;
    }
    Ok(n)
}

/// Counts an event that was dropped because the lane is full. Returns whether it is the first
/// dropped event since the queue was last empty.
pub fn count_drop(tx: &mut Tx<'_>, lane: LaneId) -> Result<bool, StoreError> {
    let is_first = tx.changes(
        "UPDATE lanes SET dropped = dropped + 1, dropping = 1 WHERE id = ?1 AND dropping = 0",
        values![lane],
    )?;
    if !is_first {
        tx.send(
            "UPDATE lanes SET dropped = dropped + 1 WHERE id = ?1",
            values![lane],
        )?;
    }
    Ok(is_first)
}
