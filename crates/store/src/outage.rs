//! [`Outage`]: whether the disk of the embedded database fails. Begin and end are logged once, so
//! that a full disk does not also fill the log.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::StoreError;

/// The least time between two records about the begin of an outage, and between two probes.
const LOG_PAUSE: Duration = Duration::from_secs(10);
const PROBE_PAUSE: Duration = Duration::from_secs(1);

/// What the embedded database cannot do at the moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailingWrites {
    pub is_disk_full: bool,
    pub reason: String,
}

#[derive(Default)]
pub(super) struct Outage {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    logged_at: Option<Instant>,
    probed_at: Option<Instant>,
}

struct Current {
    since: Instant,
    error: StoreError,
    /// Statements that failed.
    failed: u64,
}

impl Outage {
    /// Notes the error of a statement. Errors that are no outage are ignored.
    pub(super) fn note(&self, error: &StoreError) {
        if !error.is_outage() {
            return;
        }
        let (mut state, now) = (self.state.lock(), Instant::now());
        match &mut state.current {
            Some(current) => {
                current.failed += 1;
                current.error = error.clone();
            }
            None => {
                state.current = Some(Current {
                    since: now,
                    error: error.clone(),
                    failed: 1,
                });
                if has_passed(state.logged_at, LOG_PAUSE, now) {
                    state.logged_at = Some(now);
                    tracing::error!(target: crate::LOG_TARGET, %error, "the database fails; requests that need it get 503, and everything else continues");
                }
            }
        }
    }

    /// Ends the outage: a commit has written to the disk.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        if let Some(ended) = state.current.take() {
            let seconds = ended.since.elapsed().as_secs_f64();
            tracing::info!(target: crate::LOG_TARGET, seconds, failed_statements = ended.failed, "the database takes writes again");
        }
    }

    pub(super) fn find(&self) -> Option<FailingWrites> {
        let state = self.state.lock();
        state.current.as_ref().map(|current| FailingWrites {
            is_disk_full: matches!(current.error, StoreError::DiskFull(_)),
            reason: current.error.to_string(),
        })
    }

    /// Whether an outage should be probed now. Counts as a probe if it should.
    pub(super) fn may_probe(&self) -> bool {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let may = state.current.is_some() && has_passed(state.probed_at, PROBE_PAUSE, now);
        if may {
            state.probed_at = Some(now);
        }
        may
    }
}

fn has_passed(at: Option<Instant>, pause: Duration, now: Instant) -> bool {
    at.is_none_or(|at| now.duration_since(at) >= pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_lasts_from_the_first_failure_to_the_next_written_commit() {
        let outage = Outage::default();
        outage.note(&StoreError::NoRow);
        assert_eq!(outage.find(), None);
        assert!(!outage.may_probe());
        outage.note(&StoreError::Disk("I/O".to_owned()));
        outage.note(&StoreError::DiskFull("full".to_owned()));
        let found = outage.find().expect("an outage");
        assert!(found.is_disk_full);
        assert!(found.reason.contains("full"), "{}", found.reason);
        assert!(outage.may_probe());
        assert!(!outage.may_probe(), "one probe a second");
        outage.end();
        assert_eq!(outage.find(), None);
    }
}
