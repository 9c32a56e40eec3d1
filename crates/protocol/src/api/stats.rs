//! `GET /api/stats` and `GET /api/methods/{name}/stats`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::{SinkId, Timestamp, UserId, method_stats::StatsRange};

use super::{DeliveryState, SinkOwner};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SpaceCounts {
    pub created: u64,
    pub deployed: u64,
    pub stopped: u64,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SinkCounts {
    pub total: u64,
    pub active: u64,
    pub queued: u64,
    pub dropped: u64,
    /// Sinks that the caller manages and whose last delivery is dead or is being retried.
    pub failing: Vec<FailingSink>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FailingSink {
    pub id: SinkId,
    pub name: String,
    pub owner: SinkOwner,
    /// `dead`, or `pending` while the delivery is retried.
    pub state: DeliveryState,
    pub event_type: String,
    /// Error of the last attempt.
    pub error: Option<String>,
    pub at: Option<Timestamp>,
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

/// Answered calls of a method. Notifications have no answer and are not counted.
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

/// Query parameters of `GET /api/methods/{name}/stats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MethodStatsQuery {
    /// `1h` if absent. `1h` has a point for every minute, `24h` for every quarter of an hour, `7d`
    /// for every hour, `30d` for every six hours.
    pub range: Option<StatsRange>,
}
