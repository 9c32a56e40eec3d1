//! The transactions of the workers that hold lanes. [`begin`] reads the first deliveries of claimed
//! lanes. [`record`] writes how deliveries ended and reads further ones. Both take any number of
//! lanes. They read all lanes in one round trip to the database. They do not wait for the answers
//! to their writes. They read more only for lanes that are ordered by a key or that need further
//! deliveries.
//!
//! Only the delivery at the head has its start recorded before it is sent. The deliveries behind it
//! are read ahead and may be sent before earlier results are recorded: see `worker`.

mod endings;
mod progress;
mod reading;
mod sink_state;

use std::{sync::Arc, time::Duration};

use svc_core::{EventId, Quota, Timestamp, lane::REFILL_DEPTH};
use svc_store::{
    StoreError, Tx,
    deliveries::QueueHead,
    lanes::{
        self, DeliveryKind, LaneLease, LeasedLane,
        turn::{TurnEnd, TurnReading, TurnRequest},
    },
    sinks::{GLOBAL, SinkRow},
};

pub(super) use self::progress::{DeadDelivery, LaneNext, LaneProgress};
use self::reading::{READ_STEP, Reading};
use super::{AttemptDetail, Job};
use crate::events::emit::StorageLimits;

/// A delivery and how its attempt ended.
#[derive(Clone, Debug)]
pub(super) struct EndedDelivery {
    pub(super) n: u64,
    /// The first attempt is 1.
    pub(super) attempt: u32,
    pub(super) event_id: EventId,
    pub(super) event_type: String,
    pub(super) end: DeliveryEnd,
}

#[derive(Clone, Debug)]
pub(super) enum DeliveryEnd {
    Delivered(AttemptDetail),
    /// Failed, with a retry after this time.
    RetryIn(Duration, AttemptDetail),
    Dead(AttemptDetail),
    /// Failed, and the sink is paused for this reason. The delivery stays in the queue.
    Pause(PauseReason, AttemptDetail),
    /// No attempt was made, or the attempt was cut off, so no attempt is recorded.
    Unattempted {
        wait: Duration,
    },
}

#[derive(Clone, Debug)]
pub(super) enum PauseReason {
    Failures(String),
    /// A stored text of the sink cannot be read, with the error. Its correction ends the pause.
    Unreadable(String),
}

/// The state of a worker's lane when results are recorded.
#[derive(Clone, Debug)]
pub(super) struct RunState {
    pub(super) held: LaneLease,
    /// The numbers of the deliveries in flight.
    pub(super) in_flight: Vec<u64>,
    /// The numbers of the deliveries that were read and not sent, and the bytes of their payloads.
    pub(super) ready: Vec<u64>,
    pub(super) ready_bytes: usize,
    /// No delivery that was read may be sent before this time.
    pub(super) blocked_until: Option<Timestamp>,
    /// The numbers of the last delivery that was sent, and of the last that was read.
    pub(super) last_sent: u64,
    pub(super) last_read: u64,
    /// The sink as the worker last read it.
    pub(super) sink: Option<Arc<SinkRow>>,
    /// How many deliveries may be read and not sent; 0 in a lane that is ordered by a key.
    pub(super) window: usize,
    /// Whether further deliveries may begin.
    pub(super) may_continue: bool,
    /// Limits of the texts of attempts that are stored.
    pub(super) storage: StorageLimits,
}

impl RunState {
    /// The state of a lane from which nothing was read yet.
    pub(super) fn new(held: LaneLease) -> Self {
        Self {
            held,
            in_flight: Vec::new(),
            ready: Vec::new(),
            ready_bytes: 0,
            blocked_until: None,
            last_sent: 0,
            last_read: 0,
            sink: None,
            window: 0,
            may_continue: true,
            storage: StorageLimits::default(),
        }
    }

    /// How many deliveries to read together with the lane. [`Turn`] may read more later.
    fn read_max(&self) -> u32 {
        let room = self.window.saturating_sub(self.ready.len());
        match self.may_continue {
            true => READ_STEP.min(u32::try_from(room).unwrap_or(READ_STEP)),
            false => 0,
        }
    }
}

/// The time of a transaction, by the clock that all servers of the database share.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionTime {
    pub(super) now: Timestamp,
    /// The end of a lease that is renewed now.
    pub(super) lease_until: Timestamp,
}

impl TransactionTime {
    pub(super) fn of(tx: &mut Tx<'_>, lease: Duration) -> Result<Self, StoreError> {
        let now = tx.now()?;
        Ok(Self {
            now,
            lease_until: now.plus(lease),
        })
    }
}

/// Begins the first deliveries of lanes that were just claimed. Skips lanes that are no
/// longer held.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    leases: &[(DeliveryKind, LaneLease)],
    time: TransactionTime,
) -> Result<Vec<LaneProgress>, StoreError> {
    let requests: Vec<_> = leases
        .iter()
        .map(|(kind, held)| TurnRequest {
            held: *held,
            ended: Vec::new(),
            after: 0,
            limit: match kind {
                DeliveryKind::Webhook => READ_STEP,
                DeliveryKind::Script | DeliveryKind::Method => 1,
            },
        })
        .collect();
    let readings = lanes::turn::read(tx, &requests)?;
    let mut begun = Vec::new();
    for (request, reading) in requests.iter().zip(readings) {
        let Some(reading) = reading else { continue };
        let mut turn = Turn::open(tx, request, reading, time);
        turn.progress.is_after_crash = turn.lane.starts > turn.lane.failures;
        turn.is_new_start = true;
        begun.push(turn.advance_to_next(&RunState::new(request.held))?);
    }
    Ok(begun)
}

/// Results to record: how deliveries of a lane ended, in the order in which they ended.
pub(super) type Results = (RunState, Vec<EndedDelivery>);

/// Records results, and reads further deliveries. Returns `None` for a lane that is no longer held,
/// and writes nothing there.
pub(super) fn record(
    tx: &mut Tx<'_>,
    results: &[&Results],
    lease: Duration,
) -> Result<Vec<Option<LaneProgress>>, StoreError> {
    let requests: Vec<_> = results.iter().map(|results| request(results)).collect();
    let readings = lanes::turn::read(tx, &requests)?;
    let time = TransactionTime::of(tx, lease)?;
    let mut recorded = Vec::with_capacity(results.len());
    for (((state, ended), request), reading) in results.iter().zip(&requests).zip(readings) {
        let turn = reading.map(|reading| Turn::open(tx, request, reading, time));
        recorded.push(turn.map(|turn| turn.record(state, ended)).transpose()?);
    }
    Ok(recorded)
}

fn request((state, ended): &Results) -> TurnRequest {
    let is_finished =
        |one: &&EndedDelivery| matches!(one.end, DeliveryEnd::Delivered(_) | DeliveryEnd::Dead(_));
    TurnRequest {
        held: state.held,
        ended: ended.iter().filter(is_finished).map(|one| one.n).collect(),
        after: state.last_read,
        limit: state.read_max(),
    }
}

/// Whether the texts of attempts are stored for the owner of a lane. Half of the server's bytes are
/// for the attempts of global sinks.
fn has_room(lane: &LeasedLane, storage: &StorageLimits) -> bool {
    let limit = match lane.owner_key.as_str() {
        GLOBAL => storage.server_bytes / 2,
        _ => {
            let quotas = storage.quotas.with(&lane.owner_quotas);
            quotas.get(Quota::EventBytes)
        }
    };
    lane.stored_bytes < limit
}

/// One transaction on a lane.
struct Turn<'a, 'tx> {
    tx: &'a mut Tx<'tx>,
    /// The lane with the changes of this transaction. [`Turn::write`] stores it.
    lane: LeasedLane,
    sink: Option<Arc<SinkRow>>,
    time: TransactionTime,
    /// Deliveries whose end this transaction records and that still wait in the store.
    waiting: Vec<u64>,
    /// The deliveries that were read with the lane, and whether no others follow them.
    heads: Vec<QueueHead>,
    is_read_to_end: bool,
    /// Number of deliveries that were finished and are still counted in `lane`.
    ended: u32,
    /// Number of deliveries that were finished and are still counted in the lane's row.
    finished: u32,
    /// If set, the lane is released, and its next delivery begins after this wait.
    wait: Option<Duration>,
    /// Whether the delivery at the head has no recorded start yet.
    is_new_start: bool,
    /// Whether the owner's stored bytes are below the limit, so that texts of attempts are stored.
    has_room: bool,
    progress: LaneProgress,
}

impl<'a, 'tx> Turn<'a, 'tx> {
    fn open(
        tx: &'a mut Tx<'tx>,
        request: &TurnRequest,
        reading: TurnReading,
        time: TransactionTime,
    ) -> Self {
        Self {
            progress: LaneProgress {
                held: reading.lane.held,
                now: time.now,
                next: LaneNext::Released { next_at: time.now },
                is_after_crash: false,
                dead: Vec::new(),
                raised: Vec::new(),
                can_refill: false,
            },
            tx,
            lane: reading.lane,
            sink: reading.sink.map(Arc::new),
            time,
            waiting: reading.waiting,
            is_read_to_end: reading.heads.len() < request.limit as usize,
            heads: reading.heads,
            ended: 0,
            finished: 0,
            wait: None,
            is_new_start: false,
            has_room: true,
        }
    }

    fn record(
        mut self,
        state: &RunState,
        ended: &[EndedDelivery],
    ) -> Result<LaneProgress, StoreError> {
        self.has_room = has_room(&self.lane, &state.storage);
        for one in ended {
            self.end(one)?;
        }
        self.apply_ended();
        let now = self.time.now;
        match self.wait {
            Some(wait) => self.release(now.plus(wait)),
            None => self.advance_to_next(state),
        }
    }

    /// Subtracts the ended deliveries from the depth of the lane, and resets the counters of its
    /// head.
    fn apply_ended(&mut self) {
        if self.ended == 0 {
            return;
        }
        self.lane.depth = self.lane.depth.saturating_sub(self.ended);
        self.lane.failures = 0;
        self.lane.starts = 0;
        self.is_new_start = true;
        self.finished += self.ended;
        self.ended = 0;
        self.progress.can_refill = self.lane.refilling && self.lane.depth <= REFILL_DEPTH;
    }

    /// Subtracts a start that was counted, although no attempt was made.
    fn undo_start(&mut self) {
        self.lane.starts = self.lane.starts.saturating_sub(1);
    }

    fn release(mut self, next_at: Timestamp) -> Result<LaneProgress, StoreError> {
        self.progress.next = LaneNext::Released { next_at };
        self.write(TurnEnd::Release(next_at))
    }

    /// Releases a lane with nothing in flight. If the start of the delivery at the head was
    /// recorded, the record is undone, because the delivery was not sent.
    fn release_unsent(mut self, next_at: Timestamp) -> Result<LaneProgress, StoreError> {
        if !self.is_new_start {
            self.undo_start();
        }
        self.release(next_at)
    }

    /// Keeps the lane. The lease is renewed once a third of it has passed. Before that, its end is
    /// not changed, because each change must also be written to an index.
    fn keep(mut self, next: LaneNext) -> Result<LaneProgress, StoreError> {
        let third = self.time.lease_until.since(self.time.now) / 3;
        let until = match self.lane.lease_until.plus(third) < self.time.lease_until {
            true => self.time.lease_until,
            false => self.lane.lease_until,
        };
        self.progress.next = next;
        self.write(TurnEnd::Hold(until))
    }

    fn write(self, end: TurnEnd) -> Result<LaneProgress, StoreError> {
        lanes::turn::end(self.tx, &self.lane, self.finished, end)?;
        Ok(self.progress)
    }

    /// Begins the delivery at the head and reads ahead. If nothing further may be sent, releases
    /// the lane, or keeps it until the deliveries in flight have ended.
    fn advance_to_next(mut self, state: &RunState) -> Result<LaneProgress, StoreError> {
        let is_changed = !state.ready.is_empty() && self.sink != state.sink;
        let reading = match is_changed {
            true => Reading {
                ready: &[],
                ready_bytes: 0,
                in_flight: &state.in_flight,
                last_read: state.last_sent,
            },
            false => Reading {
                ready: &state.ready,
                ready_bytes: state.ready_bytes,
                in_flight: &state.in_flight,
                last_read: state.last_read,
            },
        };
        if is_changed {
            // The worker discards the deliveries that it has read. They are read again, so the next
            // delivery is not in `heads`.
            self.heads.clear();
            self.is_read_to_end = false;
        }
        let may_continue = state.may_continue && self.lane.active;
        let is_idle = state.in_flight.is_empty();
        if !may_continue && is_idle {
            let now = self.time.now;
            return self.release_unsent(now);
        }
        let mut rate = self.rate();
        let jobs = match may_continue {
            true => self.read_jobs(&reading, rate.as_ref())?,
            false => Vec::new(),
        };
        let is_blocked = reading.ready.is_empty() || state.blocked_until.is_some();
        if jobs.is_empty() && is_idle && is_blocked {
            let next_at = match (&rate, state.blocked_until) {
                (_, Some(until)) if !reading.ready.is_empty() => until.max(self.time.now),
                (Some(rate), _) if self.lane.depth > 0 => rate.next_at(),
                _ => self.time.now,
            };
            // Once the queue is empty, the next drop creates an event `sink.dropping` again.
            self.lane.dropping &= self.lane.depth > 0;
            return self.release_unsent(next_at);
        }
        if let Some(rate) = &mut rate {
            rate.take(jobs.len());
            self.lane.rate_until = rate.until;
        }
        if self.is_new_start {
            self.lane.starts += 1;
        }
        self.keep(match may_continue {
            true => LaneNext::Jobs {
                jobs,
                replace: is_changed,
            },
            false => LaneNext::Drain,
        })
    }
}
