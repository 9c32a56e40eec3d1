//! Leases of lanes. A server holds a lane until its lease ends. Every claim increments the lane's
//! fence. The holder presents the fence of its claim before it writes.

use serde::{Deserialize, Serialize};
use svc_core::{LaneId, ServerId, Timestamp, UserId};

use super::{DeliveryKind, Receiver};
use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
    value::as_word,
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
    pub health: LaneHealth,
    /// When the next delivery would be due if deliveries came at exactly the sink's rate.
    pub rate_until: Timestamp,
    /// Whether events were dropped since the queue was last empty.
    pub dropping: bool,
    /// Whether stored events wait to be queued.
    pub refilling: bool,
}

row! {
    LeasedLane: owner_id, formatters, active, depth, failures, starts, rate_until, dropping, refilling;
    held, receiver, health
}

/// The recent results of a lane, across deliveries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneHealth {
    /// Failed attempts since the last success.
    pub failed_in_row: u32,
    /// The time of the first of these failed attempts.
    pub failing_since: Option<Timestamp>,
    /// The state that the last `sink.*` event reported.
    pub reported: Option<ReportedState>,
}

row! { LaneHealth: failed_in_row, failing_since, reported }

/// A state of a sink that was reported by an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportedState {
    Failing,
}

as_word!(ReportedState);

/// Renews a lease. `None` if the lane was claimed again, released or removed since.
pub fn hold(
    tx: &mut Tx<'_>,
    held: LaneLease,
    until: Timestamp,
) -> Result<Option<LeasedLane>, StoreError> {
    tx.find(
        "UPDATE lanes SET lease_until = ?3
         WHERE id = ?1 AND fence = ?2 AND lease_owner IS NOT NULL
         RETURNING id, fence, owner_id, sink_id, method, formatters, active, depth, failures,
             starts, failed_in_row, failing_since, reported, rate_until, dropping, refilling",
        values![held.lane, held.fence, until],
    )
}

/// Counts starts of the delivery at the head, before it is sent. With `starts` 0, only writes
/// `rate_until`.
pub fn start(
    tx: &mut Tx<'_>,
    lane: LaneId,
    starts: u32,
    rate_until: Timestamp,
) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET starts = starts + ?2, rate_until = ?3 WHERE id = ?1",
        values![lane, starts, rate_until],
    )
}

/// Subtracts a start that was counted but made no attempt.
pub fn undo_start(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET starts = CASE WHEN starts > 0 THEN starts - 1 ELSE 0 END WHERE id = ?1",
        values![lane],
    )
}

/// Removes the `ended` finished deliveries at the head, and resets the counters for the next
/// delivery.
pub fn advance(tx: &mut Tx<'_>, lane: LaneId, ended: u32) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET depth = depth - ?2, failures = 0, starts = 0 WHERE id = ?1",
        values![lane, ended],
    )
}

/// Forgets the failures of the delivery at the head, so that it gets all its attempts again.
pub fn forget_failures(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET failures = 0, starts = 0 WHERE id = ?1",
        values![lane],
    )
}

/// Records the recent results of a lane.
pub fn set_health(tx: &mut Tx<'_>, lane: LaneId, health: LaneHealth) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET failed_in_row = ?2, failing_since = ?3, reported = ?4 WHERE id = ?1",
        values![
            lane,
            health.failed_in_row,
            health.failing_since,
            health.reported
        ],
    )
}

/// Counts a failed attempt of the delivery at the head. The count of starts becomes at least the
/// count of failures.
pub fn retry(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET failures = failures + 1,
             starts = CASE WHEN starts > failures THEN starts ELSE failures + 1 END WHERE id = ?1",
        values![lane],
    )
}

/// Releases a lane; it is due at `next_at` unless it is empty.
pub fn release(tx: &mut Tx<'_>, lane: LaneId, next_at: Timestamp) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET lease_owner = NULL, lease_until = 0, next_at = ?2 WHERE id = ?1",
        values![lane, next_at],
    )?;
    // Another server may claim the lane now.
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
    /// The server that holds the lane. If there is one, the lane was not changed.
    pub holder: Option<ServerId>,
}

row! { DueLane: kind as "delivery_kind", owner_key, holder }

/// Makes a lane due that was paused when the delivery at its head had failed `failures` times.
/// `None` if the lane was removed or is empty, or if the delivery has failed again since and waits
/// for its retry.
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
