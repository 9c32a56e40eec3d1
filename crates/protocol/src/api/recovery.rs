//! Bodies of requests that send past events to a sink again, or test a changed sink with past
//! events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{EventId, Timestamp};

use super::{PatternsInput, ScriptConfig};

/// `POST /api/event-sinks/{id}/replay`: queues past events that match the sink's patterns and
/// filter.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"since": "2026-11-15T00:00:00Z"}))]
pub struct Replay {
    /// 24 hours ago if absent.
    pub since: Option<Timestamp>,
    /// Now if absent.
    pub until: Option<Timestamp>,
    /// Which of these events are queued; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<ReplayOnly>,
    /// Whether events are queued as the queue drains, so that none is dropped. If absent: true with
    /// `only`, otherwise false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<bool>,
    /// Count only, and queue nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayOnly {
    /// Events that were not delivered to the sink and do not wait in its queue.
    Undelivered,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReplayResult {
    pub queued: u32,
    /// Matching events that did not fit into the queue.
    pub dropped: u32,
    /// Matching events that are queued as the queue drains.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub feeding: u32,
    /// With `dry_run`: matching events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching: Option<u32>,
}

/// `POST /api/event-sinks/{id}/resend`: sends finished deliveries again. Give either `deliveries`
/// or `dead_since`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"dead_since": "2026-11-15T00:00:00Z", "dry_run": true}))]
pub struct Resend {
    /// Numbers of deliveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = RESEND_MAX))]
    pub deliveries: Option<Vec<u64>>,
    /// All dead deliveries since this time that were not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_since: Option<Timestamp>,
    /// Count only, and queue nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

/// The maximum number of deliveries that one request may name.
pub const RESEND_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResendResult {
    /// Deliveries that are sent again. They are queued as the queue drains.
    pub feeding: u32,
    /// Named deliveries that cannot be sent again: they do not exist, still wait, or their event is
    /// past its retention.
    pub skipped: Vec<u64>,
}

/// `POST /api/event-sinks/{id}/backtest`: applies the sink, and a changed version of the sink, to
/// past events and compares the results. Nothing is sent. If `patterns`, `filter` or
/// `body_template` is absent, the changed version has the value of the sink.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"since": "2026-11-15T00:00:00Z", "filter": "event.data.ok == false"}))]
pub struct Backtest {
    /// 7 days ago if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Now if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patterns: Option<PatternsInput>,
    /// An empty text means no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// An empty text means the default body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<String>,
    /// Always rejected: a script may have side effects, so a backtest cannot run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptConfig>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BacktestResult {
    /// Past events that the old or the new patterns match.
    pub events: u32,
    /// False if there are more events, or if the backtest took too long. To continue, send another
    /// request with the value of `through` as `since`.
    pub complete: bool,
    /// The time of the last event that was compared. Null if no event was compared.
    pub through: Option<Timestamp>,
    pub before: BacktestCounts,
    pub after: BacktestCounts,
    /// Events that would be delivered only after the change.
    pub added: u32,
    /// Events that would be delivered only before the change.
    pub removed: u32,
    /// All other events whose result differs, such as events with another body.
    pub changed: u32,
    /// The first events for which the changed filter or template fails.
    pub errors: Vec<BacktestError>,
    /// The first events whose outcome differs.
    pub differences: Vec<BacktestDifference>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BacktestCounts {
    /// Events that would be delivered.
    pub matching: u32,
    /// Events for which the filter or the template fails.
    pub failures: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BacktestError {
    pub event_id: EventId,
    pub event_type: String,
    pub error: String,
}

/// The results before and after the change: the body, `not matched`, or the error. Long bodies are
/// cut.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BacktestDifference {
    pub event_id: EventId,
    pub event_type: String,
    pub before: String,
    pub after: String,
}
