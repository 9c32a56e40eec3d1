//! A worker: delivers from one lane for as long as it is held and something may be sent.

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

/// How long to wait before writing again what the store could not take.
const STORE_RETRY: Duration = Duration::from_millis(200);

/// How long a worker may stay with one lane while other lanes wait for a slot.
const TURN_MAX: Duration = Duration::from_secs(1);

/// What workers share.
pub(super) struct Shared<D> {
    pub(super) store: Store,
    pub(super) server_id: ServerId,
    pub(super) deliver: Arc<D>,
    pub(super) policy: LanePolicy,
    pub(super) hub: Hub,
    /// Whose lanes get the slots.
    pub(super) schedule: Mutex<Schedule>,
    /// No further deliveries are begun.
    pub(super) shutdown: CancellationToken,
    /// Those in flight are cut off.
    pub(super) cut_off: CancellationToken,
}

/// How sending ended.
enum Sending {
    Done(Sent),
    /// The server stops and will not wait.
    CutOff,
    /// The lane is somebody else's.
    Lost,
}

/// A delivery slot of an owner, until it is dropped.
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
    /// The slot that the schedule has granted.
    pub(super) fn new(shared: Arc<Shared<D>>, kind: DeliveryKind, owner: OwnerKey) -> Self {
        Self {
            shared,
            kind,
            owner,
        }
    }

    /// Delivers what has begun, and whatever the lane holds after it; the lane, which is not held
    /// by this any more.
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

    /// What an attempt means for its delivery (spec 6.5).
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

    /// While other lanes wait for a slot, a lane gives its own back after a while, so that a few
    /// slow receivers hold up no other for long.
    fn must_give_way(&self, began: Instant) -> bool {
        began.elapsed() >= TURN_MAX && self.shared.schedule.lock().has_waiting(self.kind)
    }

    /// Writes how a delivery ended, trying as long as the lease may last; `None` if the lane is
    /// not ours any more. Then the delivery is made again: at least once, never lost.
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
                    tracing::warn!(lane.id = %held.lane, "a lane was lost while delivering; what came of it is not written");
                    return None;
                }
                Err(StoreError::Closed) => return None,
                Err(error) if Instant::now() < deadline => {
                    if !error.is_outage() {
                        tracing::warn!(%error, "the end of a delivery could not be written; it is tried again");
                    }
                    sleep(STORE_RETRY).await;
                }
                Err(error) => {
                    tracing::error!(%error, "the end of a delivery could not be written");
                    return None;
                }
            }
        }
    }
}

impl<D: Deliver> Shared<D> {
    /// Sends, and renews the lease for as long as that takes.
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
                        // The lease still lasts; the next tick tries again.
                        Err(error) => tracing::warn!(%error, "a lease could not be renewed"),
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
                "a delivery is given up"
            );
        }
    }
}
