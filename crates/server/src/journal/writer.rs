//! Writes the waiting rows of the call journal about once per second, removes old rows, and merges
//! small blocks.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use svc_core::{
    Id, UserId,
    journal::{CallPayload, CallRow},
};
use svc_store::{StoreError, calls};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Journal, payloads::WaitingPayload};

const WRITE_EVERY: Duration = Duration::from_secs(1);
const MAINTAIN_EVERY: Duration = Duration::from_secs(10);
/// How often dropped rows are reported in the log.
const WARN_EVERY: Duration = Duration::from_secs(60);
/// Steps of maintenance for one owner in one pass. A later pass continues.
const STEPS_MAX: usize = 16;

/// The calls of one owner, ready to be written.
type FinishedCalls = (UserId, Vec<CallRow>, Vec<CallPayload>);

#[derive(Default)]
pub(super) struct WriterState {
    /// Owners whose blocks changed since the last maintenance, or need further steps.
    changed: HashSet<UserId>,
    /// Dropped rows that the log has reported.
    reported: u64,
    reported_at: Option<Instant>,
}

impl Journal {
    /// Writes rows until the server stops. The stopping server calls [`Self::flush`] for the last
    /// rows.
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

    /// Writes all waiting rows and payloads. The owner with the most bytes of payloads is last.
    pub async fn flush(&self) {
        let mut state = self.writing.lock().await;
        let calls = {
            let mut waiting = self.waiting.lock();
            waiting.total = 0;
            waiting.accepted.renew(Instant::now());
            std::mem::take(&mut waiting.calls)
        };
        let (mut large, small): (Vec<_>, Vec<_>) = calls
            .into_iter()
            .partition(|(_, calls)| !calls.payloads.is_empty());
        let small = small
            .into_iter()
            .map(|(owner, calls)| (owner, calls.rows, Vec::new()));
        self.write(&mut state, small.collect()).await;
        large.sort_by_cached_key(|(_, calls)| {
            let sizes = calls.payloads.iter().map(|(_, payload)| payload.bytes());
            sizes.sum::<usize>()
        });
        // Each owner with payloads has a transaction of its own, so that no transaction takes long.
        for (owner, calls) in large {
            let payloads = self.finish(calls.payloads).await;
            self.write(&mut state, vec![(owner, calls.rows, payloads)])
                .await;
        }
        self.report_dropped(&mut state);
    }

    /// Checks and redacts payloads, on a thread for blocking work.
    async fn finish(&self, payloads: Vec<(Id, WaitingPayload)>) -> Vec<CallPayload> {
        let bytes_max = self.options.payload_bytes;
        let finish = move || {
            let payloads = payloads.into_iter();
            payloads
                .map(|(id, payload)| payload.finish(id, bytes_max))
                .collect()
        };
        let finished = tokio::task::spawn_blocking(finish).await;
        finished.unwrap_or_else(|_| {
            warn!("the call journal dropped payloads: the task that redacts them failed");
            Vec::new()
        })
    }

    /// Writes calls of owners in one transaction.
    async fn write(&self, state: &mut WriterState, calls: Vec<FinishedCalls>) {
        if calls.is_empty() {
            return;
        }
        let counts = calls.iter().map(|(owner, rows, _)| (*owner, rows.len()));
        let counts: Vec<_> = counts.collect();
        let written = self.store.write(move |tx| {
            for (owner, rows, payloads) in calls {
                if calls::append(tx, owner, rows)? {
                    calls::append_payloads(tx, owner, payloads)?;
                }
            }
            Ok(())
        });
        match written.await {
            Ok(()) => state.changed.extend(counts.iter().map(|(owner, _)| *owner)),
            Err(error) => self.count_lost(&counts, &error),
        }
    }

    /// For each owner whose blocks changed: removes rows that are too old or too many, and merges
    /// small blocks. The next call continues with owners that need further steps.
    pub async fn maintain(&self) {
        let owners = std::mem::take(&mut self.writing.lock().await.changed);
        let mut owners: Vec<_> = owners.into_iter().collect();
        let mut unfinished = Vec::new();
        while let Some(owner) = owners.pop() {
            match self.maintain_owner(owner).await {
                Ok(true) => {}
                Ok(false) => unfinished.push(owner),
                Err(error) => {
                    if !error.is_outage() {
                        warn!("cannot maintain the call journal: {error}");
                    }
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
            payload_bytes: self.options.payload_bytes_per_owner(),
        }
    }

    /// Counts the rows of a failed write as dropped.
    fn count_lost(&self, counts: &[(UserId, usize)], error: &StoreError) {
        if !error.is_outage() {
            warn!("cannot write the call journal: {error}");
        }
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
