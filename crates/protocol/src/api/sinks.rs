//! Bodies of `/api/event-sinks`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use svc_core::{
    EventId, ScriptId, SinkId, Timestamp, UserId, delivery_policy::DeliveryPolicy, name::FreeName,
};

use svc_derive::Patch;

use super::{
    DESCRIPTION_MAX, OVERLAP_HOURS_MAX, PAGE_MAX, PATTERNS_MAX,
    exchanges::Exchange,
    patch::{Members, yes},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinkType {
    Webhook,
    Script,
    JsonRpc,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SinkOwner {
    #[default]
    User,
    Global,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sink {
    pub id: SinkId,
    pub name: String,
    pub description: String,
    pub patterns: Vec<String>,
    pub r#type: SinkType,
    pub owner: SinkOwner,
    pub owner_id: UserId,
    pub active: bool,
    /// Of the three configurations, only the one for `type` is filled.
    pub webhook: Option<WebhookConfig>,
    pub script: Option<ScriptConfig>,
    pub json_rpc: Option<JsonRpcConfig>,
    /// How events are delivered. Without effect for json-rpc sinks.
    #[serde(default)]
    pub delivery: DeliveryPolicy,
    /// Why and when the service paused the sink. Absent again after a user enables the sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<SinkPause>,
    /// Whether a person must look at the sink: the service paused it, or it does not deliver some
    /// events. `GET /api/stats` counts these sinks.
    #[serde(default)]
    pub attention: bool,
    /// Events in the queue, the event in flight included. 0 for json-rpc sinks, which have no queue.
    pub queue_depth: u32,
    pub dropped: u64,
    /// Number of dropped events that were not replayed; absent if 0. A replay with
    /// `only: "undelivered"` that covers every undelivered event of the sink sets it to 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// How many of the newest 200 deliveries are dead and were not sent again; absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dead: u64,
    /// Failed attempts of the first delivery in the queue; with `ordering = "key"`, the largest
    /// number of any waiting delivery.
    #[serde(default)]
    pub failures: u32,
    /// Whether stored events wait for the sink outside its queue: because the queue was full, the
    /// sink was not active, or the filter was not evaluated yet.
    #[serde(default)]
    pub held: bool,
    /// Number of resends and replays that have not ended. Their events enter the queue when it has
    /// room.
    #[serde(default)]
    pub feeds: u32,
    /// The progress of these resends and replays, oldest first; absent if there are none. One of them
    /// runs at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feed_progress: Vec<FeedProgress>,
    /// Events for which the filter failed. They count as events that do not match.
    #[serde(default)]
    pub filter_errors: u64,
    /// The newest error of the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_error: Option<String>,
    pub last_delivery: Option<LastDelivery>,
    pub created_at: Timestamp,
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[patch(
    WebhookPatch,
    "A merge patch of a webhook's configuration. If `url` gets another origin (scheme, host or port),
every stored secret must be given again or removed: header values, `ca`, `client_certificate`,
`client_key` and `secret`. This type exists only for its schema."
)]
pub struct WebhookConfig {
    pub url: String,
    #[serde(default)]
    #[patch(
        type = Option<BTreeMap<String, Option<String>>>,
        doc = "`null` in place of a value removes the header; `null` in place of the object removes all
headers."
    )]
    pub headers: BTreeMap<String, String>,
    pub body_template: Option<String>,
    /// How the event is written into the request.
    #[serde(default, skip_serializing_if = "WebhookFormat::is_default")]
    #[patch(type = Option<WebhookFormat>)]
    pub format: WebhookFormat,
    /// The only certificate authorities that are trusted for the receiver, as PEM. If absent, those of
    /// the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The certificate that is shown to the receiver, with its chain, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<String>,
    /// The key of `client_certificate`, as PEM. Write-only: shown as `********`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// Whether HTTP/2 is offered to an `https` receiver.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[patch(type = Option<bool>)]
    pub http2: bool,
    /// `whsec_…`: given or generated at creation. Shown only in the answers to creation, to rotation
    /// and to a change of the origin of `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(doc = "Only together with another origin of `url`; `null` makes a new secret.")]
    pub secret: Option<String>,
}

/// How a webhook writes an event into its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WebhookFormat {
    /// The default body, or the body that the template renders.
    #[default]
    Default,
    /// CloudEvents 1.0: the attributes and the data are in the body.
    CloudeventsStructured,
    /// CloudEvents 1.0: the attributes are in headers `ce-…`, the body is the data.
    CloudeventsBinary,
}

impl WebhookFormat {
    pub fn is_default(&self) -> bool {
        *self == Self::Default
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptConfig {
    pub script_id: Option<ScriptId>,
    pub source: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonRpcConfig {
    pub body_template: Option<String>,
}

/// A pause of the sink by the service, because deliveries failed or a stored text of the sink cannot
/// be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SinkPause {
    pub at: Timestamp,
    pub reason: String,
    /// Whether a stored template or key cannot be read. A change of the configuration or of `delivery`
    /// then enables the sink again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_corrected: bool,
}

/// A request to send past events again that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FeedProgress {
    pub kind: FeedKind,
    /// The number of events that the request selected. Some of them may be skipped later, for example
    /// because their retention has ended.
    pub total: u64,
    /// How many of them were queued. The queue may still hold some of these.
    pub queued: u64,
    /// When the request was made.
    pub since: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FeedKind {
    /// Deliveries that are sent again.
    Resend,
    /// Past events that are queued again.
    Replay,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LastDelivery {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
    pub state: DeliveryState,
    pub at: Timestamp,
    /// Error of the last attempt, if that attempt failed.
    pub error: Option<String>,
}

/// Patterns as an array, or as one string, separated by commas.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected event patterns: a string such as \"custom.*, space.created\", or an array of strings"
)]
pub enum PatternsInput {
    List(#[schemars(length(min = 1, max = PATTERNS_MAX))] Vec<String>),
    Text(String),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "name": "audit trail", "patterns": ["custom.*"], "type": "webhook",
    "webhook": {"url": "https://example.com/hook"},
}))]
#[patch(
    SinkPatch,
    "A merge patch. Type and owner never change. `webhook`, `script`, `json_rpc` and `delivery` are
merged member by member (`null` removes a member), so this type keeps their members as JSON.",
    example = json!({"active": false})
)]
pub struct NewSink {
    #[schemars(with = "FreeName")]
    pub name: String,
    #[serde(default)]
    #[schemars(length(max = DESCRIPTION_MAX))]
    pub description: String,
    pub patterns: PatternsInput,
    #[patch(fixed)]
    pub r#type: SinkType,
    #[serde(default)]
    #[patch(fixed)]
    pub owner: SinkOwner,
    #[serde(default = "yes")]
    pub active: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(type = Members, schema = WebhookPatch)]
    pub webhook: Option<WebhookConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(type = Members, schema = ScriptConfig)]
    pub script: Option<ScriptConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(type = Members, schema = JsonRpcConfig)]
    pub json_rpc: Option<JsonRpcConfig>,
    /// How events are delivered. Settings that are absent have their default values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(type = Members, schema = DeliveryPolicy, doc = "`null` for a member restores its default.")]
    pub delivery: Option<DeliveryPolicy>,
}

/// `POST /api/event-sinks/{id}/rotate-secret`
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"overlap_hours": 48}))]
pub struct RotateSecret {
    /// The number of hours in which messages are also signed with the old secret; 24 if absent.
    #[serde(default)]
    #[schemars(range(max = OVERLAP_HOURS_MAX))]
    pub overlap_hours: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SecretRotation {
    pub secret: String,
    /// Until when messages are also signed with the old secret.
    pub previous_until: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    Pending,
    Delivered,
    Dead,
}

/// The delivery of one event to one sink. `n` is the delivery's number, counted per sink.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
    pub state: DeliveryState,
    /// The delivery that sent the event again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resent_as: Option<u64>,
    /// The delivery whose event this delivery sends again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resend_of: Option<u64>,
    /// When the delivery is tried again. Present only while it waits after a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    pub attempts: Vec<Attempt>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    pub at: Timestamp,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    pub ms: u64,
    pub error: Option<String>,
    /// The beginning of the receiver's response, or of a script's output. At most 1 KiB of a
    /// successful attempt.
    pub output: Option<String>,
    /// Whether the output, the exchange, most of the error and earlier attempts were not kept,
    /// because the owner's quota `event_bytes` is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_omitted: bool,
    /// The request and the head of the response, of a webhook with `keep_exchanges`. Listed only on
    /// request (`?exchanges=true`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<Exchange>>,
}

/// `GET /api/event-sinks/{id}/deliveries`, newest first; filter `?state=`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Deliveries {
    pub deliveries: Vec<Delivery>,
    pub next_cursor: Option<String>,
}

/// `POST /api/event-sinks/preview` and `POST /api/event-sinks/{id}/test`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"event_type": "custom.backup.done", "data": {"files": 3}, "dry_run": true}))]
pub struct Preview {
    /// The template to render. If absent: the default body (preview), or the sink's template (test).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<String>,
    /// For preview: the type of the sink; webhook if absent. A test uses the type of the sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<SinkType>,
    /// For preview of a webhook: the format of the body. A test uses the format of the sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<WebhookFormat>,
    /// A past event to render; a sample event if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// Type of the sample event; `data` is its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub data: Option<Box<RawValue>>,
    /// For preview: the filter of the sink. A test uses the filter of the sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// For preview: the expression that orders deliveries. A test uses the key of the sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// For preview: patterns to compare with the event's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patterns: Option<PatternsInput>,
    /// For test: render only, send nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PreviewResult {
    /// The rendered body, as it would be sent.
    pub body: String,
    /// The type of the rendered event.
    #[serde(default)]
    pub event_type: String,
    /// The patterns that match. For preview: `None` if no patterns were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_patterns: Option<Vec<String>>,
    /// The headers that the format of a webhook adds: `content-type` and, with
    /// `cloudevents-binary`, the attributes. Empty for other sinks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub format_headers: BTreeMap<String, String>,
    /// The decision of the filter; absent without a filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterDecision>,
    /// The key of the event; absent without a key expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<EventKey>,
    /// For test without dry run: the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}

/// The decision of a sink's filter about an event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FilterDecision {
    /// Whether the sink takes the event, if a pattern matches.
    pub passes: bool,
    /// Why the filter failed. Such an event is not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The key by which the deliveries of a sink are ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventKey {
    pub value: String,
    /// Why the key could not be computed. Its value is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Query parameters of `GET /api/event-sinks/{id}/deliveries`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryQuery {
    pub state: Option<DeliveryState>,
    #[schemars(range(min = 1, max = PAGE_MAX))]
    pub limit: Option<u32>,
    /// The number of the last delivery of the previous page.
    pub cursor: Option<String>,
    /// Whether attempts include their `exchange`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exchanges: bool,
    /// Whether to leave out deliveries that wait for their first attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tried: bool,
}
