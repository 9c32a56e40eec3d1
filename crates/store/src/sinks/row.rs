//! The row of a sink, and its settings.

use serde::{Deserialize, Serialize};
use svc_core::{
    SinkId, Timestamp, UserId,
    delivery_policy::{DeliveryPolicy, Ordering},
    pattern::Pattern,
};
use svc_protocol::api::{
    JsonRpcConfig, ScriptConfig, SinkOwner, SinkPause, SinkType, WebhookConfig,
};

use crate::{
    record::record,
    records::{Powered, kept},
    value::as_json,
};

/// The `owner_key` of sinks that see the events of all users.
pub const GLOBAL: &str = "global";

/// A row of the table of sinks. Type and owner never change.
#[derive(Clone, PartialEq, Debug)]
pub struct SinkRow {
    pub id: SinkId,
    /// The owner's id, or [`GLOBAL`].
    pub owner_key: String,
    /// For a global sink, the user who created it.
    pub owner_id: UserId,
    pub name: String,
    pub description: String,
    pub patterns: Vec<Pattern>,
    pub kind: SinkType,
    pub active: bool,
    pub config: SinkConfig,
    pub policy: DeliveryPolicy,
    /// Why the service paused the sink. `None` if the sink is active or a user disabled it.
    pub paused: Option<SinkPause>,
    /// Encrypted.
    pub secret: Option<Vec<u8>>,
    /// Encrypted; also signs until `previous_until`.
    pub previous_secret: Option<Vec<u8>>,
    pub previous_until: Option<Timestamp>,
    /// Values of a webhook's headers, encrypted: see `events::sealed_headers`.
    pub sealed_headers: Option<Vec<u8>>,
    /// The key of a webhook's client certificate, encrypted: see `events::client_keys`.
    pub sealed_client_key: Option<Vec<u8>>,
    pub created_at: Timestamp,
}

/// The settings of a sink, by its type: the part of the API's record that belongs to the type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SinkConfig {
    /// Without `secret`, and with a mask in place of header values and of the client key: the row has
    /// these encrypted.
    Webhook(WebhookConfig),
    Script(ScriptConfig),
    JsonRpc(JsonRpcConfig),
}

impl SinkConfig {
    pub fn webhook(&self) -> Option<&WebhookConfig> {
        match self {
            Self::Webhook(webhook) => Some(webhook),
            Self::Script(_) | Self::JsonRpc(_) => None,
        }
    }

    pub fn body_template(&self) -> Option<&str> {
        match self {
            Self::Webhook(WebhookConfig { body_template, .. })
            | Self::JsonRpc(JsonRpcConfig { body_template }) => body_template.as_deref(),
            Self::Script(_) => None,
        }
    }
}

as_json!(SinkConfig, DeliveryPolicy, SinkPause);

record! {
    SinkRow in "event_sinks": id, owner_key, owner_id, name, description, patterns, kind as "type",
    active, config, policy, paused, secret, previous_secret, previous_until, sealed_headers,
    sealed_client_key, created_at
}

kept! {
    SinkRow "sink": SinkId, fixed [owner_key, owner_id, type, created_at],
    of owner_key: str, unique [owner_key, name] named name,
    size "octet_length(config) + octet_length(description) + octet_length(patterns)"
}

impl Powered for SinkRow {}

/// The `owner_key` of a user's own sinks.
pub fn owner_key(user: UserId) -> String {
    user.to_string()
}

/// The kind of owner that an `owner_key` names.
pub(crate) fn owner_of(key: &str) -> SinkOwner {
    match key {
        GLOBAL => SinkOwner::Global,
        _ => SinkOwner::User,
    }
}

impl SinkRow {
    pub fn is_global(&self) -> bool {
        self.owner_key == GLOBAL
    }

    /// Whether the sink delivers several events at a time, ordered by a key.
    pub fn is_keyed(&self) -> bool {
        self.kind == SinkType::Webhook && self.policy.ordering == Ordering::Key
    }

    pub(super) fn has_lane(&self) -> bool {
        matches!(self.kind, SinkType::Webhook | SinkType::Script)
    }
}
