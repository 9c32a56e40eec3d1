//! A worker delivers from one claimed lane until the lane is empty, must wait, must release its
//! slot or is lost, or until the server stops. It must never record a result without the fence of
//! its claim.
//!
//! The delivery engine does not wait for the disk between two deliveries of a webhook: after a
//! success the next delivery is sent while the result is being recorded. Results that arrive
//! meanwhile are recorded together in the next commit. These rules limit what a crash may repeat:
//! - At most a window of deliveries is sent without a recorded result ([`super::window_of`]).
//! - If a delivery was not successful, its result is recorded before the next delivery is sent. In
//!   a lane that is ordered by a key, this holds for the deliveries with the same key.
//! - After a crash, deliveries are sent and recorded one by one until a whole window of them has
//!   succeeded: one of the repeated deliveries may be the cause of the crash.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{
    LaneId, ServerId,
    delivery_policy::{AfterFailure, FailedAttempt},
    text::{LOGGED_BYTES_MAX, shorten},
};
use svc_store::{
    Store, StoreError,
    lanes::{DeliveryKind, LaneLease},
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    AttemptResult, Deliver, LanePolicy,
    run::{LaneRun, SentJob},
    schedule::{OwnerKey, Schedule},
    turn::{DeadDelivery, DeliveryEnd, EndedDelivery, LaneProgress, PauseReason, RunState},
    write::{RecordCommand, RenewCommand},
};
use crate::{
    events::{audit::target_of, hub::Hub},
    metrics::EventCounters,
};

/// Time between two attempts to record the end of a delivery, if the store fails.
const STORE_RETRY: Duration = Duration::from_millis(200);

/// How long a worker may stay with one lane while other lanes wait for a slot.
const SLOT_TIME_MAX: Duration = Duration::from_secs(1);

/// State of the engine that all workers use.
pub(super) struct EngineState<D> {
    pub(super) store: Store,
    pub(super) server_id: ServerId,
    pub(super) deliver: Arc<D>,
    pub(super) policy: LanePolicy,
    pub(super) hub: Hub,
    pub(super) schedule: Mutex<Schedule>,
    /// When cancelled, no further deliveries begin.
    pub(super) shutdown: CancellationToken,
    /// When cancelled, deliveries in flight are cut off.
    pub(super) cut_off: CancellationToken,
}

/// A delivery slot of an owner. Dropping the value releases the slot.
pub(super) struct Slot<D: Deliver> {
    pub(super) shared: Arc<EngineState<D>>,
    kind: DeliveryKind,
    owner: OwnerKey,
}

impl<D: Deliver> Drop for Slot<D> {
    fn drop(&mut self) {
        let mut schedule = self.shared.schedule.lock();
        schedule.end(self.kind, &self.owner, Instant::now());
    }
}

/// A slot for one delivery beside others of the same lane. Dropping the value releases the slot.
pub(super) struct ExtraSlot<D: Deliver> {
    shared: Arc<EngineState<D>>,
    kind: DeliveryKind,
    owner: OwnerKey,
}

impl<D: Deliver> Drop for ExtraSlot<D> {
    fn drop(&mut self) {
        let mut schedule = self.shared.schedule.lock();
        schedule.release_extra(self.kind, &self.owner);
        // The end of a worker wakes the engine, but the release of an extra slot does not.
        if schedule.has_waiting(self.kind) {
            self.shared.hub.wake_engine();
        }
    }
}

impl<D: Deliver> Slot<D> {
    /// Takes a slot that the schedule has granted.
    pub(super) fn new(shared: Arc<EngineState<D>>, kind: DeliveryKind, owner: OwnerKey) -> Self {
        Self {
            shared,
            kind,
            owner,
        }
    }

    /// Makes the deliveries that were read and those queued behind them. Returns the id of the lane
    /// when the worker has released or lost the lane.
    pub(super) async fn run(self, claimed: LaneProgress) -> LaneId {
        let held = claimed.held;
        LaneRun::new(&self, held).run(claimed).await;
        held.lane
    }

    /// A further slot for a delivery beside others of the same lane; `None` if other lanes wait, or
    /// if the owner already uses its share.
    pub(super) fn take_extra(&self) -> Option<ExtraSlot<D>> {
        let mut schedule = self.shared.schedule.lock();
        let is_taken = schedule.take_extra(self.kind, &self.owner);
        is_taken.then(|| ExtraSlot {
            shared: Arc::clone(&self.shared),
            kind: self.kind,
            owner: self.owner.clone(),
        })
    }

    /// Decides from an attempt's result how the delivery ends (spec 6.5).
    pub(super) fn decide_end(&self, result: AttemptResult, sent: &SentJob) -> DeliveryEnd {
        let shared = &self.shared;
        match result {
            AttemptResult::Delivered(detail) => DeliveryEnd::Delivered(detail),
            AttemptResult::Failed(detail) => {
                let failed = FailedAttempt {
                    failures: sent.attempt,
                    status: detail.status,
                    retry_after: detail.retry_after,
                };
                let policy = sent.sink.as_ref().map(|sink| sink.policy.clone());
                let policy = policy.unwrap_or_default();
                match policy.after_failure(failed, shared.policy.retry, random()) {
                    AfterFailure::RetryIn(wait) => DeliveryEnd::RetryIn(wait, detail),
                    AfterFailure::Dead => DeliveryEnd::Dead(detail),
                    AfterFailure::Pause(reason) => {
                        DeliveryEnd::Pause(PauseReason::Failures(reason), detail)
                    }
                }
            }
            AttemptResult::Dead(detail) => DeliveryEnd::Dead(detail),
            AttemptResult::Unreadable(detail) => {
                let error = detail.error.as_deref().unwrap_or_default();
                let reason = PauseReason::Unreadable(error.to_owned());
                DeliveryEnd::Pause(reason, detail)
            }
            AttemptResult::Paused => {
                let mut schedule = shared.schedule.lock();
                DeliveryEnd::Unattempted {
                    wait: schedule.pause_time(&self.owner, shared.policy.pause, Instant::now()),
                }
            }
            AttemptResult::Withheld(_) => DeliveryEnd::Unattempted {
                wait: shared.policy.withhold,
            },
        }
    }

    /// Whether this lane must release its slot: other lanes wait for one, and this lane has had its
    /// slot for [`SLOT_TIME_MAX`]. Otherwise a few slow receivers could delay all others.
    pub(super) fn must_release_slot(&self, began: Instant) -> bool {
        began.elapsed() >= SLOT_TIME_MAX && self.shared.schedule.lock().has_waiting(self.kind)
    }
}

/// A random number between 0 and 1.
fn random() -> f64 {
    svc_crypto::random::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

impl<D: Deliver> EngineState<D> {
    /// Records results, and retries for the duration of a lease. Returns `None` if the lane is no
    /// longer held or the store keeps failing. The deliveries are then repeated: events are
    /// delivered at least once.
    pub(super) async fn record(
        self: Arc<Self>,
        state: RunState,
        ended: Vec<EndedDelivery>,
    ) -> Option<LaneProgress> {
        let deadline = Instant::now() + self.policy.lease;
        let (lane, results) = (state.held.lane, Arc::new((state, ended)));
        loop {
            let recorded = self.store.write_grouped(RecordCommand {
                results: Arc::clone(&results),
                lease: self.policy.lease,
            });
            match recorded.await {
                Ok(Some(progress)) => return Some(progress),
                Ok(None) => {
                    tracing::warn!(lane.id = %lane, "a lane was lost while delivering; its results are discarded");
                    return None;
                }
                Err(StoreError::Closed) => return None,
                Err(error) if Instant::now() < deadline => {
                    if !error.is_outage() {
                        tracing::warn!(%error, "cannot record the end of a delivery; retrying");
                    }
                    sleep(STORE_RETRY).await;
                }
                Err(error) => {
                    tracing::error!(%error, "cannot record the end of a delivery; the delivery will be repeated");
                    return None;
                }
            }
        }
    }

    /// Renews the lease of a lane. False if another server holds the lane, or the lane was removed.
    pub(super) async fn renew(&self, held: LaneLease) -> bool {
        let renewed = self.store.write_grouped(RenewCommand {
            held,
            lease: self.policy.lease,
        });
        match renewed.await {
            Ok(is_held) => is_held,
            Err(error) => {
                // The lease may still be valid; the next renewal tries again.
                tracing::warn!(%error, "cannot renew the lease of a lane; retrying");
                true
            }
        }
    }

    /// Reports what a transaction did, after its commit.
    pub(super) fn report(&self, progress: &LaneProgress) {
        self.hub.committed(&progress.raised);
        self.report_dead(&progress.dead);
        if progress.can_refill {
            self.hub.wake_refill();
        }
    }

    fn report_dead(&self, dead: &[DeadDelivery]) {
        EventCounters::add(&self.hub.counters().dead, dead.len());
        for delivery in dead {
            let (target_type, target_id) = target_of(&delivery.receiver);
            tracing::warn!(
                owner.id = %delivery.owner_key,
                event.id = %delivery.event_id,
                event_type = %delivery.event_type,
                receiver.kind = target_type,
                receiver.id = %target_id,
                error = %shorten(&delivery.error, LOGGED_BYTES_MAX),
                "a delivery was given up"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_differ_and_are_between_0_and_1() {
        let (first, second) = (random(), random());
        assert!((0.0..=1.0).contains(&first) && (0.0..=1.0).contains(&second));
        assert_ne!(first.to_bits(), second.to_bits());
    }
}
