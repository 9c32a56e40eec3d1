//! Leases of lanes. A server holds a lane until it releases the lane, or until the lease ends.
//! Every claim increments the lane's fence. The holder presents the fence of its claim before it
//! writes.

use serde::{Deserialize, Serialize};
use svc_core::{LaneId, QuotaOverrides, ServerId, Timestamp, UserId};

use super::{DeliveryKind, Receiver};
use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
    value::as_word,
};

/// The claim of a lane, with its fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaneLease {
    pub lane: LaneId,
    pub fence: i64,
}

row! { LaneLease: lane as "id", fence }

/// A lane that a server holds.
#[derive(Clone, PartialEq, Debug)]
pub struct LeasedLane {
    pub held: LaneLease,
    /// The owner's id, or `global`.
    pub owner_key: String,
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
    pub lease_until: Timestamp,
    /// The owner's stored bytes (`event_usage`), and the quotas that an administrator set.
    pub stored_bytes: u64,
    pub owner_quotas: QuotaOverrides,
}

row! {
    LeasedLane: owner_key, owner_id, formatters, active, depth, failures, starts, rate_until, dropping, refilling,
        lease_until, stored_bytes, owner_quotas;
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

/// Releases every lane of a server. A server that starts releases the lanes that it held when it
/// was killed.
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

/// Makes a lane due that waits because its receiver was not available; this is not the pause of a
/// sink. `failures` is the number of failed attempts of the delivery at its head when this wait
/// began. `None` if the lane was removed or is empty, or if the delivery has
/// failed again since and waits for its retry.
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
