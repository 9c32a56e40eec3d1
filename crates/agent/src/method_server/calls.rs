//! Which calls wait, which are with the method server, and who is to be told what.
//!
//! A pure state machine: it is told what happened and when, and says in [`Effects`] what to write
//! and what to answer. It never touches a process, a socket or a clock.

mod queue;
mod reports;

pub use reports::Reported;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use svc_core::registration::Mode;
use svc_protocol::link::FrameKind;

use self::{
    queue::{Queue, Waiting},
    reports::{Held, Reports},
};
use crate::link::Caller;

/// Ids of requests to method servers: unique for the life of the agent, below 2^53 for it.
pub type CallIds = Arc<AtomicU64>;

/// One line for the method server; a call's JSON lacks its id and closing brace.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub id: Option<u64>,
    pub json: Bytes,
}

/// An answer to a call, or a report on how far it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub caller: Caller,
    pub kind: FrameKind,
    pub payload: Bytes,
}

/// What the machine wants done, in order.
#[derive(Debug, Default)]
pub struct Effects {
    pub lines: Vec<Line>,
    pub answers: Vec<Answer>,
    pub dropped_notifications: usize,
}

impl Effects {
    fn answer(&mut self, caller: Caller, kind: FrameKind) {
        self.answers.push(Answer {
            caller,
            kind,
            payload: Bytes::new(),
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Process {
    Up,
    Down {
        since: Instant,
    },
    /// No more calls: it stops, or has stopped.
    Closed,
}

#[derive(Clone, Copy)]
enum Place {
    Waiting(u64),
    Sent(u64),
}

struct Sent {
    caller: Caller,
    cancelled: bool,
    /// When its time is up.
    due: Instant,
    /// When it was first seen to be with the method server. The hot path reads no clock.
    seen: Option<Instant>,
    /// Most calls report nothing.
    reports: Option<Box<Reports>>,
}

pub struct CallTable {
    mode: Mode,
    ids: CallIds,
    timeout: Duration,
    /// How long beyond its timeout an unanswered serial call means that the server hangs.
    overdue_after: Duration,
    unwritten_bytes_max: usize,
    process: Process,
    /// Nothing is sent before the method server this one replaces is idle.
    held: bool,
    waiting: Queue,
    sent: HashMap<u64, Sent>,
    places: HashMap<Caller, Place>,
    held_reports: Held,
}

impl CallTable {
    pub fn new(
        mode: Mode,
        ids: CallIds,
        timeout: Duration,
        overdue_after: Duration,
        unwritten_bytes_max: usize,
        held: bool,
        now: Instant,
    ) -> Self {
        Self {
            mode,
            ids,
            timeout,
            overdue_after,
            unwritten_bytes_max,
            process: Process::Down { since: now },
            held,
            waiting: Queue::default(),
            sent: HashMap::new(),
            places: HashMap::new(),
            held_reports: Held::default(),
        }
    }

    /// A call (with a caller) or a notification (without) arrives. `unwritten_bytes` were handed
    /// over earlier and are not yet in the method server's pipe.
    pub fn arrive(
        &mut self,
        caller: Option<Caller>,
        json: Bytes,
        unwritten_bytes: usize,
        now: Instant,
        effects: &mut Effects,
    ) {
        let full = self.waiting.bytes() + unwritten_bytes + json.len() > self.unwritten_bytes_max;
        if full || self.process == Process::Closed {
            refuse(caller, effects);
            return;
        }
        let item = Waiting {
            caller,
            json,
            arrived: now,
        };
        if self.waiting.is_empty() && self.may_send() {
            self.send(item, effects);
        } else {
            self.wait(item);
        }
    }

    /// The method server answered; `false` if no call of ours has this id (any more).
    pub fn answer(
        &mut self,
        id: u64,
        kind: FrameKind,
        payload: Bytes,
        effects: &mut Effects,
    ) -> bool {
        let Some(sent) = self.sent.remove(&id) else {
            return false;
        };
        self.places.remove(&sent.caller);
        if let Some(last) = sent.reports.and_then(|reports| reports.into_last()) {
            effects.report(sent.caller, last);
        }
        effects.answers.push(Answer {
            caller: sent.caller,
            kind,
            payload,
        });
        self.pump(effects);
        true
    }

    /// Nobody waits for this call any more; `false` if it is not here.
    pub fn cancel(&mut self, caller: Caller, effects: &mut Effects) -> bool {
        match self.places.get(&caller) {
            None => return false,
            Some(&Place::Waiting(number)) => {
                self.waiting.remove(number);
                self.places.remove(&caller);
                effects.answer(caller, FrameKind::CancelledUnsent);
            }
            Some(&Place::Sent(id)) => {
                self.cancel_sent(id, caller, effects);
            }
        }
        true
    }

    fn cancel_sent(&mut self, id: u64, caller: Caller, effects: &mut Effects) {
        match self.mode {
            Mode::Concurrent => {
                self.sent.remove(&id);
                self.places.remove(&caller);
                effects.answer(caller, FrameKind::CancelledSent);
            }
            Mode::Serial => {
                if let Some(sent) = self.sent.get_mut(&id)
                    && !sent.cancelled
                {
                    sent.cancelled = true;
                    effects.answer(caller, FrameKind::CancelledSent);
                }
            }
        }
    }

    /// A link is gone, and with it everyone who waited there. What was sent in serial mode keeps
    /// its place.
    pub fn forget_link(&mut self, link: u64) {
        let gone: Vec<_> = self
            .places
            .iter()
            .filter(|(caller, _)| caller.link == link)
            .map(|(caller, place)| (*caller, *place))
            .collect();
        for (caller, place) in gone {
            self.places.remove(&caller);
            match place {
                Place::Waiting(number) => self.waiting.remove(number),
                Place::Sent(id) if self.mode == Mode::Concurrent => {
                    self.sent.remove(&id);
                }
                Place::Sent(_) => {}
            }
        }
    }

    pub fn process_up(&mut self, effects: &mut Effects) {
        if self.process != Process::Closed {
            self.process = Process::Up;
            self.pump(effects);
        }
    }

    /// The process takes no more lines. What it has already written may still be read.
    pub fn process_down(&mut self, now: Instant) {
        if self.process == Process::Up {
            self.process = Process::Down { since: now };
        }
    }

    /// The last of its output has been read: nothing that was sent will be answered.
    pub fn interrupt_sent(&mut self, effects: &mut Effects) {
        self.held_reports.clear();
        for (_, sent) in self.sent.drain() {
            self.places.remove(&sent.caller);
            effects.answer(sent.caller, FrameKind::Interrupted);
        }
    }

    /// Gives up on what has waited `patience` for a process that is down.
    pub fn expire(&mut self, now: Instant, patience: Duration, effects: &mut Effects) {
        let Process::Down { since } = self.process else {
            return;
        };
        let due = |item: &Waiting| item.arrived.max(since) + patience <= now;
        while self.waiting.front().is_some_and(due) {
            self.give_up_front(effects);
        }
    }

    /// The method server this one replaces is idle.
    pub fn release(&mut self, effects: &mut Effects) {
        self.held = false;
        self.pump(effects);
    }

    /// Takes no more calls and gives up on those not sent.
    pub fn close(&mut self, effects: &mut Effects) {
        self.process = Process::Closed;
        while !self.waiting.is_empty() {
            self.give_up_front(effects);
        }
    }

    /// Whether a sent call has gone unanswered so long that the method server must be hung. To be
    /// asked now and then: a call that was sent late has its time from the first question on.
    pub fn is_overdue(&mut self, now: Instant) -> bool {
        let after = self.overdue_after;
        self.mode == Mode::Serial
            && self.sent.values_mut().any(|sent| {
                let seen = *sent.seen.get_or_insert(now);
                sent.due.max(seen) + after <= now
            })
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

    fn may_send(&self) -> bool {
        self.process == Process::Up
            && !self.held
            && (self.mode == Mode::Concurrent || self.sent.is_empty())
    }

    fn send(&mut self, item: Waiting, effects: &mut Effects) {
        let Some(caller) = item.caller else {
            // A notification frees its place as soon as it is written.
            effects.lines.push(Line {
                id: None,
                json: item.json,
            });
            return;
        };
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.places.insert(caller, Place::Sent(id));
        self.sent.insert(
            id,
            Sent {
                caller,
                cancelled: false,
                due: item.arrived + self.timeout,
                seen: None,
                reports: None,
            },
        );
        effects.lines.push(Line {
            id: Some(id),
            json: item.json,
        });
    }

    fn pump(&mut self, effects: &mut Effects) {
        while self.may_send() {
            match self.take_front() {
                None => return,
                Some(item) => self.send(item, effects),
            }
        }
    }

    fn wait(&mut self, item: Waiting) {
        let caller = item.caller;
        let number = self.waiting.push(item);
        if let Some(caller) = caller {
            self.places.insert(caller, Place::Waiting(number));
        }
    }

    fn take_front(&mut self) -> Option<Waiting> {
        let item = self.waiting.pop()?;
        if let Some(caller) = item.caller {
            self.places.remove(&caller);
        }
        Some(item)
    }

    fn give_up_front(&mut self, effects: &mut Effects) {
        if let Some(item) = self.take_front() {
            refuse(item.caller, effects);
        }
    }
}

fn refuse(caller: Option<Caller>, effects: &mut Effects) {
    match caller {
        Some(caller) => effects.answer(caller, FrameKind::Unavailable),
        None => effects.dropped_notifications += 1,
    }
}

#[cfg(test)]
mod tests;
