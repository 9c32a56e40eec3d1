//! Which calls wait, which are with the method server, and what is answered.
//!
//! A pure state machine: it takes what happened and when, and returns in [`Effects`] what to
//! answer. The writer of the method server's stdin takes the next lines from it when there is room
//! for them ([`CallTable::take`]): until then a call stays here, where users take turns and a
//! caller can still withdraw it. The table never touches a process, a socket or a clock.

mod reports;
mod take;

pub use reports::Reported;
pub use take::{LARGE_LINE_BYTES, PIPE_BYTES, Pipe, Take};

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use bytes::Bytes;
use svc_core::{
    fair_queue::{FairQueue, ItemKey, Turn},
    number_map::NumberMap,
};
use svc_link::FrameKind;

use self::{
    reports::{Held, Reports},
    take::Users,
};
use crate::outbox::Caller;

/// What a waiting line takes beside its JSON.
const WAITING_BYTES: usize = 128;

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

/// What is to be answered, in order.
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
    Waiting(ItemKey),
    Sent(u64),
}

/// A line that is not yet with the method server.
struct Waiting {
    /// `None` for a notification.
    caller: Option<Caller>,
    json: Bytes,
    arrived: Instant,
}

/// How a method server is fed.
pub struct Limits {
    /// Calls that it may have at a time: 1 in serial mode, `max_in_flight` otherwise.
    pub in_flight_max: Option<usize>,
    pub timeout: Duration,
    /// How long beyond its timeout an unanswered call counts as lost, if calls in flight are
    /// limited.
    pub overdue_after: Duration,
    /// Bytes that may wait. One user may take as much as is free.
    pub waiting_bytes_max: usize,
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
    limits: Limits,
    ids: CallIds,
    process: Process,
    /// Nothing is sent before the method server this one replaces is idle.
    held: bool,
    waiting: FairQueue<Waiting>,
    users: Users,
    sent: NumberMap<u64, Sent>,
    places: NumberMap<Caller, Place>,
    held_reports: Held,
    /// Every call with an id below this one has been read by the method server: it reads its stdin
    /// in order, and has answered the call before.
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
            places: NumberMap::default(),
            held_reports: Held::default(),
            read_below: 0,
        }
    }

    /// A call (with a caller) or a notification (without) of a user arrives.
    pub fn arrive(
        &mut self,
        user: u32,
        caller: Option<Caller>,
        json: Bytes,
        now: Instant,
        effects: &mut Effects,
    ) {
        if self.process == Process::Closed {
            refuse(caller, effects);
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
                    self.places.insert(caller, Place::Waiting(key));
                }
            }
            Err(item) => refuse(item.caller, effects),
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
        self.read_below = self.read_below.max(id + 1);
        self.places.remove(&sent.caller);
        if let Some(last) = sent.reports.and_then(|reports| reports.into_last()) {
            effects.report(sent.caller, last);
        }
        effects.answers.push(Answer {
            caller: sent.caller,
            kind,
            payload,
        });
        true
    }

    /// Nobody waits for this call any more; `false` if it is not here.
    pub fn cancel(&mut self, caller: Caller, effects: &mut Effects) -> bool {
        match self.places.get(&caller) {
            None => return false,
            Some(&Place::Waiting(key)) => {
                self.waiting.remove(key);
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
        if !self.holds_places() {
            self.sent.remove(&id);
            self.places.remove(&caller);
            effects.answer(caller, FrameKind::CancelledSent);
        } else if let Some(sent) = self.sent.get_mut(&id)
            && !sent.cancelled
        {
            sent.cancelled = true;
            effects.answer(caller, FrameKind::CancelledSent);
        }
    }

    /// A link is gone, and with it everyone who waited there. Where calls in flight are limited, a
    /// call that was sent keeps its place.
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
                Place::Waiting(key) => {
                    self.waiting.remove(key);
                }
                Place::Sent(id) if !self.holds_places() => {
                    self.sent.remove(&id);
                }
                Place::Sent(_) => {}
            }
        }
    }

    pub fn process_up(&mut self) {
        if self.process != Process::Closed {
            self.process = Process::Up;
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
        let places = &mut self.places;
        self.waiting
            .pop_fronts(due, |item| give_up(&item, places, effects));
    }

    /// The method server this one replaces is idle.
    pub fn release(&mut self) {
        self.held = false;
    }

    /// Takes no more calls and gives up on those not sent.
    pub fn close(&mut self, effects: &mut Effects) {
        self.process = Process::Closed;
        while let Some(item) = self.waiting.pop() {
            give_up(&item, &mut self.places, effects);
        }
    }

    /// Whether the method server hangs: every place is held by a call that has gone unanswered for
    /// too long. To be asked now and then: a call that was sent late has its time from the first
    /// question on.
    pub fn is_overdue(&mut self, now: Instant) -> bool {
        let Some(places) = self.limits.in_flight_max else {
            return false;
        };
        let after = self.limits.overdue_after;
        let overdue = self.sent.values_mut().filter_map(|sent| {
            let seen = *sent.seen.get_or_insert(now);
            (sent.due.max(seen) + after <= now).then_some(())
        });
        overdue.count() >= places
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

    /// Whether a sent call holds its place until its answer comes, even without a caller.
    fn holds_places(&self) -> bool {
        self.limits.in_flight_max.is_some()
    }
}

fn give_up(item: &Waiting, places: &mut NumberMap<Caller, Place>, effects: &mut Effects) {
    if let Some(caller) = item.caller {
        places.remove(&caller);
    }
    refuse(item.caller, effects);
}

fn refuse(caller: Option<Caller>, effects: &mut Effects) {
    match caller {
        Some(caller) => effects.answer(caller, FrameKind::Unavailable),
        None => effects.dropped_notifications += 1,
    }
}

#[cfg(test)]
mod tests;
