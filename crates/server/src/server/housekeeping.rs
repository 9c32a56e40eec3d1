//! Background tasks that begin at the start of the server.

use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::warn;

use crate::{
    app::App,
    zone::{ZoneHandles, ZoneLimits},
};

/// How often the time of the last use of each credential is stored.
const LAST_USED_EVERY: Duration = Duration::from_secs(60);
/// How often old and expired records, such as sessions and audit entries, are removed.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

pub(super) fn housekeeping(app: &App) -> Vec<JoinHandle<()>> {
    let watching = tokio::spawn(app.links.clone().watch_directory());
    let flushing = tokio::spawn(repeat(app.clone(), LAST_USED_EVERY, async |app: &App| {
        if let Err(error) = app.identity.flush_last_used().await {
            warn!("cannot store the last use of credentials: {error}");
        }
    }));
    let pruning = tokio::spawn(repeat(app.clone(), PRUNE_EVERY, async |app: &App| {
        if let Err(error) = app.identity.prune().await {
            warn!("cannot remove old sessions and audit entries: {error}");
        }
        if let Err(error) = app.oauth.prune().await {
            warn!("cannot remove unused apps and expired records of apps: {error}");
        }
        if let Err(error) = app.oidc.prune().await {
            warn!("cannot remove old sign-ins with providers: {error}");
        }
        if let Err(error) = app.journal.prune().await {
            warn!("cannot remove old calls from the journal: {error}");
        }
        if let Err(error) = app.second_factors.prune().await {
            warn!("cannot remove logins that were not completed: {error}");
        }
    }));
    vec![
        watching,
        flushing,
        pruning,
        tokio::spawn(test_sandbox(app.clone())),
        spawn(app, async |app| app.schedules.run(&app.shutdown).await),
        spawn(app, async |app| app.journal.run(&app.shutdown).await),
        spawn(app, async |app| app.traces.run(&app.shutdown).await),
        spawn(app, async |app| app.method_stats.run(&app.shutdown).await),
        // Stops local spaces whose owner may no longer run them.
        spawn(app, async |app| {
            app.spaces.watch_owners(&app.shutdown).await
        }),
        tokio::spawn(app.zone.clone().run(zone_handles(app))),
    ]
}

fn spawn<F>(app: &App, work: impl FnOnce(App) -> F) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(work(app.clone()))
}

fn zone_handles(app: &App) -> ZoneHandles {
    ZoneHandles {
        store: app.store.clone(),
        memory: app.identity.writer.memory.clone(),
        links: app.links.clone(),
        hub: app.hub.clone(),
        limits: ZoneLimits {
            calls: app.calls.rate_limit.clone(),
            emits: app.events.rate_limit().clone(),
            changes: app.changes.clone(),
            trials: app.scripts.trials.clone(),
            streams: app.history.streams.clone(),
        },
        logs: app.spaces.logs.clone(),
        position: app.zone_position,
        catch_up: app.catch_up.clone(),
        stream_catch_up: app.stream_catch_up.clone(),
        shutdown: app.shutdown.clone(),
    }
}

/// Tests the sandbox at the start, so that a failure is reported before the first script.
async fn test_sandbox(app: App) {
    tokio::select! {
        // The runner logs the result.
        _ = app.scripts.runner.test_sandbox() => (),
        () = app.shutdown.cancelled() => (),
    }
}

async fn repeat(app: App, every: Duration, work: impl AsyncFn(&App)) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => work(&app).await,
            () = app.shutdown.cancelled() => return,
        }
    }
}
