//! Leases of lanes. A server holds a lane until its lease ends. Every claim increments the lane's
//! fence. The holder presents the fence of its claim before it writes.

use svc_core::{LaneId, ServerId, Timestamp, UserId};

use super::{DeliveryKind, Receiver};
use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// The claim of a lane, with its fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneLease {
    pub lane: LaneId,
    pub fence: i64,
}

row! { LaneLease: lane as "id", fence }

/// A lane whose lease was just renewed.
#[derive(Clone, PartialEq, Debug)]
pub struct LeasedLane {
    pub held: LaneLease,
    pub owner_id: UserId,
    pub receiver: Receiver,
    pub formatters: Vec<String>,
    pub active: bool,
    pub depth: u32,
    /// Failed attempts of the delivery at the head.
    pub failures: u32,
    /// Starts of the delivery at the head, including those that ended in a crash.
    pub starts: u32,
    /// Whether stored events wait to be queued.
    pub refilling: bool,
}

row! {
    LeasedLane: owner_id, formatters, active, depth, failures, starts, refilling; held, receiver
}

/// Renews a lease. `None` if another server holds the lane, or if the lane was removed.
pub fn hold(
    tx: &mut Tx<'_>,
    held: LaneLease,
    until: Timestamp,
) -> Result<Option<LeasedLane>, StoreError> {
    tx.find(
        "UPDATE lanes SET lease_until = ?3
         WHERE id = ?1 AND fence = ?2 AND lease_owner IS NOT NULL
         RETURNING id, fence, owner_id, sink_id, method, formatters, active, depth, failures,
             starts, refilling",
        values![held.lane, held.fence, until],
    )
}

/// Counts a start of the delivery at the head, before it is sent.
pub fn start(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET starts = starts + 1 WHERE id = ?1",
        values![lane],
    )
}

/// Undoes the count of a start that made no attempt.
pub fn undo_start(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET starts = CASE WHEN starts > 0 THEN starts - 1 ELSE 0 END WHERE id = ?1",
        values![lane],
    )
}

/// Removes the delivery at the head, which has ended, and resets the counters for the next one.
pub fn advance(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET depth = depth - 1, failures = 0, starts = 0 WHERE id = ?1",
        values![lane],
    )
}

/// Counts a failed attempt of the delivery at the head.
pub fn retry(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET failures = failures + 1 WHERE id = ?1",
        values![lane],
    )
}

/// Releases a lane; it is due at `next_at` unless it is empty.
pub fn release(tx: &mut Tx<'_>, lane: LaneId, next_at: Timestamp) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET lease_owner = NULL, lease_until = 0, next_at = ?2 WHERE id = ?1",
        values![lane, next_at],
    )?;
    // Another server may continue.
    tx.hint();
    Ok(())
}

/// Releases every lane of a server. A server that starts releases the lanes that it held when it was
/// killed.
pub fn release_all(tx: &mut Tx<'_>, server: ServerId) -> Result<usize, StoreError> {
    tx.count_changes(
        "UPDATE lanes SET lease_owner = NULL, lease_until = 0 WHERE lease_owner = ?1",
        values![server],
    )
}

/// A lane that [`make_due`] found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueLane {
    pub kind: DeliveryKind,
    pub owner_key: String,
    /// The server that holds the lane; then nothing was changed.
    pub holder: Option<ServerId>,
}

row! { DueLane: kind as "delivery_kind", owner_key, holder }

/// Makes a lane due that was paused when the delivery at its head had failed `failures` times.
/// `None` if the lane was removed, is empty, or waits for a retry: then the delivery has failed
/// again since.
pub fn make_due(
    tx: &mut Tx<'_>,
    lane: LaneId,
    failures: u32,
    now: Timestamp,
) -> Result<Option<DueLane>, StoreError> {
    tx.find(
        "UPDATE lanes SET next_at = CASE
             WHEN lease_until <= ?2 AND next_at > ?2 THEN ?2 ELSE next_at END
         WHERE id = ?1 AND depth > 0 AND failures = ?3
         RETURNING delivery_kind, owner_key,
             CASE WHEN lease_until > ?2 THEN lease_owner END AS holder",
        values![lane, now, failures],
    )
}

/// Sets the depth to the number of waiting deliveries, in case the two differ.
pub fn recount(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET depth = (SELECT COUNT(*) FROM deliveries d
             WHERE d.lane_id = lanes.id AND d.state = 'pending') WHERE id = ?1",
        values![lane],
    )
}
