//! Management of schedules: create, change, delete, list, preview, run now. A user manages their
//! own schedules only. Every change and its audit entry are one transaction.

use serde_json::{Value, json};
use svc_core::{
    Quota, ScheduleId, Timestamp,
    event::{EmitError, check_data},
    json_text::JsonText,
    schedule::{CronRule, PREVIEW_MAX},
    source::check_event_name,
};
use svc_pool::Cancelled;
use svc_protocol::api::{EmittedEvent, NewSchedule, NextRuns, Schedule, SchedulePatch};
use svc_store::{Page, PageRequest, StoreError, records, zone_changes::ZoneChange};
use uuid::Uuid;

use super::{Schedules, runs::run_event};
use crate::{
    events::emit::{EMIT_NEEDS, Emission, EmitServiceError, Origin, ServiceEvent},
    identity::{Caller, Change, check_one_more, difference},
    records::{
        RecordError, Result, check_description, check_name_free, own, read_own, settings_of,
    },
};

/// The maximum bytes of a schedule's payload. Each run stores the payload again.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024;
/// The number of runs in a preview, unless the request sets it.
const PREVIEW_DEFAULT: u32 = 5;

impl Schedules {
    pub async fn list(&self, caller: &Caller, page: PageRequest) -> Result<Page<Schedule>> {
        let owner = caller.user.id;
        let rows = self
            .store
            .read_list(owner, move |tx| records::list::<Schedule>(tx, &owner, page));
        Ok(rows.await?)
    }

    pub async fn get(&self, caller: &Caller, id: ScheduleId) -> Result<Schedule> {
        read_own(&self.store, caller.user.id, id).await
    }

    pub async fn create(&self, caller: &Caller, new: NewSchedule) -> Result<Schedule> {
        let now = self.clock.now();
        let first = self.search(caller, (new.cron.clone(), new.timezone.clone()), 1);
        let first = first.await?.first().copied();
        let row = Schedule {
            id: ScheduleId(Uuid::now_v7()),
            owner_id: caller.user.id,
            name: new.name,
            description: new.description,
            cron: new.cron,
            timezone: new.timezone,
            payload: new.payload.unwrap_or_else(|| JsonText::from(&json!({}))),
            missed: new.missed,
            active: new.active,
            next_at: first.filter(|_| new.active),
            last_at: None,
            last_event_id: None,
            failure: None,
            created_at: now,
        };
        check(&row)?;
        let (inserted, quotas) = (row.clone(), self.quotas);
        self.writer
            .change(caller, move |tx, caller| {
                let owner = caller.user.id;
                let has = records::count::<Schedule>(tx, &owner)?;
                check_one_more(tx, &quotas, owner, Quota::Schedules, has)?;
                check_name_free(tx, &inserted)?;
                records::insert(tx, &inserted)?;
                finish(
                    tx,
                    caller,
                    "schedule.created",
                    &inserted,
                    describe(&inserted),
                )
            })
            .await?;
        Ok(row)
    }

    /// Applies a merge patch. If the time of the schedule changes or the schedule becomes active,
    /// the next run is computed from now, and earlier runs are skipped.
    pub async fn patch(
        &self,
        caller: &Caller,
        id: ScheduleId,
        patch: SchedulePatch,
    ) -> Result<Schedule> {
        loop {
            let before: Schedule = read_own(&self.store, caller.user.id, id).await?;
            let next_at = self.next_if_patched(caller, &before, &patch).await?;
            let patch = patch.clone();
            let written = self.writer.change(caller, move |tx, caller| {
                let stored: Schedule = own(tx, caller.user.id, id)?;
                let mut after = patched(&stored, &patch)?;
                if needs_search(&stored, &after) {
                    // If another request or a run changed the times meanwhile, the search is made
                    // again. It is too long for a transaction.
                    if times(&stored) != times(&before) {
                        return Ok(None);
                    }
                    after.next_at = next_at.filter(|_| after.active);
                    after.failure = None;
                } else if stored.active && !after.active {
                    after.next_at = None;
                    after.failure = None;
                }
                check_name_free(tx, &after)?;
                records::replace(tx, &after)?;
                if after != stored {
                    let detail = difference(&describe(&stored), describe(&after));
                    finish(tx, caller, "schedule.updated", &after, detail)?;
                }
                Ok(Some(after))
            });
            if let Some(after) = written.await? {
                return Ok(after);
            }
        }
    }

    /// The next run of a schedule with this patch, if the patch requires a search for it.
    async fn next_if_patched(
        &self,
        caller: &Caller,
        before: &Schedule,
        patch: &SchedulePatch,
    ) -> Result<Option<Timestamp>> {
        let after = patched(before, patch)?;
        if !needs_search(before, &after) {
            return Ok(None);
        }
        let runs = self.search(caller, (after.cron, after.timezone), 1).await?;
        Ok(runs.first().copied())
    }

    pub async fn delete(&self, caller: &Caller, id: ScheduleId) -> Result<()> {
        self.writer
            .change(caller, move |tx, caller| {
                let row: Schedule = own(tx, caller.user.id, id)?;
                records::delete::<Schedule>(tx, id)?;
                finish(
                    tx,
                    caller,
                    "schedule.deleted",
                    &row,
                    json!({"name": row.name}),
                )
            })
            .await
    }

    /// Emits the event of a schedule at once, in addition to its runs.
    pub async fn run_now(&self, caller: &Caller, id: ScheduleId) -> Result<EmittedEvent> {
        let row: Schedule = read_own(&self.store, caller.user.id, id).await?;
        let (r#type, data) = run_event(&row, None, self.clock.now());
        let event = ServiceEvent {
            r#type,
            data,
            origin: Origin::Any,
        };
        // `emit_for` checks the caller, not only the owner: a token that was revoked meanwhile
        // emits nothing.
        let caller = caller.clone().with_needs(EMIT_NEEDS);
        match self.events.emit_for(&caller, event).await? {
            Emission::New(emitted) | Emission::Repeated(emitted) => Ok(emitted),
            Emission::AlreadyRan => Err(EmitServiceError::from(StoreError::NoRow).into()),
        }
    }

    /// The next runs of a schedule, whether it is active or not.
    pub async fn next_runs(
        &self,
        caller: &Caller,
        id: ScheduleId,
        count: Option<u32>,
    ) -> Result<NextRuns> {
        let row: Schedule = read_own(&self.store, caller.user.id, id).await?;
        self.preview(caller, (row.cron, row.timezone), count).await
    }

    /// The next runs of a cron expression in a time zone.
    pub async fn preview(
        &self,
        caller: &Caller,
        rule: (String, String),
        count: Option<u32>,
    ) -> Result<NextRuns> {
        let count = count.unwrap_or(PREVIEW_DEFAULT);
        if !(1..=PREVIEW_MAX).contains(&(count as usize)) {
            let text = format!("`count` is {count}; it must be between 1 and {PREVIEW_MAX}");
            return Err(RecordError::new("invalid", text));
        }
        let runs = self.search(caller, rule, count as usize).await?;
        Ok(NextRuns { runs })
    }

    /// Searches for the next runs of a cron expression in a time zone. There is at least one.
    async fn search(
        &self,
        caller: &Caller,
        (cron, timezone): (String, String),
        count: usize,
    ) -> Result<Vec<Timestamp>> {
        let now = self.clock.now();
        let search = move |_: &Cancelled| {
            let rule = CronRule::parse_running(&cron, &timezone, now)?;
            Ok(rule.upcoming(now, count))
        };
        self.compute.run(caller.user.id, search).await?
    }
}

fn patched(before: &Schedule, patch: &SchedulePatch) -> Result<Schedule> {
    let mut after = before.clone();
    patch.clone().apply(&mut after);
    check(&after)?;
    Ok(after)
}

/// Whether a change requires a search for the next run. A schedule that only becomes inactive needs
/// none, so a user can always switch a schedule off.
fn needs_search(before: &Schedule, after: &Schedule) -> bool {
    let has_new_rule = (&after.cron, &after.timezone) != (&before.cron, &before.timezone);
    has_new_rule || (after.active && !before.active)
}

/// The fields of a schedule that changes of its times and its runs write.
fn times(row: &Schedule) -> (&str, &str, bool, Option<Timestamp>) {
    (&row.cron, &row.timezone, row.active, row.next_at)
}

fn check(row: &Schedule) -> Result<()> {
    check_event_name(&row.name)?;
    check_description(&row.description)?;
    check_schedule_payload(&row.payload)
}

fn check_schedule_payload(payload: &JsonText) -> Result<()> {
    check_data(payload).map_err(EmitServiceError::from)?;
    let bytes = payload.as_str().len();
    if bytes > PAYLOAD_BYTES_MAX {
        let text = format!("`payload` has {bytes} bytes; at most {PAYLOAD_BYTES_MAX} are allowed");
        return Err(RecordError::new("invalid", text));
    }
    // The data of an event nests the payload one level deeper.
    JsonText::parse(&format!("{{\"payload\":{payload}}}"))
        .map_err(|error| EmitServiceError::from(EmitError::from(error)))?;
    Ok(())
}

/// Records a change: in the audit log, and for the other servers of the zone.
fn finish(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    action: &'static str,
    row: &Schedule,
    detail: Value,
) -> Result<()> {
    tx.affects(ZoneChange::Schedules);
    Ok(tx.audit(caller, action, ("schedule", row.id), detail)?)
}

/// The detail of an audit entry.
fn describe(row: &Schedule) -> Value {
    settings_of(row, NewSchedule::MEMBERS, &["payload"])
}
