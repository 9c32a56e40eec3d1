//! Watches a method server's process and restarts it, until the method server is stopped or
//! replaced.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::{process::Process, shared::Shared};
use crate::backoff::Delays;

/// The interval of the check for overdue calls, as a multiple of `Policy::tick`. Overdue calls are
/// rare, and the check need not be punctual.
const OVERDUE_TICKS: u32 = 10;

/// Why the watch of a process ended.
enum End {
    StopRequested,
    Ended,
    Hung,
}

pub async fn supervise(shared: Arc<Shared>, first: Process, stop: CancellationToken) {
    let policy = Arc::clone(&shared.services.policy);
    let mut process = first;
    let mut delays = None;
    loop {
        let started = Instant::now();
        let end = watch(&shared, &mut process, &stop).await;
        shared.process_down();
        match end {
            End::StopRequested => {
                process.stop(&policy).await;
                shared.process_ended();
                return;
            }
            End::Ended | End::Hung => {
                let mut how = process.end().await;
                if matches!(end, End::Hung) {
                    how = "a call has gone unanswered for too long".to_owned();
                }
                shared.process_ended();
                if shared.inner.lock().retired {
                    close(&shared);
                    return;
                }
                shared
                    .services
                    .log
                    .agent(&format!("the method server ended ({how}) and is restarted"));
                shared.report();
            }
        }
        if started.elapsed() >= policy.restart_reset {
            delays = None;
        }
        let Some(restarted) = restart(&shared, &mut delays, &stop).await else {
            close(&shared);
            return;
        };
        process = restarted;
        shared.inner.lock().restarts += 1;
        shared.report();
    }
}

fn close(shared: &Shared) {
    shared.with(|inner| inner.table.close(&mut inner.effects));
}

/// Waits until the process ends or hangs, or `stop` is cancelled.
async fn watch(shared: &Shared, process: &mut Process, stop: &CancellationToken) -> End {
    let mut ticks = interval(shared.services.policy.tick * OVERDUE_TICKS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let limits_calls = shared.setup.in_flight_max().is_some();
    let ended = process.wait_until_ended();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            biased;
            () = &mut ended => return End::Ended,
            () = stop.cancelled() => return End::StopRequested,
            _ = ticks.tick(), if limits_calls => {
                if shared.inner.lock().table.is_overdue(Instant::now()) {
                    return End::Hung;
                }
            }
        }
    }
}

/// Starts a new process: the first time at once, then with growing delays. Returns `None` if the
/// method server is replaced or stopped during a delay.
async fn restart(
    shared: &Arc<Shared>,
    delays: &mut Option<Delays>,
    stop: &CancellationToken,
) -> Option<Process> {
    loop {
        let delay = delays.as_mut().map_or(Duration::ZERO, Delays::next_delay);
        wait(shared, Instant::now() + delay, stop).await?;
        let services = &shared.services;
        delays.get_or_insert_with(|| services.policy.restart.delays());
        let limit = services.policy.packages_restart_wait;
        services.packages.refresh_within(limit).await;
        match Process::spawn(shared) {
            Ok(process) => return Some(process),
            Err(error) => shared.services.log.agent(&error.to_string()),
        }
    }
}

/// Waits until `until`, and rejects calls that have waited too long. Returns `None` if the method
/// server is replaced or stopped.
async fn wait(shared: &Shared, until: Instant, stop: &CancellationToken) -> Option<()> {
    let policy = &shared.services.policy;
    loop {
        let now = Instant::now();
        let retired = shared.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.expire(now, policy.restart_wait, effects);
            inner.retired
        });
        if retired || stop.is_cancelled() {
            return None;
        }
        if now >= until {
            return Some(());
        }
        tokio::select! {
            biased;
            () = sleep(policy.tick.min(until - now)) => {}
            () = stop.cancelled() => {}
        }
    }
}
