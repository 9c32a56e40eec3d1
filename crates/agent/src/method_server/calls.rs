//! The calls of a method server: waiting, sent, answered.
//!
//! [`CallTable`] is a state machine without side effects: the current time is an argument, and
//! [`Effects`] collects the answers to send. It never uses a process, a socket or a clock. A call
//! waits in the table until the writer of the method server's stdin takes it ([`CallTable::take`]).
//! The writer takes calls when the pipe has room. Users take turns, and a waiting call can be
//! cancelled without being sent.

mod reports;
mod take;

pub use reports::ReportOutcome;
pub use take::{LARGE_LINE_BYTES, PIPE_BYTES, Pipe, Take};

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use bytes::Bytes;
use svc_core::{
    fair_queue::{FairQueue, ItemKey, Turn},
    journal::CallTimes,
    number_map::NumberMap,
};
use svc_link::FrameKind;
use tokio::time::Instant;

use self::{
    reports::{HeldReports, Reports},
    take::Users,
};
use crate::outbox::Caller;

/// Bytes that count for each waiting line in addition to its JSON.
const WAITING_BYTES: usize = 128;

/// The next id of a request to a method server. All method servers of the agent share the counter,
/// so ids are unique while the agent runs. The counter starts at 0, so ids stay below 2^53: many
/// JSON parsers read larger integers inexactly.
pub type CallIds = Arc<AtomicU64>;

/// One line for the method server. The JSON of a call has no id and no closing brace: the writer
/// appends both.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub id: Option<u64>,
    pub json: Bytes,
}

/// An answer to a call, or a progress report on the call.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub caller: Caller,
    pub kind: FrameKind,
    pub payload: Bytes,
    /// `None` if the method server did not answer the call, and in a progress report.
    pub times: Option<CallTimes>,
}

/// The effects of a change: the answers to send, in order, and the number of dropped notifications.
#[derive(Debug, Default)]
pub struct Effects {
    pub answers: Vec<Answer>,
    pub dropped_notifications: usize,
}

impl Effects {
    fn answer(&mut self, caller: Caller, kind: FrameKind) {
        self.answers.push(Answer {
            caller,
            kind,
            payload: Bytes::new(),
            times: None,
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Process {
    Up,
    Down {
        since: Instant,
    },
    /// Stopping or stopped: accepts no more calls.
    Closed,
}

#[derive(Clone, Copy)]
enum CallState {
    Waiting(ItemKey),
    Sent(u64),
}

/// A line that was not sent yet.
struct Waiting {
    /// `None` for a notification.
    caller: Option<Caller>,
    json: Bytes,
    arrived: Instant,
}

/// Limits on calls of one method server.
pub struct Limits {
    /// The maximum number of calls in flight: 1 in serial mode, `max_in_flight` otherwise. `None`
    /// means no limit.
    pub in_flight_max: Option<usize>,
    pub timeout: Duration,
    /// Time from the end of an unanswered call's timeout until the call counts as lost. Used only
    /// if calls in flight are limited.
    pub overdue_after: Duration,
    /// The maximum number of bytes of waiting lines. A line is rejected if the waiting lines of its
    /// user, this line included, would have more bytes than are still free. So a single user can
    /// fill about half of the limit.
    pub waiting_bytes_max: usize,
}

struct Sent {
    caller: Caller,
    cancelled: bool,
    arrived: Instant,
    sent_at: Instant,
    /// The end of the call's timeout.
    due: Instant,
    /// The time of the first check ([`CallTable::is_overdue`]) after the call was sent. Used
    /// instead of the time of sending, so that time in which the agent was suspended does not count
    /// against the method server.
    seen: Option<Instant>,
    /// Boxed, because most calls report no progress.
    reports: Option<Box<Reports>>,
}

pub struct CallTable {
    limits: Limits,
    ids: CallIds,
    process: Process,
    /// Whether calls wait until the replaced method server is idle.
    held: bool,
    waiting: FairQueue<Waiting>,
    users: Users,
    sent: NumberMap<u64, Sent>,
    states: NumberMap<Caller, CallState>,
    held_reports: HeldReports,
    /// The method server has read every call with an id below this value: it has answered the call
    /// `read_below - 1`, and it reads its stdin in order.
    read_below: u64,
}

impl CallTable {
    pub fn new(limits: Limits, ids: CallIds, held: bool, now: Instant) -> Self {
        Self {
            limits,
            ids,
            process: Process::Down { since: now },
            held,
            waiting: FairQueue::new(Turn::Item),
            users: Users::default(),
            sent: NumberMap::default(),
            states: NumberMap::default(),
            held_reports: HeldReports::default(),
            read_below: 0,
        }
    }

    /// Queues a call, or a notification if `caller` is `None`.
    pub fn enqueue(
        &mut self,
        user: u32,
        caller: Option<Caller>,
        json: Bytes,
        now: Instant,
        effects: &mut Effects,
    ) {
        if self.process == Process::Closed {
            reject(caller, effects);
            return;
        }
        self.users.note(user, now);
        let bytes = json.len() + WAITING_BYTES;
        let item = Waiting {
            caller,
            json,
            arrived: now,
        };
        let bytes_max = self.limits.waiting_bytes_max;
        match self.waiting.push_within(user, item, bytes, bytes_max) {
            Ok(key) => {
                if let Some(caller) = caller {
                    self.states.insert(caller, CallState::Waiting(key));
                }
            }
            Err(item) => reject(item.caller, effects),
        }
    }

    /// Handles an answer of the method server. Returns `false` if no sent call has this id.
    pub fn answer(
        &mut self,
        id: u64,
        kind: FrameKind,
        payload: Bytes,
        now: Instant,
        effects: &mut Effects,
    ) -> bool {
        let Some(sent) = self.sent.remove(&id) else {
            return false;
        };
        self.read_below = self.read_below.max(id + 1);
        self.states.remove(&sent.caller);
        let times = CallTimes {
            queue_us: micros(sent.sent_at.saturating_duration_since(sent.arrived)),
            method_us: micros(now.saturating_duration_since(sent.sent_at)),
        };
        if let Some(last) = sent.reports.and_then(|reports| reports.into_last()) {
            effects.report(sent.caller, last);
        }
        effects.answers.push(Answer {
            caller: sent.caller,
            kind,
            payload,
            times: Some(times),
        });
        true
    }

    /// Cancels a call. Returns `false` if the call is not in this table.
    pub fn cancel(&mut self, caller: Caller, effects: &mut Effects) -> bool {
        match self.states.get(&caller) {
            None => return false,
            Some(&CallState::Waiting(key)) => {
                self.waiting.remove(key);
                self.states.remove(&caller);
                effects.answer(caller, FrameKind::CancelledUnsent);
            }
            Some(&CallState::Sent(id)) => {
                self.cancel_sent(id, caller, effects);
            }
        }
        true
    }

    fn cancel_sent(&mut self, id: u64, caller: Caller, effects: &mut Effects) {
        if !self.keeps_slots() {
            self.sent.remove(&id);
            self.states.remove(&caller);
            effects.answer(caller, FrameKind::CancelledSent);
        } else if let Some(sent) = self.sent.get_mut(&id)
            && !sent.cancelled
        {
            sent.cancelled = true;
            effects.answer(caller, FrameKind::CancelledSent);
        }
    }

    /// Drops the calls of a lost link. If calls in flight are limited, a sent call keeps its slot
    /// until the method server answers it or ends.
    pub fn forget_link(&mut self, link: u64) {
        let gone: Vec<_> = self
            .states
            .iter()
            .filter(|(caller, _)| caller.link == link)
            .map(|(caller, state)| (*caller, *state))
            .collect();
        for (caller, state) in gone {
            self.states.remove(&caller);
            match state {
                CallState::Waiting(key) => {
                    self.waiting.remove(key);
                }
                CallState::Sent(id) if !self.keeps_slots() => {
                    self.sent.remove(&id);
                }
                CallState::Sent(_) => {}
            }
        }
    }

    pub fn process_up(&mut self) {
        if self.process != Process::Closed {
            self.process = Process::Up;
        }
    }

    /// Marks the process as down: no more lines are sent to it. Its remaining output may still be
    /// read.
    pub fn process_down(&mut self, now: Instant) {
        if self.process == Process::Up {
            self.process = Process::Down { since: now };
        }
    }

    /// Answers all sent calls as interrupted. Call this function after the last output of the
    /// process has been read.
    pub fn interrupt_sent(&mut self, effects: &mut Effects) {
        self.held_reports.clear();
        for (_, sent) in self.sent.drain() {
            self.states.remove(&sent.caller);
            effects.answer(sent.caller, FrameKind::Interrupted);
        }
    }

    /// While the process is down, rejects each line that has waited for `patience` since its
    /// arrival, or since the end of the process if that is later.
    pub fn expire(&mut self, now: Instant, patience: Duration, effects: &mut Effects) {
        let Process::Down { since } = self.process else {
            return;
        };
        let due = |item: &Waiting| item.arrived.max(since) + patience <= now;
        let states = &mut self.states;
        self.waiting
            .pop_fronts(due, |item| reject_waiting(&item, states, effects));
    }

    /// Starts sending calls. Call this function when the replaced method server is idle.
    pub fn release(&mut self) {
        self.held = false;
    }

    /// Accepts no more calls and rejects the waiting calls.
    pub fn close(&mut self, effects: &mut Effects) {
        self.process = Process::Closed;
        while let Some(item) = self.waiting.pop() {
            reject_waiting(&item, &mut self.states, effects);
        }
    }

    /// Whether the method server hangs: every slot is occupied by a lost call
    /// ([`Limits::overdue_after`]). Call this function regularly. The time until a call counts as
    /// lost starts at the end of the call's timeout or at the first check after the call was sent,
    /// whichever is later.
    pub fn is_overdue(&mut self, now: Instant) -> bool {
        let Some(slots) = self.limits.in_flight_max else {
            return false;
        };
        let after = self.limits.overdue_after;
        let overdue = self.sent.values_mut().filter_map(|sent| {
            let seen = *sent.seen.get_or_insert(now);
            (sent.due.max(seen) + after <= now).then_some(())
        });
        overdue.count() >= slots
    }

    pub fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    pub fn in_flight(&self) -> usize {
        self.sent.len()
    }

    pub fn queued(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a sent call occupies its slot until the method server answers it or ends, even if
    /// the call was cancelled or its link was lost.
    fn keeps_slots(&self) -> bool {
        self.limits.in_flight_max.is_some()
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn reject_waiting(
    item: &Waiting,
    states: &mut NumberMap<Caller, CallState>,
    effects: &mut Effects,
) {
    if let Some(caller) = item.caller {
        states.remove(&caller);
    }
    reject(item.caller, effects);
}

fn reject(caller: Option<Caller>, effects: &mut Effects) {
    match caller {
        Some(caller) => effects.answer(caller, FrameKind::Unavailable),
        None => effects.dropped_notifications += 1,
    }
}

#[cfg(test)]
mod tests;
