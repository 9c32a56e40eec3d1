//! Tells the servers of the zone how much of their limits users have used at each server: each
//! server writes a report about its busy users and reads the reports of the others.
//!
//! A server without busy users writes one empty report, and then no report until a user is busy
//! again. While the database is unavailable, each server allows an equal part of the rates of calls,
//! emits and changes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use svc_core::ServerId;
use svc_store::{Store, StoreError, Tx, limit_use, servers};
use tokio_util::sync::CancellationToken;

use super::DEAD_AFTER;
use crate::{
    limits::{CountUse, RateLimit, RateUse, TrialLimits},
    streams::Streams,
};

const EXCHANGE_EVERY: Duration = Duration::from_millis(500);
/// An unchanged report that is not empty is written again after this time.
const RENEW_AFTER: Duration = Duration::from_secs(1);
/// An older report does not count: its server has nothing to report, or is gone.
const REPORT_VALID: Duration = Duration::from_secs(3);

/// The limits that hold for the whole zone.
#[derive(Clone)]
pub struct ZoneLimits {
    pub calls: Arc<RateLimit>,
    pub emits: Arc<RateLimit>,
    pub changes: Arc<RateLimit>,
    pub trials: Arc<TrialLimits>,
    pub streams: Streams,
}

/// The use of limits at one server. A report of another version of svc may have other fields.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
struct Report {
    calls: Vec<RateUse>,
    emits: Vec<RateUse>,
    changes: Vec<RateUse>,
    sink_tests: Vec<CountUse>,
    script_runs: Vec<CountUse>,
    streams: Vec<CountUse>,
}

/// The state between two exchanges.
struct Exchange {
    store: Store,
    server: ServerId,
    limits: ZoneLimits,
    /// The number of servers, as last read.
    servers: u32,
    reported_at: Instant,
    followed_at: Instant,
    /// The last report that was written, and when.
    written: (Report, Instant),
}

/// Exchanges reports until the server stops.
pub(super) async fn run(
    store: &Store,
    server: ServerId,
    limits: &ZoneLimits,
    shutdown: &CancellationToken,
) {
    let now = Instant::now();
    let mut exchange = Exchange {
        store: store.clone(),
        server,
        limits: limits.clone(),
        servers: 1,
        reported_at: now,
        followed_at: now,
        written: (Report::default(), now),
    };
    loop {
        tokio::select! {
            () = tokio::time::sleep(EXCHANGE_EVERY) => {}
            () = shutdown.cancelled() => return,
        }
        match exchange.run().await {
            Ok(()) => {}
            Err(StoreError::Closed) => return,
            Err(error) => {
                super::log_failure(
                    "cannot exchange reports about used limits with the other servers",
                    &error,
                );
                exchange.limits.divide(exchange.servers);
            }
        }
    }
}

impl Exchange {
    async fn run(&mut self) -> Result<(), StoreError> {
        let elapsed = std::mem::replace(&mut self.reported_at, Instant::now()).elapsed();
        let report = self.limits.report(elapsed, self.servers);
        let reports = match self.must_write(&report) {
            true => self.write(report).await?,
            false => self.read().await?,
        };
        let elapsed = std::mem::replace(&mut self.followed_at, Instant::now()).elapsed();
        self.limits.follow(&reports, elapsed);
        Ok(())
    }

    fn must_write(&self, report: &Report) -> bool {
        let (written, at) = &self.written;
        report != written || (*report != Report::default() && at.elapsed() >= RENEW_AFTER)
    }

    async fn write(&mut self, report: Report) -> Result<Reports, StoreError> {
        let text = serde_json::to_string(&report).unwrap_or_default();
        let server = self.server;
        let write = move |tx: &mut Tx<'_>| {
            limit_use::set(tx, server, &text)?;
            read(tx, server)
        };
        let (servers, reports) = self.store.write(write).await?;
        self.written = (report, Instant::now());
        self.servers = servers;
        Ok(reports)
    }

    async fn read(&mut self) -> Result<Reports, StoreError> {
        let server = self.server;
        let (servers, reports) = self.store.read(move |tx| read(tx, server)).await?;
        self.servers = servers;
        Ok(reports)
    }
}

/// The reports of the other servers.
type Reports = Vec<(ServerId, Report)>;

/// The number of servers, and the reports of the others. A report that cannot be parsed counts as
/// empty: another version of svc wrote it.
fn read(tx: &mut Tx<'_>, server: ServerId) -> Result<(u32, Reports), StoreError> {
    let since = tx.now()?.minus(DEAD_AFTER);
    let servers = servers::count_since(tx, since)?;
    let found = limit_use::list_others(tx, server, REPORT_VALID)?.into_iter();
    let reports = found.map(|(id, text)| (id, serde_json::from_str(&text).unwrap_or_default()));
    Ok((servers, reports.collect()))
}

impl ZoneLimits {
    fn report(&self, elapsed: Duration, servers: u32) -> Report {
        let now = Instant::now();
        Report {
            calls: self.calls.report(elapsed, servers),
            emits: self.emits.report(elapsed, servers),
            changes: self.changes.report(elapsed, servers),
            sink_tests: self.trials.sinks.report(now),
            script_runs: self.trials.scripts.report(now),
            streams: self.streams.report(),
        }
    }

    fn follow(&self, reports: &[(ServerId, Report)], elapsed: Duration) {
        let now = Instant::now();
        let rates = |of: fn(&Report) -> &Vec<RateUse>| {
            let reports = reports.iter();
            reports.map(move |(server, report)| (*server, of(report).as_slice()))
        };
        self.calls
            .follow(rates(|report| &report.calls), elapsed, now);
        self.emits
            .follow(rates(|report| &report.emits), elapsed, now);
        self.changes
            .follow(rates(|report| &report.changes), elapsed, now);
        let counts = |of: fn(&Report) -> &Vec<CountUse>| {
            CountUse::sum(reports.iter().flat_map(|(_, report)| of(report)))
        };
        self.trials
            .sinks
            .follow(counts(|report| &report.sink_tests));
        self.trials
            .scripts
            .follow(counts(|report| &report.script_runs));
        self.streams.follow(counts(|report| &report.streams));
    }

    fn divide(&self, servers: u32) {
        let now = Instant::now();
        self.calls.divide(servers, now);
        self.emits.divide(servers, now);
        self.changes.divide(servers, now);
    }
}
