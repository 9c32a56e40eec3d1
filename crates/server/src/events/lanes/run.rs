//! [`LaneRun`]: the deliveries that a worker makes from one lane, between the claim and the release
//! of the lane. The module `worker` describes the rules.

use std::{mem, sync::Arc, time::Duration};

use futures_util::{
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use svc_core::{EventId, Timestamp};
use svc_store::{lanes::LaneLease, sinks::SinkRow};
use tokio::time::{Instant, interval_at, sleep};

use super::{
    AttemptDetail, AttemptResult, Deliver, Destination, Job, in_flight_max,
    ready::ReadyJobs,
    turn::{DeliveryEnd, EndedDelivery, LaneNext, LaneProgress, RunState},
    window_of,
    worker::{ExtraSlot, Slot},
};

/// How often a worker looks for new deliveries and free slots while deliveries are in flight and none
/// ends. Used only for lanes that may have several deliveries in flight.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// A delivery that was sent.
pub(super) struct SentJob {
    n: u64,
    pub(super) attempt: u32,
    event_id: EventId,
    event_type: String,
    /// `None` for a method.
    pub(super) sink: Option<Arc<SinkRow>>,
}

impl SentJob {
    fn new(job: &Job) -> Self {
        Self {
            n: job.n,
            attempt: job.attempt,
            event_id: job.event.id,
            event_type: job.event.r#type.clone(),
            sink: sink_of(job).cloned(),
        }
    }

    fn end(self, end: DeliveryEnd) -> EndedDelivery {
        EndedDelivery {
            n: self.n,
            attempt: self.attempt,
            event_id: self.event_id,
            event_type: self.event_type,
            end,
        }
    }
}

fn sink_of(job: &Job) -> Option<&Arc<SinkRow>> {
    match &job.destination {
        Destination::Sink(sink) => Some(sink),
        Destination::Method { .. } => None,
    }
}

/// Results that are being recorded.
struct Recording {
    began: Instant,
    /// The hub's count of changed sinks when the recording began.
    changes: u64,
    /// The numbers of the deliveries.
    ended: Vec<u64>,
    /// How many of these deliveries succeeded.
    delivered: usize,
    outcome: BoxFuture<'static, Option<LaneProgress>>,
}

pub(super) struct LaneRun<'a, D: Deliver> {
    slot: &'a Slot<D>,
    held: LaneLease,
    began: Instant,
    ready: ReadyJobs,
    last_read: u64,
    last_sent: u64,
    /// The time of the last transaction.
    now: Timestamp,
    sending: FuturesUnordered<BoxFuture<'static, (SentJob, AttemptResult)>>,
    in_flight: Vec<u64>,
    ended: Vec<EndedDelivery>,
    recording: Option<Recording>,
    /// Number of deliveries that were sent and whose results are not recorded yet.
    unrecorded: usize,
    /// After a crash: how many deliveries must still be sent and recorded one by one.
    one_by_one: usize,
    /// If set, no further delivery is sent.
    is_draining: bool,
    /// The hub's count of changed sinks when `ready` was read.
    changes: u64,
    must_read_again: bool,
    /// Why the keys of the deliveries cannot be computed.
    unreadable: Option<String>,
    /// How many deliveries may be in flight at the same time.
    in_flight_max: usize,
    /// The maximum number of deliveries that are read ahead together with the lane. 0 in a lane
    /// that is ordered by a key: there, a further query reads them.
    window: usize,
}

impl<'a, D: Deliver> LaneRun<'a, D> {
    pub(super) fn new(slot: &'a Slot<D>, held: LaneLease) -> Self {
        Self {
            changes: slot.shared.hub.sink_changes(),
            slot,
            held,
            began: Instant::now(),
            ready: ReadyJobs::default(),
            last_read: 0,
            last_sent: 0,
            now: Timestamp::default(),
            sending: FuturesUnordered::new(),
            in_flight: Vec::new(),
            ended: Vec::new(),
            recording: None,
            unrecorded: 0,
            one_by_one: 0,
            is_draining: false,
            must_read_again: false,
            unreadable: None,
            in_flight_max: 1,
            window: 1,
        }
    }

    /// Delivers until the lane is released or lost. `claimed` has the first deliveries.
    pub(super) async fn run(mut self, claimed: LaneProgress) {
        let shared = Arc::clone(&self.slot.shared);
        let period = shared.policy.lease / 3;
        let mut renew = interval_at(Instant::now() + period, period);
        if claimed.is_after_crash {
            self.one_by_one = match &claimed.next {
                LaneNext::Jobs { jobs, .. } => jobs.first().map_or(1, window_for),
                LaneNext::Released { .. } | LaneNext::Drain => 0,
            };
        }
        if !self.take_in(claimed).await {
            return;
        }
        loop {
            self.send_ready(period);
            self.record_if_needed();
            tokio::select! {
                biased;
                Some((sent, result)) = self.sending.next() => self.note_result(sent, result),
                outcome = wait_for(&mut self.recording) => {
                    let recording = self.recording.take();
                    let Some((recording, progress)) = recording.zip(outcome) else { return };
                    self.note_recorded(&recording);
                    shared.report(&progress);
                    if !self.take_in(progress).await {
                        return;
                    }
                }
                () = shared.cut_off.cancelled(), if !self.sending.is_empty() => self.cut_off(),
                _ = renew.tick(), if self.recording.is_none() => {
                    if !shared.renew(self.held).await {
                        tracing::warn!(lane.id = %self.held.lane, "a lane was lost while delivering");
                        return;
                    }
                }
                () = sleep(LOOK_AGAIN), if self.may_look_again() => {
                    // A delivery that was read may still wait for an extra slot.
                    self.must_read_again = self.ready.next(self.now).is_none();
                }
            }
        }
    }

    fn send_ready(&mut self, recording_max: Duration) {
        if self.changes != self.slot.shared.hub.sink_changes() && !self.ready.is_empty() {
            // The sink may have changed since the deliveries were read.
            self.ready.clear();
            self.last_read = self.last_sent;
            self.must_read_again = true;
        }
        while let Some((n, extra)) = self.next_to_send(recording_max) {
            let Some(job) = self.ready.take(n) else {
                return;
            };
            self.unrecorded += 1;
            self.last_sent = self.last_sent.max(n);
            self.in_flight.push(n);
            let (sent, shared) = (SentJob::new(&job), Arc::clone(&self.slot.shared));
            let unreadable = self.unreadable.clone();
            self.sending.push(Box::pin(async move {
                let result = match unreadable {
                    Some(why) => AttemptResult::Unreadable(AttemptDetail::error(why)),
                    None => shared.deliver.deliver(job).await,
                };
                drop(extra);
                (sent, result)
            }));
        }
    }

    /// The number of the delivery to send now, and an extra slot if others are in flight.
    fn next_to_send(&self, recording_max: Duration) -> Option<(u64, Option<ExtraSlot<D>>)> {
        let n = self.ready.next(self.now)?;
        if self.is_draining {
            return None;
        }
        // All results are recorded, so the last transaction also recorded the start of this
        // delivery. It may be sent without regard to the window.
        if self.unrecorded == 0 {
            return Some((n, None));
        }
        let sink = self.ready.first().and_then(sink_of).map(|sink| &**sink);
        let (window, in_flight_max) = match self.one_by_one {
            0 => (window_of(sink), in_flight_max(sink)),
            _ => (1, 1),
        };
        // If the store is slow, send nothing further: the lease could end meanwhile.
        let is_slow = |recording: &Recording| recording.began.elapsed() >= recording_max;
        let may_send = self.unrecorded < window
            && self.sending.len() < in_flight_max
            && !self.recording.as_ref().is_some_and(is_slow)
            && self.may_continue();
        match may_send {
            true if self.sending.is_empty() => Some((n, None)),
            true => Some((n, Some(self.slot.take_extra()?))),
            false => None,
        }
    }

    fn may_continue(&self) -> bool {
        !self.is_draining
            && !self.slot.shared.shutdown.is_cancelled()
            && !self.slot.must_release_slot(self.began)
    }

    /// Whether to look for deliveries, or for slots, to send more beside those in flight.
    fn may_look_again(&self) -> bool {
        (1..self.in_flight_max).contains(&self.sending.len())
            && self.one_by_one == 0
            && self.recording.is_none()
            && self.may_continue()
    }

    fn note_result(&mut self, sent: SentJob, result: AttemptResult) {
        self.in_flight.retain(|n| *n != sent.n);
        let end = self.slot.decide_end(result, &sent);
        if let DeliveryEnd::Delivered(_) = end {
            self.ready.free(sent.n);
        }
        self.ended.push(sent.end(end));
    }

    /// Cancels the deliveries in flight, because the server stops and does not wait any longer.
    fn cut_off(&mut self) {
        self.sending.clear();
        self.is_draining = true;
        for n in mem::take(&mut self.in_flight) {
            self.ended.push(EndedDelivery {
                n,
                attempt: 1,
                event_id: EventId::NIL,
                event_type: String::new(),
                end: DeliveryEnd::Unattempted {
                    wait: Duration::ZERO,
                },
            });
        }
    }

    /// Starts a transaction that records the results, and reads further deliveries or releases the
    /// lane. It is needed if there are results, if nothing is in flight, or if deliveries must be
    /// read again.
    fn record_if_needed(&mut self) {
        let is_needed = !self.ended.is_empty() || self.sending.is_empty() || self.must_read_again;
        if self.recording.is_some() || !is_needed {
            return;
        }
        let ended = mem::take(&mut self.ended);
        let state = RunState {
            held: self.held,
            in_flight: self.in_flight.clone(),
            ready: self.ready.numbers(),
            ready_bytes: self.ready.bytes(),
            blocked_until: self.ready.blocked_until(self.now),
            last_sent: self.last_sent,
            last_read: self.last_read,
            sink: self.ready.first().and_then(sink_of).cloned(),
            window: self.window,
            may_continue: self.may_continue(),
            storage: self.slot.shared.policy.storage,
        };
        self.must_read_again = false;
        let is_delivered = |one: &&EndedDelivery| matches!(one.end, DeliveryEnd::Delivered(_));
        self.recording = Some(Recording {
            began: Instant::now(),
            changes: self.slot.shared.hub.sink_changes(),
            ended: ended.iter().map(|one| one.n).collect(),
            delivered: ended.iter().filter(is_delivered).count(),
            outcome: Box::pin(Arc::clone(&self.slot.shared).record(state, ended)),
        });
    }

    fn note_recorded(&mut self, recording: &Recording) {
        self.unrecorded -= recording.ended.len();
        self.one_by_one = self.one_by_one.saturating_sub(recording.delivered);
        // A successful delivery freed its key when it ended. A failed delivery frees its key here,
        // after its failure was recorded.
        for n in &recording.ended {
            self.ready.free(*n);
        }
        if self.ready.is_empty() {
            self.changes = recording.changes;
        }
    }

    /// Applies the result of a transaction. Returns false if the lane was released.
    async fn take_in(&mut self, progress: LaneProgress) -> bool {
        self.now = progress.now;
        match progress.next {
            LaneNext::Released { .. } => return false,
            LaneNext::Drain => {
                self.is_draining = true;
                self.ready.clear();
            }
            LaneNext::Jobs { mut jobs, replace } => {
                if replace {
                    self.ready.clear();
                }
                let read = jobs.iter().map(|job| job.n).max();
                self.last_read = self.last_read.max(read.unwrap_or_default());
                self.set_keys(&mut jobs).await;
                self.ready.add(jobs);
            }
        }
        true
    }

    async fn set_keys(&mut self, jobs: &mut [Job]) {
        let Some(sink) = jobs.first().and_then(sink_of).cloned() else {
            return;
        };
        self.in_flight_max = in_flight_max(Some(&sink));
        self.unreadable = None;
        self.window = match sink.is_keyed() {
            true => 0,
            false => window_of(Some(&sink)),
        };
        if sink.is_keyed() {
            let events = jobs.iter().map(|job| job.event.clone()).collect();
            match self.slot.shared.deliver.keys(&sink, events).await {
                Ok(keys) => {
                    for (job, key) in jobs.iter_mut().zip(keys) {
                        job.key = key;
                    }
                }
                Err(why) => self.unreadable = Some(why),
            }
        }
    }
}

fn window_for(job: &Job) -> usize {
    window_of(sink_of(job).map(|sink| &**sink))
}

/// Waits for the results to be recorded. Never returns if none are being recorded.
async fn wait_for(recording: &mut Option<Recording>) -> Option<LaneProgress> {
    match recording {
        Some(recording) => (&mut recording.outcome).await,
        None => std::future::pending().await,
    }
}
