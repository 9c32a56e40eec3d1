//! How often a call may report how far it is: a method server that writes much of it costs the
//! link little.

use std::time::{Duration, Instant};

use bytes::Bytes;
use svc_link::FrameKind;

use super::{Answer, CallTable, Effects};
use crate::outbox::Caller;

/// Reports pass at this distance once a call has used up its first few. With those, and with the
/// one that goes out before the answer, a second has at most 20 of them.
const EVERY: Duration = Duration::from_millis(100);
/// What the first few are ahead of their time: nine pass at once.
const AHEAD: Duration = Duration::from_millis(800);

/// What became of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reported {
    /// Its call is not with the method server.
    Unknown,
    /// It is on its way, or nobody is left to hear it.
    Done,
    /// It came too early: see [`CallTable::send_held_reports`].
    Held { until: Instant },
}

/// Calls that have a report waiting; some may have been answered since.
pub type Held = Vec<u64>;

/// The reports of one call.
pub struct Reports {
    /// When the next one would be on time.
    next: Instant,
    /// The last of those that came too early.
    held: Option<Bytes>,
}

impl Reports {
    pub fn new(now: Instant) -> Self {
        Self {
            next: now,
            held: None,
        }
    }

    /// Gives a report back if it may pass; else it is held, in the place of the one before.
    pub fn take(&mut self, report: Bytes, now: Instant) -> Option<Bytes> {
        self.held = Some(report);
        self.take_due(now)
    }

    /// The one that is held, if its time has come.
    pub fn take_due(&mut self, now: Instant) -> Option<Bytes> {
        if self.next > now + AHEAD {
            return None;
        }
        let report = self.held.take()?;
        self.next = self.next.max(now) + EVERY;
        Some(report)
    }

    /// When the one that is held may pass.
    pub fn due(&self) -> Option<Instant> {
        self.held.as_ref()?;
        Some(self.next.checked_sub(AHEAD).unwrap_or(self.next))
    }

    /// The one that is held, because the answer follows.
    pub fn into_last(self) -> Option<Bytes> {
        self.held
    }
}

impl CallTable {
    /// The method server says how far a call is.
    pub fn report(
        &mut self,
        id: u64,
        report: Bytes,
        now: Instant,
        effects: &mut Effects,
    ) -> Reported {
        let Some(sent) = self.sent.get_mut(&id) else {
            return Reported::Unknown;
        };
        if sent.cancelled {
            return Reported::Done;
        }
        let reports = sent
            .reports
            .get_or_insert_with(|| Box::new(Reports::new(now)));
        let was_held = reports.due().is_some();
        if let Some(report) = reports.take(report, now) {
            effects.report(sent.caller, report);
        }
        match reports.due() {
            None => Reported::Done,
            Some(until) => {
                if !was_held {
                    self.held_reports.push(id);
                }
                Reported::Held { until }
            }
        }
    }

    /// Sends the reports whose time has come; when the next one's does.
    pub fn send_held_reports(&mut self, now: Instant, effects: &mut Effects) -> Option<Instant> {
        let (sent, mut next) = (&mut self.sent, None);
        self.held_reports.retain(|id| {
            let Some(sent) = sent.get_mut(id) else {
                return false;
            };
            let Some(reports) = &mut sent.reports else {
                return false;
            };
            if let Some(report) = reports.take_due(now) {
                effects.report(sent.caller, report);
            }
            let due = reports.due();
            next = next.into_iter().chain(due).min();
            due.is_some()
        });
        next
    }
}

impl Effects {
    pub(super) fn report(&mut self, caller: Caller, payload: Bytes) {
        self.answers.push(Answer {
            caller,
            kind: FrameKind::Progress,
            payload,
        });
    }
}
