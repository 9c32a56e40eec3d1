//! A worker delivers from one claimed lane until the lane is empty, must wait, gives way to other
//! lanes, or is lost. It must never record a result without the fence of its claim.

use std::{pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{LaneId, ServerId, lane::AfterFailure};
use svc_store::{
    Store, StoreError,
    lanes::{self, DeliveryKind, LaneLease},
};
use tokio::time::{Instant, interval_at, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    AttemptResult, Deliver, LanePolicy,
    schedule::{OwnerKey, Schedule},
    turn::{self, DeadDelivery, DeliveryEnd, LaneProgress, StartedDelivery, TransactionTime},
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
    /// Cancelled: no further deliveries begin.
    pub(super) shutdown: CancellationToken,
    /// Cancelled: deliveries in flight are cut off.
    pub(super) cut_off: CancellationToken,
}

/// How an attempt ended.
enum AttemptEnd {
    Done(AttemptResult),
    /// The server stops and does not wait any longer.
    CutOff,
    /// Another server holds the lane, or the lane was removed.
    Lost,
}

/// A delivery slot of an owner. Dropping the value releases the slot.
pub(super) struct Slot<D: Deliver> {
    shared: Arc<EngineState<D>>,
    kind: DeliveryKind,
    owner: OwnerKey,
}

impl<D: Deliver> Drop for Slot<D> {
    fn drop(&mut self) {
        let mut schedule = self.shared.schedule.lock();
        schedule.end(self.kind, &self.owner, Instant::now());
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

    /// Makes the delivery that was begun and those queued behind it. Returns the id of the lane,
    /// which this worker no longer holds.
    pub(super) async fn run(self, started: StartedDelivery) -> LaneId {
        let lane = started.held.lane;
        self.deliver_from(started).await;
        lane
    }

    async fn deliver_from(&self, started: StartedDelivery) {
        let began = Instant::now();
        let mut next = Some(started);
        while let Some(started) = next {
            let (held, n, attempt) = (started.held, started.job.n, started.job.attempt);
            let ending = match self.shared.send(started).await {
                AttemptEnd::Done(result) => self.decide_end(result, attempt),
                AttemptEnd::CutOff => DeliveryEnd::Unattempted {
                    wait: Duration::ZERO,
                },
                AttemptEnd::Lost => {
                    tracing::warn!(lane.id = %held.lane, "a lane was lost while delivering");
                    return;
                }
            };
            next = match self.finish(held, n, ending, began).await {
                Some(progress) => {
                    self.shared.report_dead(&progress.dead);
                    if progress.can_refill {
                        self.shared.hub.wake_refill();
                    }
                    progress.started
                }
                None => return,
            };
        }
    }

    /// Decides from an attempt's result how the delivery ends (spec 6.5).
    fn decide_end(&self, result: AttemptResult, attempt: u32) -> DeliveryEnd {
        let shared = &self.shared;
        match result {
            AttemptResult::Delivered(detail) => DeliveryEnd::Delivered(detail),
            AttemptResult::Failed(detail) => match shared.policy.retry.after(attempt) {
                AfterFailure::RetryIn(wait) => DeliveryEnd::RetryIn(wait, detail),
                AfterFailure::Dead => DeliveryEnd::Dead(detail),
            },
            AttemptResult::Dead(detail) => DeliveryEnd::Dead(detail),
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
    fn must_release_slot(&self, began: Instant) -> bool {
        began.elapsed() >= SLOT_TIME_MAX && self.shared.schedule.lock().has_waiting(self.kind)
    }

    /// Records how a delivery ended, and retries for the duration of a lease. Returns `None` if the
    /// lane is no longer held or the store keeps failing. The delivery is then repeated: events are
    /// delivered at least once.
    async fn finish(
        &self,
        held: LaneLease,
        n: u64,
        ending: DeliveryEnd,
        began: Instant,
    ) -> Option<LaneProgress> {
        let shared = &self.shared;
        let deadline = Instant::now() + shared.policy.lease;
        loop {
            let (ending, lease) = (ending.clone(), shared.policy.lease);
            let begin_next = !shared.shutdown.is_cancelled() && !self.must_release_slot(began);
            let finished = shared.store.write(move |tx| {
                let time = TransactionTime::of(tx, lease)?;
                turn::finish(tx, (held, n), &ending, time, begin_next)
            });
            match finished.await {
                Ok(Some(progress)) => return Some(progress),
                Ok(None) => {
                    tracing::warn!(lane.id = %held.lane, "a lane was lost while delivering; the result is discarded");
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
}

impl<D: Deliver> EngineState<D> {
    /// Makes the attempt, and renews the lease meanwhile.
    async fn send(&self, started: StartedDelivery) -> AttemptEnd {
        let StartedDelivery { held, job } = started;
        let mut attempt = pin!(self.deliver.deliver(job));
        let period = self.policy.lease / 3;
        let mut renew = interval_at(Instant::now() + period, period);
        loop {
            tokio::select! {
                biased;
                result = &mut attempt => return AttemptEnd::Done(result),
                () = self.cut_off.cancelled() => return AttemptEnd::CutOff,
                _ = renew.tick() => {
                    let lease = self.policy.lease;
                    let renewed = self.store.write(move |tx| {
                        let until = TransactionTime::of(tx, lease)?.lease_until;
                        lanes::hold(tx, held, until)
                    });
                    match renewed.await {
                        Ok(Some(_)) => {}
                        Ok(None) => return AttemptEnd::Lost,
                        // The lease is still valid; the next tick tries again.
                        Err(error) => tracing::warn!(%error, "cannot renew the lease of a lane; retrying"),
                    }
                }
            }
        }
    }

    pub(super) fn report_dead(&self, dead: &[DeadDelivery]) {
        EventCounters::add(&self.hub.counters().dead, dead.len());
        for delivery in dead {
            let (target_type, target_id) = target_of(&delivery.receiver);
            tracing::warn!(
                event.id = %delivery.event_id,
                event_type = %delivery.event_type,
                receiver.kind = target_type,
                receiver.id = %target_id,
                error = %delivery.error,
                "a delivery was given up"
            );
        }
    }
}
