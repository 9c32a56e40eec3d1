//! A worker: delivers from one lane for as long as it is held and something may be sent.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use svc_core::{LaneId, ServerId, lane::AfterFailure};
use tokio::time::{Instant, interval_at, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    Deliver, LanePolicy, Sent,
    turn::{self, Begun, Buried, Ending, Moment, Turn},
};
use crate::{
    events::hub::{EventCounters, Hub},
    store::{Store, StoreError, lanes, lanes::Held},
};

/// How long to wait before writing again what the store could not take.
const STORE_RETRY: Duration = Duration::from_millis(200);

/// How long a worker may stay with one lane while others wait for a worker.
const TURN_MAX: Duration = Duration::from_secs(1);

/// What workers share.
pub(super) struct Shared<D> {
    pub(super) store: Store,
    pub(super) server_id: ServerId,
    pub(super) deliver: Arc<D>,
    pub(super) policy: LanePolicy,
    pub(super) hub: Hub,
    /// Workers at work.
    pub(super) working: AtomicUsize,
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

impl<D: Deliver> Shared<D> {
    /// Delivers what has begun, and whatever the lane holds after it; the lane, which is not held
    /// by this any more.
    pub(super) async fn work(self: Arc<Self>, begun: Begun) -> LaneId {
        let lane = begun.held.lane;
        self.deliver_from(begun).await;
        lane
    }

    async fn deliver_from(&self, begun: Begun) {
        let _working = Working::begin(&self.working);
        let began = Instant::now();
        let mut next = Some(begun);
        while let Some(begun) = next {
            let (held, n, attempt) = (begun.held, begun.job.n, begun.job.attempt);
            let ending = match self.send(begun).await {
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
                    self.tell_buried(&turn.buried);
                    turn.begun
                }
                None => return,
            };
        }
    }

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

    /// What an attempt means for its delivery (spec 6.5).
    fn ending(&self, sent: Sent, attempt: u32) -> Ending {
        let counters = self.hub.counters();
        match sent {
            Sent::Delivered(detail) => {
                EventCounters::add(&counters.delivered, 1);
                Ending::Delivered(detail)
            }
            Sent::Failed(detail) => {
                EventCounters::add(&counters.failed, 1);
                match self.policy.retry.after(attempt) {
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
                Ending::Unattempted {
                    rest: self.policy.pause,
                }
            }
            Sent::Withheld(_) => {
                EventCounters::add(&counters.paused, 1);
                Ending::Unattempted {
                    rest: self.policy.withhold,
                }
            }
        }
    }

    /// With every worker taken, a lane goes to the end of the line after its turn, so that a few
    /// slow receivers hold up nobody for long.
    fn must_give_way(&self, began: Instant) -> bool {
        self.working.load(Ordering::Relaxed) >= self.policy.workers && began.elapsed() >= TURN_MAX
    }

    /// Writes how a delivery ended, trying as long as the lease may last; `None` if the lane is
    /// not ours any more. Then the delivery is made again: at least once, never lost.
    async fn finish(&self, held: Held, n: u64, ending: Ending, began: Instant) -> Option<Turn> {
        let deadline = Instant::now() + self.policy.lease;
        loop {
            let (ending, lease) = (ending.clone(), self.policy.lease);
            let go_on = !self.shutdown.is_cancelled() && !self.must_give_way(began);
            let finished = self.store.write(move |tx| {
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

    pub(super) fn tell_buried(&self, buried: &[Buried]) {
        EventCounters::add(&self.hub.counters().dead, buried.len());
        for delivery in buried {
            let (target_type, target_id) = delivery.receiver.audit_target();
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

/// Counts as at work as long as it lives.
struct Working<'a>(&'a AtomicUsize);

impl<'a> Working<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
