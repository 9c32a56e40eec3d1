//! Limits how often progress reports of a call are sent, so that a method server with many reports
//! does not overload the link.

use std::time::Duration;

use bytes::Bytes;
use svc_link::FrameKind;
use tokio::time::Instant;

use super::{Answer, CallTable, Effects};
use crate::outbox::Caller;

/// Interval between the reports of a call after a burst. At most 20 reports of a call are sent in
/// a second: a burst of nine, ten at this interval, and the held report that is sent before the
/// answer.
const EVERY: Duration = Duration::from_millis(100);
/// How long before its scheduled time a report may be sent. 800 ms are eight intervals, so a burst
/// may have nine reports.
const AHEAD: Duration = Duration::from_millis(800);

/// The outcome of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportOutcome {
    /// No sent call has this id, or the line is not a valid report.
    Unknown,
    /// The report was sent, or dropped because its call was cancelled.
    Done,
    /// The report came too early and is held: see [`CallTable::send_held_reports`].
    Held { until: Instant },
}

/// Ids of calls with a held report. Some of these calls may have been answered since.
pub type HeldReports = Vec<u64>;

/// The reports of one call.
pub struct Reports {
    /// The scheduled time of the next report. The report may be sent up to `AHEAD` earlier.
    next: Instant,
    /// The newest report that came too early.
    held: Option<Bytes>,
}

impl Reports {
    pub fn new(now: Instant) -> Self {
        Self {
            next: now,
            held: None,
        }
    }

    /// Returns the report if it may be sent now. Otherwise holds it, in place of an earlier held
    /// report.
    pub fn take(&mut self, report: Bytes, now: Instant) -> Option<Bytes> {
        self.held = Some(report);
        self.take_due(now)
    }

    /// Returns the held report if it is due.
    pub fn take_due(&mut self, now: Instant) -> Option<Bytes> {
        if self.next > now + AHEAD {
            return None;
        }
        let report = self.held.take()?;
        self.next = self.next.max(now) + EVERY;
        Some(report)
    }

    /// When the held report may be sent.
    pub fn due(&self) -> Option<Instant> {
        self.held.as_ref()?;
        Some(self.next.checked_sub(AHEAD).unwrap_or(self.next))
    }

    /// Returns the held report, to send it before the answer.
    pub fn into_last(self) -> Option<Bytes> {
        self.held
    }
}

impl CallTable {
    /// Handles a progress report of the method server.
    pub fn report(
        &mut self,
        id: u64,
        report: Bytes,
        now: Instant,
        effects: &mut Effects,
    ) -> ReportOutcome {
        let Some(sent) = self.sent.get_mut(&id) else {
            return ReportOutcome::Unknown;
        };
        if sent.cancelled {
            return ReportOutcome::Done;
        }
        let reports = sent
            .reports
            .get_or_insert_with(|| Box::new(Reports::new(now)));
        let was_held = reports.due().is_some();
        if let Some(report) = reports.take(report, now) {
            effects.report(sent.caller, report);
        }
        match reports.due() {
            None => ReportOutcome::Done,
            Some(until) => {
                if !was_held {
                    self.held_reports.push(id);
                }
                ReportOutcome::Held { until }
            }
        }
    }

    /// Sends the held reports that are due. Returns when the next held report is due.
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
            times: None,
        });
    }
}
