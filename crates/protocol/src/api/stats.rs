//! `GET /api/stats`, `GET /api/stats/calls`, `GET /api/stats/activity`, and the statistics of one
//! method and of one sink.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::{Quota, SinkId, Timestamp, UserId, activity_stats::StatsRange};

use super::{DeliveryState, SinkOwner, SinkPause, Space, sinks::is_zero};

/// Statistics of calls, spaces and sinks: those of the caller or, with `?scope=server`, of all
/// users.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// `caller` or `server`.
    #[schemars(extend("enum" = ["caller", "server"]))]
    pub scope: String,
    /// The minutes of the last hour, oldest first. The last minute is not complete.
    pub minutes: Vec<CallMinute>,
    /// Null if the scope is not `server`.
    pub calls_in_flight: Option<u64>,
    /// Null if the scope is `caller` and the caller may not use spaces.
    pub spaces: Option<SpaceCounts>,
    pub methods: usize,
    /// Linked spaces that offer at least one of the counted methods.
    pub providers: usize,
    /// Null if the scope is `caller` and the caller may not manage sinks.
    pub sinks: Option<SinkCounts>,
    /// Counted up to 10,000.
    pub events_last_hour: u64,
}

/// Answered calls of one minute. Notifications have no answer and are not counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallMinute {
    pub minute: Timestamp,
    pub calls: u64,
    /// Calls that were answered with an error, including errors of the method itself.
    pub errors: u64,
    /// `None` without calls.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// Spaces by state.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SpaceCounts {
    pub created: u64,
    pub deployed: u64,
    pub stopped: u64,
    /// The spaces that the caller manages and that fail: the link of a deployed space is lost, its
    /// health check fails, its registration was refused, or the service stopped the space because
    /// its link was lost. At most 100; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<Space>,
    /// The number of all failing spaces, counted up to 1,000; absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failing_total: u64,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SinkCounts {
    pub total: u64,
    pub active: u64,
    /// Sinks that the service paused, because deliveries failed.
    #[serde(default)]
    pub paused: u64,
    pub queued: u64,
    /// Events that full queues dropped, since the sinks were created.
    pub dropped: u64,
    /// Dropped events that were not replayed.
    #[serde(default)]
    pub lost: u64,
    /// Sinks that the caller manages and that fail: the service paused the sink, a delivery is being
    /// retried, the last finished delivery is dead, or dead deliveries or dropped events were not
    /// sent again. At most 100; paused sinks come first.
    pub failing: Vec<FailingSink>,
    /// The number of all failing sinks.
    #[serde(default)]
    pub failing_total: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FailingSink {
    pub id: SinkId,
    pub name: String,
    pub owner: SinkOwner,
    /// Of the delivery that is retried (`pending`), or of the newest finished delivery.
    pub state: DeliveryState,
    /// Empty if no delivery of the sink is stored.
    pub event_type: String,
    /// Error of the last attempt.
    pub error: Option<String>,
    pub at: Option<Timestamp>,
    /// How many of the newest 200 deliveries are dead and were not sent again.
    #[serde(default)]
    pub dead: u64,
    /// Dropped events that were not replayed.
    #[serde(default)]
    pub lost: u64,
    /// Why and when the service paused the sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<SinkPause>,
    /// Events in the queue.
    #[serde(default)]
    pub queue_depth: u32,
    /// Whether stored events wait for the sink outside its queue.
    #[serde(default)]
    pub held: bool,
}

/// `GET /api/stats/calls`: the calls that the caller made or, with `?scope=server`, all calls.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallTotals {
    /// `caller` or `server`.
    #[schemars(extend("enum" = ["caller", "server"]))]
    pub scope: String,
    pub range: StatsRange,
    /// Seconds from the start of a point to the start of the next point.
    pub step_seconds: u64,
    /// All calls of the range.
    pub total: MethodStatsPoint,
    /// Oldest first. The last point is not complete.
    pub points: Vec<MethodStatsPoint>,
}

/// `GET /api/methods/{name}/stats`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MethodStats {
    /// The name without `user.<owner>.`.
    pub method: String,
    pub owner_id: UserId,
    pub range: StatsRange,
    /// Seconds from the start of a point to the start of the next point.
    pub step_seconds: u64,
    /// All calls of the range.
    pub total: MethodStatsPoint,
    /// Oldest first. The last point is not complete.
    pub points: Vec<MethodStatsPoint>,
}

/// Answered calls. Notifications have no answer and are not counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MethodStatsPoint {
    /// The start of the period whose calls are counted.
    pub at: Timestamp,
    pub calls: u64,
    /// Calls that were answered with an error, including errors of the method itself.
    pub errors: u64,
    /// Null without calls.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

/// Query parameters of `GET /api/methods/{name}/stats` and of `GET /api/event-sinks/{id}/stats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MethodStatsQuery {
    /// `1h` if absent. `1h` has a point for every minute, `24h` for every quarter of an hour, `7d`
    /// for every hour, `30d` for every six hours.
    pub range: Option<StatsRange>,
}

/// `GET /api/event-sinks/{id}/stats`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SinkStats {
    pub sink_id: SinkId,
    pub range: StatsRange,
    /// Seconds from the start of a point to the start of the next point.
    pub step_seconds: u64,
    /// All attempts of the range.
    pub total: SinkStatsPoint,
    /// Oldest first. The last point is not complete.
    pub points: Vec<SinkStatsPoint>,
}

/// Attempts to deliver events to a sink.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SinkStatsPoint {
    /// The start of the period whose attempts are counted.
    pub at: Timestamp,
    pub attempts: u64,
    /// Attempts that did not deliver the event.
    pub failed: u64,
    /// Null without attempts.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

/// `GET /api/stats/activity`: the last 24 hours of the caller's methods and sinks, for lists. Methods
/// without calls and sinks without attempts are left out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The start of the first hour. The last hour is not complete.
    pub since: Timestamp,
    /// The length of the period that each number in `methods` and `sinks` covers, in seconds.
    pub step_seconds: u64,
    /// The caller's own methods that are registered, those with the most calls first. At most 1,000.
    pub methods: Vec<MethodActivity>,
    /// Sinks that the caller manages, those with the most attempts first. At most 1,000.
    pub sinks: Vec<SinkActivity>,
}

/// Answered calls of a method in each hour.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MethodActivity {
    /// The name without `user.<owner>.`.
    pub method: String,
    pub calls: Vec<u64>,
    /// Calls that were answered with an error, including errors of the method itself.
    pub errors: Vec<u64>,
}

/// Attempts of a sink in each hour.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SinkActivity {
    pub id: SinkId,
    pub attempts: Vec<u64>,
    /// Attempts that did not deliver the event.
    pub failed: Vec<u64>,
}

/// `GET /api/stats/quotas`: the quotas of a user and their use.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QuotaUses {
    pub user_id: UserId,
    /// Every quota. The methods and streams at other servers of the zone are not counted.
    pub quotas: Vec<QuotaUse>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QuotaUse {
    pub quota: Quota,
    pub used: u64,
    pub limit: u64,
    /// Whether an administrator set the limit for this user.
    pub is_own_value: bool,
}
