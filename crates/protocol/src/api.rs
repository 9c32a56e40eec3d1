//! Bodies of the server's HTTP API, shared by server, client, CLI and tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use svc_core::{
    EventId, GroupId, Id, Permissions, RoleId, Scopes, ServerId, SessionId, SinkId, SpaceId,
    SpaceName, TemplateId, Timestamp, TokenId, UserId, UserName,
    event::{Actor, Event},
    space::{Health, HealthCheck, Runtime, State},
};

use crate::link::LogLine;

// ---- auth ----

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub username: String,
    pub password: String,
}

/// `POST /api/auth/setup`: the one-time link of a first start makes the first administrator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub setup_token: String,
    #[serde(default = "admin")]
    pub username: String,
    pub password: String,
}

fn admin() -> String {
    "admin".to_owned()
}

/// `GET /api/auth/me`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Me {
    pub id: UserId,
    pub username: UserName,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    pub permissions: Permissions,
    /// `token`, `session` or `agent`.
    pub credential: String,
    /// The token's scopes; empty for anything else.
    pub scopes: Scopes,
    /// The space an agent token belongs to.
    pub space_id: Option<SpaceId>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    pub current_password: String,
    pub new_password: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub address: String,
    pub user_agent: String,
    /// The session this very request came with.
    pub current: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sessions {
    pub sessions: Vec<Session>,
    pub next_cursor: Option<String>,
}

// ---- users, groups, roles ----

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub username: UserName,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    pub active: bool,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub username: String,
    pub password: String,
    /// Names; the built-in role `user` when absent.
    #[serde(default)]
    pub roles: Option<Vec<String>>,
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default = "yes")]
    pub active: bool,
}

fn yes() -> bool {
    true
}

/// A merge patch: what is absent stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub password: Option<String>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub roles: Option<Vec<String>>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub groups: Option<Vec<String>>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub active: Option<bool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Users {
    pub users: Vec<User>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    pub id: GroupId,
    pub name: String,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupBody {
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupPatch {
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Groups {
    pub groups: Vec<Group>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    pub id: RoleId,
    pub name: String,
    pub permissions: Permissions,
    /// `admin` and `user`: always there, never changed.
    pub builtin: bool,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    pub name: String,
    #[serde(default)]
    pub permissions: Permissions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolePatch {
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub permissions: Option<Permissions>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Roles {
    pub roles: Vec<Role>,
    pub next_cursor: Option<String>,
}

/// `GET /api/permissions`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PermissionList {
    pub permissions: Permissions,
    pub next_cursor: Option<String>,
}

// ---- tokens ----

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    /// The secret; in the answer to its creation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    /// Empty or absent: unrestricted (spec 5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tokens {
    pub tokens: Vec<Token>,
    pub next_cursor: Option<String>,
}

// ---- spaces ----

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Space {
    pub id: SpaceId,
    pub name: SpaceName,
    pub owner_id: UserId,
    pub owner: UserName,
    pub state: State,
    pub health: Health,
    pub runtime: Runtime,
    pub template_id: Option<TemplateId>,
    pub startup_script_id: Option<Id>,
    pub space_urls: BTreeMap<String, String>,
    /// The server that holds the link.
    pub node_id: Option<ServerId>,
    pub health_check: HealthCheck,
    pub registration: RegistrationStatus,
    pub created_at: Timestamp,
    /// The agent's secret; in the answer to the space's creation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_token: Option<String>,
}

/// What a space publishes just now.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RegistrationStatus {
    None,
    Active {
        methods: usize,
    },
    /// The link is lost; the methods wait for it within the grace period.
    Waiting {
        methods: usize,
    },
    /// Re-registration after a lost link was refused; it is tried again.
    Refused {
        error: String,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSpace {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_id: Option<TemplateId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_script_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheck>,
}

/// A merge patch; `null` resets to the default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpacePatch {
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub health_check: Option<Option<HealthCheck>>,
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub startup_script_id: Option<Option<Id>>,
}

/// A member of a merge patch that cannot be removed: `null` is refused, not taken for absent.
fn set<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// Tells `null` (`Some(None)`) from absent (`None`) in a merge patch.
fn nullable<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spaces {
    pub spaces: Vec<Space>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentToken {
    pub agent_token: String,
}

/// `GET /api/spaces/{id}/logs?after=<n>&limit=<n>`: `n` counts lines since the server started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Logs {
    pub logs: Vec<NumberedLine>,
    /// Give this as `cursor` to read on.
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NumberedLine {
    pub n: u64,
    #[serde(flatten)]
    pub line: LogLine,
}

// ---- methods ----

/// `GET /api/methods`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Methods {
    pub count: usize,
    pub methods: Vec<Method>,
}

/// A method as one caller sees it. The last five are filled for its owner only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Method {
    pub name: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub scope: String,
    pub mcp_tool: bool,
    pub mcp_tool_name: Option<String>,
    pub params_schema: Option<Value>,
    pub result_schema: Option<Value>,
    pub owner_id: UserId,
    pub owner: UserName,
    /// Providers able to take calls now.
    pub provider_count: usize,
    pub local_name: Option<String>,
    pub groups: Vec<String>,
    pub events: Vec<String>,
    pub event_sinks: Vec<String>,
    pub providers: Vec<Provider>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Provider {
    pub space_id: SpaceId,
    pub space: SpaceName,
    pub in_flight: u32,
    /// `ready`, `restarting` or `unlinked`.
    pub state: String,
}

/// A JSON-RPC response as a client reads it; result and error keep their bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallResponse {
    pub jsonrpc: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<RawValue>>,
    pub id: Box<RawValue>,
}

// ---- templates ----

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Template {
    pub id: TemplateId,
    pub name: String,
    pub ports: Vec<Port>,
    pub startup_script_id: Option<Id>,
    pub health_check: Option<HealthCheck>,
    pub custom_fields: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    pub name: String,
    pub port: u16,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTemplate {
    pub name: String,
    #[serde(default)]
    pub ports: Vec<Port>,
    #[serde(default)]
    pub startup_script_id: Option<Id>,
    #[serde(default)]
    pub health_check: Option<HealthCheck>,
    #[serde(default)]
    pub custom_fields: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Templates {
    pub templates: Vec<Template>,
    pub next_cursor: Option<String>,
}

// ---- audit ----

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: Id,
    pub at: Timestamp,
    /// A user's name, or `system`.
    pub actor: String,
    /// Dotted: `token.created`.
    pub action: String,
    pub target_type: String,
    pub target_id: String,
    pub detail: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Audit {
    pub audit: Vec<AuditEntry>,
    pub next_cursor: Option<String>,
}

// ---- events ----

/// `POST /api/events/emit`, and the agent's `POST /event`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    pub r#type: String,
    #[serde(default = "empty_object")]
    pub payload: Value,
}

fn empty_object() -> Value {
    Value::Object(serde_json::Map::new())
}

/// 202
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Emitted {
    pub event_id: EventId,
    pub event_type: String,
}

/// `GET /api/events`, newest first; filters `?type=` (a pattern), `?space_id=`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Events {
    pub events: Vec<EventRecord>,
    pub next_cursor: Option<String>,
}

/// An event as the history and the stream show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventRecord {
    pub event_id: EventId,
    pub event_type: String,
    pub event_ts: Timestamp,
    pub owner_id: UserId,
    pub space_id: SpaceId,
    pub actor: Actor,
    pub data: Value,
}

impl From<Event> for EventRecord {
    fn from(event: Event) -> Self {
        Self {
            event_id: event.id,
            event_type: event.r#type,
            event_ts: event.ts,
            owner_id: event.owner_id,
            space_id: event.space_id,
            actor: event.actor,
            data: event.data,
        }
    }
}

// ---- sinks ----

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
    pub script_id: Option<Id>,
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
    #[serde(default = "yes")]
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
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub patterns: Option<PatternsInput>,
    #[serde(
        default,
        deserialize_with = "set",
        skip_serializing_if = "Option::is_none"
    )]
    pub active: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// For test: render only, send nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Previewed {
    /// The rendered body, as it would be sent.
    pub body: String,
    /// For test without dry run: what came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}
