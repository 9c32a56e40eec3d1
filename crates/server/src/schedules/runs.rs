//! Makes the runs that are due, in one task for all schedules. Every server of a zone has this
//! task, and the transaction of a run decides which server makes it.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde::Serialize;
use svc_core::{
    Timestamp,
    json_text::JsonText,
    schedule::{CronRule, SCHEDULE_EVENTS, plan},
};
use svc_protocol::api::Schedule;
use svc_store::{
    StoreError, Tx,
    schedules::{self, Advance},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::Schedules;
use crate::events::emit::{Emission, EmitServiceError, Origin, ScheduledRun, ServiceEvent};

/// Due schedules that are read at a time.
const BATCH: u32 = 200;
/// Runs that are written at the same time. Writes that wait together share a commit.
const AT_ONCE: usize = 32;
/// The longest wait while a schedule is active. A change of the clock is noticed within this time.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The wait if the database did not answer.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest wait, for a next run within a millisecond.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// How a due schedule was handled.
enum Handled {
    Done,
    /// The database did not answer: try again.
    Unavailable(StoreError),
}

impl Schedules {
    /// Makes all runs, until the server stops.
    pub async fn run(&self, shutdown: &CancellationToken) {
        loop {
            let wait = tokio::select! {
                wait = self.run_due() => wait,
                () = shutdown.cancelled() => return,
            };
            // No timer runs while no schedule is active.
            let sleep = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep => {}
                () = shutdown.cancelled() => return,
            }
        }
    }

    /// Makes the runs that are due. Returns the time until the next check; `None` if no schedule is
    /// active.
    pub(super) async fn run_due(&self) -> Option<Duration> {
        loop {
            let now = self.clock.now();
            let read = move |tx: &mut Tx<'_>| {
                let due = schedules::list_due(tx, now, BATCH)?;
                let first = match due.is_empty() {
                    true => schedules::first_due(tx)?,
                    false => None,
                };
                Ok((due, first))
            };
            let (due, first) = match self.store.read(read).await {
                Ok(read) => read,
                Err(StoreError::Closed) => return None,
                Err(error) => {
                    warn!("cannot read the schedules that are due: {error}");
                    return Some(RETRY);
                }
            };
            if due.is_empty() {
                return first.map(|first| first.since(now).clamp(WAIT_MIN, WAIT_MAX));
            }
            let handled = stream::iter(due).map(|row| self.handle(row, now));
            let mut handled = handled.buffer_unordered(AT_ONCE);
            let mut failure = None;
            while let Some(handled) = handled.next().await {
                if let Handled::Unavailable(error) = handled {
                    failure = Some(error);
                }
            }
            if let Some(error) = failure {
                warn!("cannot write the runs of schedules: {error}");
                return Some(RETRY);
            }
        }
    }

    async fn handle(&self, row: Schedule, now: Timestamp) -> Handled {
        let Some(due) = row.next_at else {
            return Handled::Done;
        };
        let rule = match CronRule::parse(&row.cron, &row.timezone) {
            Ok(rule) => rule,
            // A newer svc may have stored an expression that this version cannot parse.
            Err(error) => return self.fail(&row, due, None, error.to_string()).await,
        };
        let planned = plan(&rule, row.missed, due, now);
        let Some(run) = planned.run else {
            return self.skip(&row, due, planned.next).await;
        };
        let emitted = match self.events.owner(row.owner_id) {
            Ok(owner) => {
                let (r#type, data) = run_event(&row, Some(run), now);
                let advance = advance(&row, due, planned.next);
                let origin = Origin::Run(ScheduledRun { at: run, advance });
                let event = ServiceEvent {
                    r#type,
                    data,
                    origin,
                };
                self.events.emit_for(&owner, event).await
            }
            Err(denied) => Err(denied.into()),
        };
        match emitted {
            Ok(Emission::New(_) | Emission::Repeated(_)) => {
                self.metrics.sources.count_run("emitted");
                Handled::Done
            }
            Ok(Emission::AlreadyRan) => {
                debug!(schedule.id = %row.id, "another server made this run of a schedule");
                Handled::Done
            }
            Err(EmitServiceError::Store(error)) => Handled::Unavailable(error),
            // The run is not retried: a retry would delay the runs of other users.
            Err(error) => self.fail(&row, due, planned.next, error.to_string()).await,
        }
    }

    /// Moves a schedule past missed runs that its policy skips.
    async fn skip(&self, row: &Schedule, due: Timestamp, next: Option<Timestamp>) -> Handled {
        let advance = advance(row, due, next);
        let skipped = self.store.write(move |tx| schedules::advance(tx, &advance));
        match skipped.await {
            Ok(is_skipped) => {
                if is_skipped {
                    self.metrics.sources.count_run("skipped");
                }
                Handled::Done
            }
            Err(error) => Handled::Unavailable(error),
        }
    }

    /// Moves a schedule past a run that could not be made, and shows the reason to its owner.
    async fn fail(
        &self,
        row: &Schedule,
        due: Timestamp,
        next: Option<Timestamp>,
        reason: String,
    ) -> Handled {
        let (id, advance) = (row.id, advance(row, due, next));
        let shown = reason.clone();
        let written = self.store.write(move |tx| {
            let is_advanced = schedules::advance(tx, &advance)?;
            if is_advanced {
                schedules::set_failure(tx, id, &reason)?;
            }
            Ok(is_advanced)
        });
        match written.await {
            Ok(is_advanced) => {
                // Otherwise another server has handled this run.
                if is_advanced {
                    warn!(owner.id = %row.owner_id, schedule.id = %id, "a run of a schedule made no event: {shown}");
                    self.metrics.sources.count_run("failed");
                }
                Handled::Done
            }
            Err(error) => Handled::Unavailable(error),
        }
    }
}

fn advance(row: &Schedule, due: Timestamp, next: Option<Timestamp>) -> Advance {
    Advance {
        schedule: row.id,
        due,
        next,
    }
}

/// The type and the data of the event of a run. `scheduled_at` is `None` if a user started the run.
pub(super) fn run_event(
    row: &Schedule,
    scheduled_at: Option<Timestamp>,
    fired_at: Timestamp,
) -> (String, JsonText) {
    #[derive(Serialize)]
    struct Data<'a> {
        scheduled_at: Option<Timestamp>,
        fired_at: Timestamp,
        payload: &'a JsonText,
    }
    let data = Data {
        scheduled_at,
        fired_at,
        payload: &row.payload,
    };
    let text = serde_json::to_string(&data).expect("times and JSON");
    let data = JsonText::parse(&text).expect("an object of valid members");
    (format!("{SCHEDULE_EVENTS}{}", row.name), data)
}
