//! Bodies of `/api/event-sinks`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_core::{EventId, ScriptId, SinkId, Timestamp, UserId};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SinkType {
    #[serde(rename = "webhook")]
    Webhook,
    #[serde(rename = "script")]
    Script,
    #[serde(rename = "json-rpc")]
    JsonRpc,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SinkOwner {
    #[default]
    User,
    Global,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sink {
    pub id: SinkId,
    pub name: String,
    pub description: String,
    pub patterns: Vec<String>,
    pub r#type: SinkType,
    pub owner: SinkOwner,
    pub owner_id: UserId,
    pub active: bool,
    /// The one of its type is filled.
    pub webhook: Option<WebhookConfig>,
    pub script: Option<ScriptConfig>,
    pub json_rpc: Option<JsonRpcConfig>,
    /// Events waiting, the one in flight included; 0 for json-rpc sinks, which have no queue.
    pub queue_depth: u32,
    pub dropped: u64,
    /// Failed attempts of the delivery that is tried now; it is tried again.
    #[serde(default)]
    pub failures: u32,
    pub last_delivery: Option<LastDelivery>,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body_template: Option<String>,
    /// `whsec_…`: given at creation or made then; shown in that answer and after rotation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptConfig {
    #[serde(default)]
    pub script_id: Option<ScriptId>,
    #[serde(default)]
    pub source: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonRpcConfig {
    #[serde(default)]
    pub body_template: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LastDelivery {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
    pub state: DeliveryState,
    pub at: Timestamp,
    /// What its last attempt said, if that failed.
    #[serde(default)]
    pub error: Option<String>,
}

/// Patterns as an array, or as one text with commas.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PatternsInput {
    List(Vec<String>),
    Text(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSink {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub patterns: PatternsInput,
    pub r#type: SinkType,
    #[serde(default)]
    pub owner: SinkOwner,
    #[serde(default = "super::patch::yes")]
    pub active: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_rpc: Option<JsonRpcConfig>,
}

/// A merge patch; type and owner never change. `webhook` and `json_rpc` are merged member by
/// member (`null` removes), so they stay JSON here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkPatch {
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub patterns: Option<PatternsInput>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub active: Option<bool>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub webhook: Option<Value>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub script: Option<Value>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub json_rpc: Option<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sinks {
    pub event_sinks: Vec<Sink>,
    pub next_cursor: Option<String>,
}

/// `POST /api/event-sinks/{id}/rotate-secret`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotateSecret {
    /// How long the old secret goes on signing too; 24 when absent.
    #[serde(default)]
    pub overlap_hours: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RotatedSecret {
    pub secret: String,
    /// When the old one stops signing.
    pub previous_until: Timestamp,
}

/// `POST /api/event-sinks/{id}/replay`: puts past events that match into the queue again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    #[serde(default)]
    pub since: Option<Timestamp>,
    #[serde(default)]
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replayed {
    pub queued: u32,
    /// Matched, but the queue was full.
    pub dropped: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    Pending,
    Delivered,
    Dead,
}

/// One event on its way to one sink. `n` counts up per sink.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delivery {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
    pub state: DeliveryState,
    pub attempts: Vec<Attempt>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    pub at: Timestamp,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    pub ms: u64,
    pub error: Option<String>,
    /// The beginning of the answer.
    pub output: Option<String>,
}

/// `GET /api/event-sinks/{id}/deliveries`, newest first; filter `?state=`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deliveries {
    pub deliveries: Vec<Delivery>,
    pub next_cursor: Option<String>,
}

/// `POST /api/event-sinks/preview` and `POST /api/event-sinks/{id}/test`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    /// The template to try; without it the default body (preview), or the sink's own (test).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<String>,
    /// The type of the sink it is for; webhook when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<SinkType>,
    /// An event of the past to render; without it, a made-up one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// Parts of the made-up event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// For preview: which of these match the event's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patterns: Option<PatternsInput>,
    /// For test: render only, send nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Previewed {
    /// The rendered body, as it would be sent.
    pub body: String,
    /// The type of the event it was rendered for.
    #[serde(default)]
    pub event_type: String,
    /// Those of the patterns that match, where some were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_patterns: Option<Vec<String>>,
    /// For test without dry run: what came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}

/// Query parameters of `GET /api/event-sinks/{id}/deliveries`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DeliveryQuery {
    pub state: Option<DeliveryState>,
    pub limit: Option<u32>,
    /// The number of the last delivery of the page before.
    pub cursor: Option<String>,
}
