//! Statistics of methods (`GET /api/methods/{name}/stats`). Once per minute, stores the new counts of
//! methods, sinks and callers, and merges old blocks. A block holds the counts of one owner's methods
//! for a period, or the calls of one user.
//!
//! Only the owner of the method and users with `view_audit` see its statistics. Other callers may
//! see only their own calls, and the statistics do not distinguish callers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use svc_core::{
    Permission::ViewAudit,
    Timestamp, UserId,
    activity_stats::{MethodCount, MethodCounts, StatsRange, Subject, start_of},
    visibility::resolve,
};
use svc_protocol::api::{MethodStats, MethodStatsPoint};
use svc_store::{
    Store, StoreError, Tx,
    method_stats::{self, StatsTable},
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    identity::{Caller, Directory},
    methods::registry::Registry,
    metrics::{CallStats, Metrics},
    records::{RecordError, Result},
};

/// The period of a new block.
const PERIOD: Duration = Duration::from_secs(60);
/// The maximum number of merges and removals per minute. The rest follows later.
const STEPS_MAX: usize = 1_000;
/// The maximum number of owners whose blocks one transaction writes.
const OWNERS_MAX: usize = 100;

pub struct MethodStatistics {
    pub store: Store,
    pub directory: Arc<Directory>,
    pub registry: Arc<Registry>,
    pub metrics: Arc<Metrics>,
    pub calls: Arc<CallStats>,
}

/// The counts of some owners.
type OwnerCounts = Vec<(UserId, MethodCounts)>;

impl MethodStatistics {
    /// Writes the calls of each minute until the server stops. [`Self::flush`] writes the last
    /// calls.
    pub async fn run(&self, shutdown: &CancellationToken) {
        loop {
            let now = svc_clock::now();
            let end = start_of(now, PERIOD).plus(PERIOD);
            tokio::select! {
                () = tokio::time::sleep(end.since(now)) => {}
                () = shutdown.cancelled() => return,
            }
            self.write(start_of(now, PERIOD)).await;
            if let Err(error) = self.maintain(svc_clock::now()).await {
                warn!("cannot merge the statistics of methods: {error}");
            }
        }
    }

    /// Writes the calls that are not written yet.
    pub async fn flush(&self) {
        self.write(start_of(svc_clock::now(), PERIOD)).await;
    }

    /// Writes all calls that are not written yet, as calls of this minute. Those that cannot be
    /// written are kept for the next time.
    async fn write(&self, minute: Timestamp) {
        let methods = self.metrics.methods.take_unwritten();
        let calls = self.calls.take_unwritten();
        let lost = self.write_to(StatsTable::Methods, minute, methods).await;
        self.metrics.methods.put_back(&lost);
        let lost = self.write_to(StatsTable::Calls, minute, calls).await;
        self.calls.put_back(&lost);
    }

    /// Returns the counts that could not be written.
    async fn write_to(
        &self,
        table: StatsTable,
        minute: Timestamp,
        counts: impl IntoIterator<Item = (UserId, MethodCounts)>,
    ) -> OwnerCounts {
        let mut owners: OwnerCounts = counts.into_iter().collect();
        while !owners.is_empty() {
            let rest = owners.split_off(owners.len().min(OWNERS_MAX));
            let counts = Arc::new(owners);
            let written = Arc::clone(&counts);
            let write = self.store.write(move |tx| {
                for (owner, counts) in written.iter() {
                    method_stats::append(tx, table, *owner, minute, PERIOD, counts)?;
                }
                Ok(())
            });
            if let Err(error) = write.await {
                warn!("cannot write the statistics of calls; they are kept in memory: {error}");
                return counts.iter().cloned().chain(rest).collect();
            }
            owners = rest;
        }
        OwnerCounts::new()
    }

    /// Merges old blocks of short periods into blocks of longer periods, and removes the oldest
    /// blocks, in small steps.
    async fn maintain(&self, now: Timestamp) -> Result<(), StoreError> {
        let began = Instant::now();
        for _ in 0..STEPS_MAX {
            let step = move |tx: &mut Tx<'_>| {
                let mut has_more = false;
                for table in StatsTable::ALL {
                    has_more |= method_stats::merge(tx, table, now)?
                        || method_stats::prune(tx, table, now)? > 0;
                }
                Ok(has_more)
            };
            // The next minute must be written in time.
            if !self.store.write(step).await? || began.elapsed() > PERIOD / 2 {
                break;
            }
        }
        Ok(())
    }

    pub async fn get(
        &self,
        caller: &Caller,
        name: String,
        range: StatsRange,
    ) -> Result<MethodStats> {
        let find_owner = |name: &str| self.directory.find_active_user(name);
        let found = resolve(caller.user.id, &name, find_owner);
        let Some((owner, method)) = found.filter(|(owner, _)| may_see(caller, *owner)) else {
            return Err(unknown_method(&name));
        };
        let now = svc_clock::now();
        let first = range.first(now);
        let subject = Subject::Method(method.into());
        let wanted = subject.clone();
        let read = move |tx: &mut Tx<'_>| {
            method_stats::list(tx, StatsTable::Methods, owner, &wanted, first)
        };
        let mut counts = self.store.read_list(caller.user.id, read).await?;
        let unwritten = self.metrics.methods.find_unwritten(owner, &subject);
        if unwritten.calls() > 0 {
            counts.push((now, unwritten));
        }
        let owner_viewer = self.directory.find_user(owner);
        let is_registered = owner_viewer.is_some_and(|user| {
            let found = self.registry.find_visible(user.viewer(), owner, method);
            found.is_some()
        });
        if counts.is_empty() && !is_registered {
            return Err(unknown_method(&name));
        }
        Ok(show(method, owner, range, first, &counts))
    }
}

fn may_see(caller: &Caller, owner: UserId) -> bool {
    owner == caller.user.id || caller.may(ViewAudit)
}

fn show(
    method: &str,
    owner: UserId,
    range: StatsRange,
    first: Timestamp,
    counts: &[(Timestamp, MethodCount)],
) -> MethodStats {
    let (total, points) = show_points(range, first, counts, point);
    MethodStats {
        method: method.to_owned(),
        owner_id: owner,
        range,
        step_seconds: range.step().as_secs(),
        total,
        points,
    }
}

/// The sum of all counts, and the points of a chart.
pub(super) fn show_points<P>(
    range: StatsRange,
    first: Timestamp,
    counts: &[(Timestamp, MethodCount)],
    point: fn(Timestamp, &MethodCount) -> P,
) -> (P, Vec<P>) {
    let mut points = vec![MethodCount::default(); range.points()];
    let mut total = MethodCount::default();
    for (at, count) in counts {
        let position = at.since(first).as_secs() / range.step().as_secs();
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        // The clock of another server may be ahead.
        let last = points.len() - 1;
        points[position.min(last)].add(count);
        total.add(count);
    }
    let starts = (0..).map(|number| first.plus(range.step() * number));
    let points = starts.zip(&points).map(|(at, count)| point(at, count));
    (point(first, &total), points.collect())
}

pub(super) fn point(at: Timestamp, count: &MethodCount) -> MethodStatsPoint {
    MethodStatsPoint {
        at,
        calls: count.calls(),
        errors: count.errors,
        p50_ms: count.percentile_ms(0.5),
        p95_ms: count.percentile_ms(0.95),
        p99_ms: count.percentile_ms(0.99),
    }
}

fn unknown_method(name: &str) -> RecordError {
    RecordError::NotFound(format!(
        "method `{name}` does not exist or was not called, or is not yours; only its owner and users with the permission `view_audit` see its statistics"
    ))
}
