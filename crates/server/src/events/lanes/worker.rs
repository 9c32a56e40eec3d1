//! A worker delivers from one claimed lane until the lane is empty, must wait, gives way to other
//! lanes, or is lost. It must never record a result without the fence of its claim.

use std::{pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{LaneId, ServerId, lane::AfterFailure};
use svc_store::{
    Store, StoreError,
    lanes::{self, DeliveryKind, Held},
};
use tokio::time::{Instant, interval_at, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    Deliver, LanePolicy, Sent,
    schedule::{OwnerKey, Schedule},
    turn::{self, Begun, Buried, Ending, Moment, Turn},
};
use crate::{
    events::{audit::target_of, hub::Hub},
    metrics::EventCounters,
};

/// Time between two attempts to record the end of a delivery, if the store fails.
const STORE_RETRY: Duration = Duration::from_millis(200);

/// How long a worker may stay with one lane while other lanes wait for a slot.
const TURN_MAX: Duration = Duration::from_secs(1);

/// State of the engine that all workers use.
pub(super) struct Shared<D> {
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
enum Sending {
    Done(Sent),
    /// The server stops and does not wait any longer.
    CutOff,
    /// Another server holds the lane, or the lane was removed.
    Lost,
}

/// A delivery slot of an owner. Dropping the value releases the slot.
pub(super) struct Slot<D: Deliver> {
    shared: Arc<Shared<D>>,
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
    pub(super) fn new(shared: Arc<Shared<D>>, kind: DeliveryKind, owner: OwnerKey) -> Self {
        Self {
            shared,
            kind,
            owner,
        }
    }

    /// Makes the delivery that was begun and those queued behind it. Returns the id of the lane,
    /// which this worker no longer holds.
    pub(super) async fn work(self, begun: Begun) -> LaneId {
        let lane = begun.held.lane;
        self.deliver_from(begun).await;
        lane
    }

    async fn deliver_from(&self, begun: Begun) {
        let began = Instant::now();
        let mut next = Some(begun);
        while let Some(begun) = next {
            let (held, n, attempt) = (begun.held, begun.job.n, begun.job.attempt);
            let ending = match self.shared.send(begun).await {
                Sending::Done(sent) => self.ending(sent, attempt),
                Sending::CutOff => Ending::Unattempted {
                    rest: Duration::ZERO,
                },
                Sending::Lost => {
                    tracing::warn!(lane.id = %held.lane, "a lane was lost while delivering");
                    return;
                }
            };
            next = match self.finish(held, n, ending, began).await {
                Some(turn) => {
                    self.shared.tell_buried(&turn.buried);
                    turn.begun
                }
                None => return,
            };
        }
    }

    /// Decides from an attempt's result how the delivery ends (spec 6.5).
    fn ending(&self, sent: Sent, attempt: u32) -> Ending {
        let shared = &self.shared;
        let counters = shared.hub.counters();
        match sent {
            Sent::Delivered(detail) => {
                EventCounters::add(&counters.delivered, 1);
                Ending::Delivered(detail)
            }
            Sent::Failed(detail) => {
                EventCounters::add(&counters.failed, 1);
                match shared.policy.retry.after(attempt) {
                    AfterFailure::RetryIn(wait) => Ending::RetryIn(wait, detail),
                    AfterFailure::Dead => Ending::Dead(detail),
                }
            }
            Sent::Dead(detail) => {
                EventCounters::add(&counters.failed, 1);
                Ending::Dead(detail)
            }
            Sent::Paused => {
                EventCounters::add(&counters.paused, 1);
                let mut schedule = shared.schedule.lock();
                Ending::Unattempted {
                    rest: schedule.rest(&self.owner, shared.policy.pause, Instant::now()),
                }
            }
            Sent::Withheld(_) => {
                EventCounters::add(&counters.paused, 1);
                Ending::Unattempted {
                    rest: shared.policy.withhold,
                }
            }
        }
    }

    /// Whether this lane must release its slot: other lanes wait for one, and this lane has had its
    /// slot for [`TURN_MAX`]. Otherwise a few slow receivers could delay all others.
    fn must_give_way(&self, began: Instant) -> bool {
        began.elapsed() >= TURN_MAX && self.shared.schedule.lock().has_waiting(self.kind)
    }

    /// Records how a delivery ended, and retries for the duration of a lease. Returns `None` if the
    /// lane is no longer held or the store keeps failing. The delivery is then repeated: events are
    /// delivered at least once.
    async fn finish(&self, held: Held, n: u64, ending: Ending, began: Instant) -> Option<Turn> {
        let shared = &self.shared;
        let deadline = Instant::now() + shared.policy.lease;
        loop {
            let (ending, lease) = (ending.clone(), shared.policy.lease);
            let go_on = !shared.shutdown.is_cancelled() && !self.must_give_way(began);
            let finished = shared.store.write(move |tx| {
                let moment = Moment::of(tx, lease)?;
                turn::finish(tx, (held, n), &ending, moment, go_on)
            });
            match finished.await {
                Ok(Some(turn)) => return Some(turn),
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

impl<D: Deliver> Shared<D> {
    /// Makes the attempt, and renews the lease meanwhile.
    async fn send(&self, begun: Begun) -> Sending {
        let Begun { held, job } = begun;
        let mut sending = pin!(self.deliver.deliver(job));
        let period = self.policy.lease / 3;
        let mut renew = interval_at(Instant::now() + period, period);
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => return Sending::Done(sent),
                () = self.cut_off.cancelled() => return Sending::CutOff,
                _ = renew.tick() => {
                    let lease = self.policy.lease;
                    let renewed = self.store.write(move |tx| {
                        let until = Moment::of(tx, lease)?.lease_until;
                        lanes::hold(tx, held, until)
                    });
                    match renewed.await {
                        Ok(Some(_)) => {}
                        Ok(None) => return Sending::Lost,
                        // The lease is still valid; the next tick tries again.
                        Err(error) => tracing::warn!(%error, "cannot renew the lease of a lane; retrying"),
                    }
                }
            }
        }
    }

    pub(super) fn tell_buried(&self, buried: &[Buried]) {
        EventCounters::add(&self.hub.counters().dead, buried.len());
        for delivery in buried {
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
