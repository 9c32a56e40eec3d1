//! Schedules: events at certain times.

use svc_core::{EventId, ScheduleId, Timestamp, UserId};
use svc_protocol::api::Schedule;

use crate::{
    error::StoreError,
    record::record,
    records::{self, kept},
    sql::{Tx, values},
};

record! {
    Schedule in "schedules": id, owner_id, name, description, cron, timezone, payload, missed,
    active, next_at, last_at, last_event_id, failure, created_at
}

kept! {
    Schedule "schedule": ScheduleId, fixed [owner_id, last_at, last_event_id, created_at],
    of owner_id: UserId, unique [owner_id, name] named name,
    size "octet_length(payload) + octet_length(description)"
}

/// The earliest next run of all schedules.
pub fn first_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    tx.find(
        "SELECT next_at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1",
        &[],
    )
}

/// At most `limit` schedules that are due, in the order of their next runs.
pub fn list_due(tx: &mut Tx<'_>, now: Timestamp, limit: u32) -> Result<Vec<Schedule>, StoreError> {
    tx.list_records(
        "WHERE next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at, id LIMIT ?2",
        values![now, limit],
    )
}

/// The move of a schedule from a due run to the next run. If several transactions try the same
/// move, only one succeeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advance {
    pub schedule: ScheduleId,
    pub due: Timestamp,
    pub next: Option<Timestamp>,
}

/// Moves a schedule to its next run. Returns whether the schedule was still at the due run:
/// otherwise another server made the run, or a user changed the schedule.
pub fn advance(tx: &mut Tx<'_>, advance: &Advance) -> Result<bool, StoreError> {
    tx.changes(
        "UPDATE schedules SET next_at = ?3 WHERE id = ?1 AND next_at = ?2",
        values![advance.schedule, advance.due, &advance.next],
    )
}

/// Records the event of a run.
pub fn set_ran(
    tx: &mut Tx<'_>,
    id: ScheduleId,
    run: Timestamp,
    event: EventId,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE schedules SET last_at = ?2, last_event_id = ?3, failure = NULL WHERE id = ?1",
        values![id, run, event],
    )
}

/// Records why a run made no event.
pub fn set_failure(tx: &mut Tx<'_>, id: ScheduleId, failure: &str) -> Result<(), StoreError> {
    records::set::<Schedule>(tx, id, "failure", failure)
}
