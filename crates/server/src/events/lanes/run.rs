//! [`LaneRun`]: the deliveries that a worker makes from one lane, from its claim to its release. The
//! rules are described in `worker`.

use std::{collections::VecDeque, mem, sync::Arc, time::Duration};

use futures_util::{
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use svc_core::EventId;
use svc_store::{lanes::LaneLease, sinks::SinkRow};
use tokio::time::{Instant, interval_at};

use super::{
    AttemptResult, Deliver, Destination, Job,
    turn::{DeliveryEnd, EndedDelivery, LaneNext, LaneProgress, RunState},
    window_of,
    worker::Slot,
};

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
    /// The hub's count of changed sinks at that time.
    changes: u64,
    /// How many results, and how many of them are successes.
    count: usize,
    delivered: usize,
    outcome: BoxFuture<'static, Option<LaneProgress>>,
}

pub(super) struct LaneRun<'a, D: Deliver> {
    slot: &'a Slot<D>,
    held: LaneLease,
    began: Instant,
    /// Read and not sent, in their order.
    ready: VecDeque<Job>,
    last_read: u64,
    last_sent: u64,
    sending: FuturesUnordered<BoxFuture<'static, (SentJob, AttemptResult)>>,
    /// The jobs in flight, for the case that they are cut off.
    in_flight: Vec<u64>,
    ended: Vec<EndedDelivery>,
    recording: Option<Recording>,
    /// Deliveries that were sent and are not recorded.
    unrecorded: usize,
    /// Deliveries that must be recorded one by one, after a crash.
    one_by_one: usize,
    /// A result other than a success waits to be recorded.
    is_shut: bool,
    /// Nothing further is sent.
    is_draining: bool,
    /// The hub's count of changed sinks when `ready` was read.
    changes: u64,
    must_read_again: bool,
}

impl<'a, D: Deliver> LaneRun<'a, D> {
    pub(super) fn new(
        slot: &'a Slot<D>,
        held: LaneLease,
        jobs: Vec<Job>,
        is_after_crash: bool,
    ) -> Self {
        let window = jobs
            .first()
            .map_or(1, |job| window_of(sink_of(job).map(|sink| &**sink)));
        Self {
            changes: slot.shared.hub.sink_changes(),
            slot,
            held,
            began: Instant::now(),
            last_read: jobs.last().map_or(0, |job| job.n),
            ready: jobs.into(),
            last_sent: 0,
            sending: FuturesUnordered::new(),
            in_flight: Vec::new(),
            ended: Vec::new(),
            recording: None,
            unrecorded: 0,
            one_by_one: if is_after_crash { window } else { 0 },
            is_shut: false,
            is_draining: false,
            must_read_again: false,
        }
    }

    /// Delivers until the lane is released or lost.
    pub(super) async fn run(mut self) {
        let shared = Arc::clone(&self.slot.shared);
        let period = shared.policy.lease / 3;
        let mut renew = interval_at(Instant::now() + period, period);
        loop {
            self.send_ready(period);
            self.record_if_needed();
            tokio::select! {
                biased;
                Some((sent, result)) = self.sending.next() => self.note_result(sent, result),
                outcome = wait_for(&mut self.recording) => {
                    let recording = self.recording.take();
                    let Some((recording, progress)) = recording.zip(outcome) else { return };
                    if !self.note_recorded(&recording, progress) {
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
            }
        }
    }

    fn send_ready(&mut self, recording_max: Duration) {
        if self.changes != self.slot.shared.hub.sink_changes() && !self.ready.is_empty() {
            // The sink may have changed since these were read.
            self.ready.clear();
            self.last_read = self.last_sent;
            self.must_read_again = true;
        }
        while self.may_send(recording_max) {
            let Some(job) = self.ready.pop_front() else {
                return;
            };
            self.unrecorded += 1;
            self.last_sent = job.n;
            self.in_flight.push(job.n);
            let (sent, shared) = (SentJob::new(&job), Arc::clone(&self.slot.shared));
            let sending = async move { (sent, shared.deliver.deliver(job).await) };
            self.sending.push(Box::pin(sending));
        }
    }

    fn may_send(&self, recording_max: Duration) -> bool {
        if self.is_shut || self.is_draining || !self.sending.is_empty() {
            return false;
        }
        // The start of the first one is recorded.
        if self.unrecorded == 0 {
            return true;
        }
        let Some(job) = self.ready.front() else {
            return false;
        };
        let window = match self.one_by_one {
            0 => window_of(sink_of(job).map(|sink| &**sink)),
            _ => 1,
        };
        // A slow store must not let the lease end while further deliveries are sent.
        let is_slow = |recording: &Recording| recording.began.elapsed() >= recording_max;
        self.unrecorded < window
            && !self.recording.as_ref().is_some_and(is_slow)
            && self.may_continue()
    }

    fn may_continue(&self) -> bool {
        !self.is_draining
            && !self.slot.shared.shutdown.is_cancelled()
            && !self.slot.must_release_slot(self.began)
    }

    fn note_result(&mut self, sent: SentJob, result: AttemptResult) {
        self.in_flight.retain(|n| *n != sent.n);
        let end = self.slot.decide_end(result, &sent);
        self.is_shut |= !matches!(end, DeliveryEnd::Delivered(_));
        self.ended.push(sent.end(end));
    }

    /// The server stops and does not wait any longer.
    fn cut_off(&mut self) {
        self.sending.clear();
        self.is_shut = true;
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

    /// Records the results, if there are any. A worker with nothing in flight releases its lane here,
    /// or gets further deliveries.
    fn record_if_needed(&mut self) {
        let is_needed = !self.ended.is_empty() || self.sending.is_empty() || self.must_read_again;
        if self.recording.is_some() || !is_needed {
            return;
        }
        let ended = mem::take(&mut self.ended);
        let state = RunState {
            held: self.held,
            in_flight: self.sending.len(),
            ready: self.ready.len(),
            last_sent: self.last_sent,
            last_read: self.last_read,
            sink: self.ready.front().and_then(sink_of).cloned(),
            may_continue: self.may_continue(),
        };
        self.must_read_again = false;
        let is_delivered = |one: &&EndedDelivery| matches!(one.end, DeliveryEnd::Delivered(_));
        self.recording = Some(Recording {
            began: Instant::now(),
            changes: self.slot.shared.hub.sink_changes(),
            count: ended.len(),
            delivered: ended.iter().filter(is_delivered).count(),
            outcome: Box::pin(Arc::clone(&self.slot.shared).record(state, ended)),
        });
    }

    /// False if the lane was released.
    fn note_recorded(&mut self, recording: &Recording, progress: LaneProgress) -> bool {
        let shared = &self.slot.shared;
        shared.report(&progress);
        self.unrecorded -= recording.count;
        self.one_by_one = self.one_by_one.saturating_sub(recording.delivered);
        // A result other than a success ends the run, or is recorded now.
        self.is_shut = self
            .ended
            .iter()
            .any(|one| !matches!(one.end, DeliveryEnd::Delivered(_)));
        match progress.next {
            LaneNext::Released => return false,
            LaneNext::Drain => {
                self.is_draining = true;
                self.ready.clear();
            }
            LaneNext::Jobs { jobs, replace } => {
                if replace {
                    self.ready.clear();
                }
                if self.ready.is_empty() {
                    self.changes = recording.changes;
                }
                self.last_read = jobs.last().map_or(self.last_read, |job| job.n);
                self.ready.extend(jobs);
            }
        }
        true
    }
}

/// Waits for the results to be recorded; forever, if none are being recorded.
async fn wait_for(recording: &mut Option<Recording>) -> Option<LaneProgress> {
    match recording {
        Some(recording) => (&mut recording.outcome).await,
        None => std::future::pending().await,
    }
}
