//! [`Outage`]: whether the disk of the embedded database fails. Begin and end are logged once, so
//! that a full disk does not also fill the log.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::{error::StoreError, handle::Store, meta};

/// The minimum time between two log records that report the beginning of an outage.
const LOG_PAUSE: Duration = Duration::from_secs(10);
/// The minimum time between two probes.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
/// A write that takes longer counts as hanging.
const HANG_AFTER: Duration = Duration::from_secs(5);
/// How long a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// The key in the table `meta` that a probe writes and removes.
const PROBE: &str = "write_probe";

/// Why the embedded database cannot be written at the moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailingWrites {
    pub is_disk_full: bool,
    pub reason: String,
}

impl Store {
    /// Why the embedded database cannot be written at the moment; `None` if it can be written.
    /// During an outage, tries a small write, at most once a second. Otherwise the end of the
    /// outage would not be noticed before the next write of a caller.
    pub async fn find_failing_writes(&self) -> Option<FailingWrites> {
        if self.outage().may_probe() {
            let probe = self.write(|tx| {
                meta::set(tx, PROBE, "")?;
                meta::delete(tx, PROBE)
            });
            // The connection notes the outcome.
            let _ = tokio::time::timeout(PROBE_TIMEOUT, probe).await;
        }
        self.outage().find()
    }
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
    /// When the writer began the transaction that it works on.
    writing_since: Option<Instant>,
}

struct Current {
    since: Instant,
    error: StoreError,
    /// Statements that failed.
    failed: u64,
    is_logged: bool,
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
                let is_logged = has_passed(state.logged_at, LOG_PAUSE, now);
                state.current = Some(Current {
                    since: now,
                    error: error.clone(),
                    failed: 1,
                    is_logged,
                });
                if is_logged {
                    state.logged_at = Some(now);
                    tracing::error!(target: crate::LOG_TARGET, %error, "the database fails; requests that need it get 503, and everything else continues");
                }
            }
        }
    }

    /// Ends the outage: a commit has written to the disk.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        if let Some(ended) = state.current.take()
            && ended.is_logged
        {
            let seconds = ended.since.elapsed().as_secs_f64();
            tracing::info!(target: crate::LOG_TARGET, seconds, failed_statements = ended.failed, "the database takes writes again");
        }
    }

    /// Notes that the writer begins or has ended a transaction.
    pub(super) fn set_writing(&self, is_writing: bool) {
        self.state.lock().writing_since = is_writing.then(Instant::now);
    }

    pub(super) fn find(&self) -> Option<FailingWrites> {
        let state = self.state.lock();
        if let Some(current) = &state.current {
            return Some(FailingWrites {
                is_disk_full: matches!(current.error, StoreError::DiskFull(_)),
                reason: current.error.to_string(),
            });
        }
        let writing = state.writing_since?.elapsed();
        (writing > HANG_AFTER).then(|| FailingWrites {
            is_disk_full: false,
            reason: format!("a write has not finished for {} s", writing.as_secs()),
        })
    }

    /// Whether there is an outage that should be probed now. If so, records the time of this call
    /// as the time of the last probe.
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
