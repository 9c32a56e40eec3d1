//! The transactions of the worker that holds a lane. [`begin`] reads the first deliveries of a
//! claimed lane. [`record`] writes how deliveries ended and reads further ones.
//!
//! Only the delivery at the head has its start recorded before it is sent. The deliveries behind it
//! are read ahead and may be sent before earlier results are recorded: see `worker`.

mod endings;
mod reading;
mod sink_state;

use std::{sync::Arc, time::Duration};

use svc_core::{EventId, Timestamp, event::Event, lane::REFILL_DEPTH};
use svc_store::{
    StoreError, Tx,
    lanes::{self, LaneLease, LeasedLane, Receiver},
    sinks::{self, SinkRow},
};

use self::reading::Reading;
use super::{AttemptDetail, Job};

/// A delivery that was sent, and how it ended.
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
    /// Failed, and the sink is paused for this reason. The delivery stays at the head.
    Pause(String, AttemptDetail),
    /// No attempt was made, so none is recorded.
    Unattempted {
        wait: Duration,
    },
}

/// A delivery that ended as dead, for the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeadDelivery {
    pub(super) receiver: Receiver,
    pub(super) event_id: EventId,
    pub(super) event_type: String,
    pub(super) error: String,
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
    /// Whether further deliveries may begin.
    pub(super) may_continue: bool,
}

/// The result of a transaction.
#[derive(Clone, Debug)]
pub(super) struct LaneProgress {
    pub(super) held: LaneLease,
    pub(super) now: Timestamp,
    pub(super) next: LaneNext,
    /// Whether the server crashed while the delivery at the head was in flight.
    pub(super) is_after_crash: bool,
    pub(super) dead: Vec<DeadDelivery>,
    /// Events about the sink that this transaction created.
    pub(super) raised: Vec<Arc<Event>>,
    /// Whether the lane has fallen behind and has room for stored events.
    pub(super) can_refill: bool,
}

#[derive(Clone, Debug)]
pub(super) enum LaneNext {
    /// The lane was released.
    Released,
    /// Further deliveries, in order. Empty if all are read and some are still in flight.
    Jobs {
        jobs: Vec<Job>,
        /// Whether `jobs` replace the deliveries that the worker has read and not sent.
        replace: bool,
    },
    /// Nothing further may be sent. The lane is released after the deliveries in flight.
    Drain,
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

/// Begins the first delivery of a lane that was just claimed; `None` if the lane is no longer held.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    held: LaneLease,
    time: TransactionTime,
) -> Result<Option<LaneProgress>, StoreError> {
    let Some(mut turn) = Turn::open(tx, held, time)? else {
        return Ok(None);
    };
    turn.progress.is_after_crash = turn.lane.starts > turn.lane.failures;
    turn.is_new_start = true;
    let state = RunState {
        held,
        in_flight: Vec::new(),
        ready: Vec::new(),
        ready_bytes: 0,
        blocked_until: None,
        last_sent: 0,
        last_read: 0,
        sink: None,
        may_continue: true,
    };
    turn.advance_to_next(&state).map(Some)
}

/// Records how deliveries ended, in the order in which they ended, and reads further ones. Returns
/// `None` and writes nothing if the lane is no longer held.
pub(super) fn record(
    tx: &mut Tx<'_>,
    state: &RunState,
    ended: &[EndedDelivery],
    time: TransactionTime,
) -> Result<Option<LaneProgress>, StoreError> {
    let Some(mut turn) = Turn::open(tx, state.held, time)? else {
        return Ok(None);
    };
    for one in ended {
        turn.end(one)?;
    }
    turn.apply_ended()?;
    if let Some(wait) = turn.wait {
        turn.release(time.now.plus(wait))?;
        return Ok(Some(turn.progress));
    }
    turn.advance_to_next(state).map(Some)
}

/// One transaction on a lane.
struct Turn<'a, 'tx> {
    tx: &'a mut Tx<'tx>,
    lane: LeasedLane,
    sink: Option<Arc<SinkRow>>,
    time: TransactionTime,
    /// Deliveries that ended in this transaction and are still counted in the lane's row.
    ended: u32,
    /// If set, the lane is released and waits for this time.
    wait: Option<Duration>,
    /// Whether the delivery at the head has no recorded start yet.
    is_new_start: bool,
    progress: LaneProgress,
}

impl<'a, 'tx> Turn<'a, 'tx> {
    fn open(
        tx: &'a mut Tx<'tx>,
        held: LaneLease,
        time: TransactionTime,
    ) -> Result<Option<Self>, StoreError> {
        let Some(lane) = lanes::hold(tx, held, time.lease_until)? else {
            return Ok(None);
        };
        let sink = match &lane.receiver {
            Receiver::Sink(id) => sinks::find(tx, *id)?.map(Arc::new),
            Receiver::Method(_) => None,
        };
        Ok(Some(Self {
            tx,
            lane,
            sink,
            time,
            ended: 0,
            wait: None,
            is_new_start: false,
            progress: LaneProgress {
                held,
                now: time.now,
                next: LaneNext::Released,
                is_after_crash: false,
                dead: Vec::new(),
                raised: Vec::new(),
                can_refill: false,
            },
        }))
    }

    /// Removes the ended deliveries from the head of the lane, and resets its counters.
    fn apply_ended(&mut self) -> Result<(), StoreError> {
        if self.ended == 0 {
            return Ok(());
        }
        lanes::advance(self.tx, self.lane.held.lane, self.ended)?;
        self.lane.depth = self.lane.depth.saturating_sub(self.ended);
        self.lane.failures = 0;
        self.lane.starts = 0;
        self.is_new_start = true;
        self.ended = 0;
        self.progress.can_refill = self.lane.refilling && self.lane.depth <= REFILL_DEPTH;
        Ok(())
    }

    fn release(&mut self, next_at: Timestamp) -> Result<(), StoreError> {
        self.progress.next = LaneNext::Released;
        lanes::release(self.tx, self.lane.held.lane, next_at)
    }

    /// Releases a lane with nothing in flight. If the start of the delivery at the head was
    /// recorded, the record is undone, because the delivery was not sent.
    fn release_unsent(&mut self, next_at: Timestamp) -> Result<(), StoreError> {
        if !self.is_new_start {
            lanes::undo_start(self.tx, self.lane.held.lane)?;
        }
        self.release(next_at)
    }

    /// Once the queue is empty, the next drop creates an event again.
    fn note_empty(&mut self) -> Result<(), StoreError> {
        match self.lane.dropping && self.lane.depth == 0 {
            true => lanes::end_dropping(self.tx, self.lane.held.lane),
            false => Ok(()),
        }
    }

    /// Begins the delivery at the head and reads ahead, or releases the lane if nothing may be sent.
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
        let may_continue = state.may_continue && self.lane.active;
        let is_idle = state.in_flight.is_empty();
        if !may_continue && is_idle {
            self.release_unsent(self.time.now)?;
            return Ok(self.progress);
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
            self.note_empty()?;
            self.release_unsent(next_at)?;
            return Ok(self.progress);
        }
        if let Some(rate) = &mut rate {
            rate.take(jobs.len());
        }
        let rate_until = rate.map_or(self.lane.rate_until, |rate| rate.until);
        if self.is_new_start || rate_until != self.lane.rate_until {
            let starts = u32::from(self.is_new_start);
            lanes::start(self.tx, self.lane.held.lane, starts, rate_until)?;
        }
        self.progress.next = match may_continue {
            true => LaneNext::Jobs {
                jobs,
                replace: is_changed,
            },
            false => LaneNext::Drain,
        };
        Ok(self.progress)
    }
}
