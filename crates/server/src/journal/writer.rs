//! Writes waiting rows about once per second, removes old rows, and merges small blocks.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use svc_core::UserId;
use svc_store::{StoreError, calls};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Journal;

const WRITE_EVERY: Duration = Duration::from_secs(1);
const MAINTAIN_EVERY: Duration = Duration::from_secs(10);
/// How often dropped rows are reported in the log.
const WARN_EVERY: Duration = Duration::from_secs(60);
/// Steps of maintenance for one owner in one pass. A later pass continues.
const STEPS_MAX: usize = 8;

#[derive(Default)]
pub(super) struct WriterState {
    /// Owners whose blocks changed since the last maintenance, or need further steps.
    changed: HashSet<UserId>,
    /// Dropped rows that the log has reported.
    reported: u64,
    reported_at: Option<Instant>,
}

impl Journal {
    /// Writes rows until the server stops. [`Self::flush`] writes the last ones.
    pub async fn run(&self, shutdown: &CancellationToken) {
        if !self.is_on() {
            return;
        }
        let mut maintained = Instant::now();
        loop {
            tokio::select! {
                () = self.many.notified() => {}
                () = tokio::time::sleep(WRITE_EVERY) => {}
                () = shutdown.cancelled() => return,
            }
            self.flush().await;
            if maintained.elapsed() >= MAINTAIN_EVERY {
                self.maintain().await;
                maintained = Instant::now();
            }
        }
    }

    /// Writes all waiting rows.
    pub async fn flush(&self) {
        let mut state = self.writing.lock().await;
        let rows = {
            let mut waiting = self.waiting.lock();
            waiting.total = 0;
            std::mem::take(&mut waiting.rows)
        };
        let counts: Vec<_> = rows
            .iter()
            .map(|(owner, rows)| (*owner, rows.len()))
            .collect();
        if !counts.is_empty() {
            let written = self.store.write(move |tx| {
                for (owner, rows) in rows {
                    calls::append(tx, owner, rows)?;
                }
                Ok(())
            });
            match written.await {
                Ok(()) => state.changed.extend(counts.iter().map(|(owner, _)| *owner)),
                Err(error) => self.count_lost(&counts, &error),
            }
        }
        self.report_dropped(&mut state);
    }

    /// Removes rows that are too old, or too many for their owner, and merges small blocks. Owners
    /// that need further steps are continued at the next call.
    pub async fn maintain(&self) {
        let owners = std::mem::take(&mut self.writing.lock().await.changed);
        let mut owners: Vec<_> = owners.into_iter().collect();
        let mut unfinished = Vec::new();
        while let Some(owner) = owners.pop() {
            match self.maintain_owner(owner).await {
                Ok(true) => {}
                Ok(false) => unfinished.push(owner),
                Err(error) => {
                    warn!("cannot maintain the call journal: {error}");
                    unfinished.push(owner);
                    unfinished.append(&mut owners);
                }
            }
        }
        self.writing.lock().await.changed.extend(unfinished);
    }

    /// Makes a limited number of steps. Returns whether the owner needs no further step.
    async fn maintain_owner(&self, owner: UserId) -> Result<bool, StoreError> {
        let keep = self.keep_rule();
        for _ in 0..STEPS_MAX {
            let step = self.store.write(move |tx| calls::maintain(tx, owner, keep));
            if !step.await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes old rows of all owners, in small steps.
    pub async fn prune(&self) -> Result<(), StoreError> {
        let since = self.keep_rule().since;
        while self.store.write(move |tx| calls::prune(tx, since)).await? > 0 {}
        Ok(())
    }

    fn keep_rule(&self) -> calls::KeepRule {
        calls::KeepRule {
            rows: self.options.rows_per_owner,
            since: svc_clock::now().minus(self.options.keep),
        }
    }

    /// Counts rows that could not be written as dropped.
    fn count_lost(&self, counts: &[(UserId, usize)], error: &StoreError) {
        warn!("cannot write the call journal: {error}");
        let mut waiting = self.waiting.lock();
        for (owner, rows) in counts {
            *waiting.dropped.entry(*owner).or_default() += *rows as u64;
            self.metrics.journal.count_dropped(*rows as u64);
        }
    }

    fn report_dropped(&self, state: &mut WriterState) {
        let is_due = state
            .reported_at
            .is_none_or(|at| at.elapsed() >= WARN_EVERY);
        let dropped = self.count_dropped(None);
        if dropped > state.reported && is_due {
            let new = dropped - state.reported;
            warn!("the call journal dropped {new} calls: they came too fast, or a write failed");
            state.reported = dropped;
            state.reported_at = Some(Instant::now());
        }
    }
}
