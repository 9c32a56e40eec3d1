//! `GET /api/stats`.

use serde::{Deserialize, Serialize};
use svc_core::{SinkId, Timestamp};

use super::{DeliveryState, SinkOwner};

/// What an overview shows; `?scope=server` is about everybody's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stats {
    /// `caller` or `server`.
    pub scope: String,
    /// The last hour, oldest first; the last one is not over.
    pub minutes: Vec<CallMinute>,
    /// Known for the whole server only.
    pub calls_in_flight: Option<u64>,
    /// For those who may use spaces.
    pub spaces: Option<SpaceCounts>,
    pub methods: usize,
    /// Spaces that can take calls of these methods now.
    pub providers: usize,
    /// For those who may manage sinks.
    pub sinks: Option<SinkCounts>,
    /// Counted up to 10,000.
    pub events_last_hour: u64,
}

/// Answered calls of one minute. Notifications have no answer and are not counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallMinute {
    pub minute: Timestamp,
    pub calls: u64,
    /// Those among them that were answered with an error, the method's own included.
    pub errors: u64,
    /// Nothing without calls.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// Spaces by state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SpaceCounts {
    pub created: u64,
    pub deployed: u64,
    pub stopped: u64,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SinkCounts {
    pub total: u64,
    pub active: u64,
    pub queued: u64,
    pub dropped: u64,
    /// Of those the caller manages: the last delivery was given up, or one is being tried again.
    pub failing: Vec<FailingSink>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FailingSink {
    pub id: SinkId,
    pub name: String,
    pub owner: SinkOwner,
    /// `dead`, or `pending` while it is tried again.
    pub state: DeliveryState,
    pub event_type: String,
    /// What the last attempt said.
    pub error: Option<String>,
    pub at: Option<Timestamp>,
}
