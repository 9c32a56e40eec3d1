//! Bodies of `/api/schedules`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use svc_core::{
    EventId, ScheduleId, Timestamp, UserId,
    json_text::JsonText,
    schedule::{CRON_MAX, MissedPolicy, PREVIEW_MAX, TIMEZONE_MAX},
    source::{EVENT_NAME_MAX, EVENT_NAME_PATTERN},
};

use svc_derive::Patch;

use super::{DESCRIPTION_MAX, patch::yes};

/// Emits `schedule.<name>` at the times of a cron expression.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    pub id: ScheduleId,
    pub name: String,
    pub description: String,
    pub owner_id: UserId,
    pub cron: String,
    pub timezone: String,
    #[schemars(with = "Map<String, Value>")]
    pub payload: JsonText,
    pub missed: MissedPolicy,
    pub active: bool,
    /// The next run; `None` if the schedule is not active or has no further run.
    pub next_at: Option<Timestamp>,
    /// The planned time of the last scheduled run that emitted an event.
    pub last_at: Option<Timestamp>,
    pub last_event_id: Option<EventId>,
    /// Why the last run emitted no event.
    pub failure: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "name": "nightly", "cron": "0 2 * * *", "timezone": "Europe/Berlin", "payload": {"job": "backup"},
}))]
#[patch(
    SchedulePatch of Schedule,
    "A merge patch. `payload` is replaced as a whole.",
    example = json!({"cron": "30 2 * * *"})
)]
pub struct NewSchedule {
    #[schemars(length(min = 1, max = EVENT_NAME_MAX), regex(pattern = EVENT_NAME_PATTERN))]
    pub name: String,
    #[serde(default)]
    #[schemars(length(max = DESCRIPTION_MAX))]
    pub description: String,
    /// Minute, hour, day of month, month, day of week.
    #[schemars(length(max = CRON_MAX))]
    pub cron: String,
    /// A name of the IANA time zone database; `UTC` if absent.
    #[serde(default = "utc")]
    #[schemars(length(max = TIMEZONE_MAX))]
    pub timezone: String,
    /// Copied into the data of each event, as `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    #[patch(type = JsonText, schema = Map<String, Value>)]
    pub payload: Option<JsonText>,
    #[serde(default = "once")]
    pub missed: MissedPolicy,
    #[serde(default = "yes")]
    pub active: bool,
}

fn utc() -> String {
    "UTC".to_owned()
}

fn once() -> MissedPolicy {
    MissedPolicy::Once
}

/// Query parameters of `GET /api/schedules/{id}/next`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct NextRunsQuery {
    /// The number of runs; 5 if absent.
    #[schemars(range(min = 1, max = PREVIEW_MAX))]
    pub count: Option<u32>,
}

/// Query parameters of `GET /api/schedules/preview`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PreviewQuery {
    #[schemars(length(max = CRON_MAX), example = "0 2 * * *")]
    pub cron: String,
    /// `UTC` if absent.
    #[schemars(length(max = TIMEZONE_MAX))]
    pub timezone: Option<String>,
    /// The number of runs; 5 if absent.
    #[schemars(range(min = 1, max = PREVIEW_MAX))]
    pub count: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextRuns {
    pub runs: Vec<Timestamp>,
}
