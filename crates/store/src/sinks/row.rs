//! The row of a sink, and its settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_core::{ScriptId, SinkId, Timestamp, UserId, pattern::Pattern};
use svc_protocol::api::SinkType;

use crate::{
    error::StoreError,
    lanes,
    sql::Row,
    value::{FromValue, Json, Value},
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
    /// Encrypted.
    pub secret: Option<Vec<u8>>,
    /// Encrypted; also signs until `previous_until`.
    pub previous_secret: Option<Vec<u8>>,
    pub previous_until: Option<Timestamp>,
    /// Values of a webhook's headers, encrypted: see `events::sealed_headers`.
    pub sealed_headers: Option<Vec<u8>>,
    pub created_at: Timestamp,
}

/// The settings of a sink, by its type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SinkConfig {
    Webhook {
        url: String,
        /// By name; encrypted values are masked here.
        headers: BTreeMap<String, String>,
        body_template: Option<String>,
    },
    Script {
        script_id: Option<ScriptId>,
        source: Option<String>,
    },
    JsonRpc {
        body_template: Option<String>,
    },
}

impl SinkConfig {
    /// The headers of a webhook.
    pub fn headers(&self) -> Option<&BTreeMap<String, String>> {
        match self {
            Self::Webhook { headers, .. } => Some(headers),
            Self::Script { .. } | Self::JsonRpc { .. } => None,
        }
    }

    pub fn body_template(&self) -> Option<&str> {
        match self {
            Self::Webhook { body_template, .. } | Self::JsonRpc { body_template } => {
                body_template.as_deref()
            }
            Self::Script { .. } => None,
        }
    }
}

pub(super) const COLUMNS: &str = "id, owner_key, owner_id, name, description, patterns, type, active, config, \
                       secret, previous_secret, previous_until, sealed_headers, created_at";

/// The `owner_key` of a user's own sinks.
pub fn owner_key(user: UserId) -> String {
    user.to_string()
}

impl SinkRow {
    pub fn is_global(&self) -> bool {
        self.owner_key == GLOBAL
    }

    pub(super) fn has_lane(&self) -> bool {
        matches!(self.kind, SinkType::Webhook | SinkType::Script)
    }

    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let Json(config) = row.get("config")?;
        Ok(Self {
            id: row.get("id")?,
            owner_key: row.get("owner_key")?,
            owner_id: row.get("owner_id")?,
            name: row.get("name")?,
            description: row.get("description")?,
            patterns: lanes::read_patterns(row)?,
            kind: row.get("type")?,
            active: row.get("active")?,
            config,
            secret: row.get("secret")?,
            previous_secret: row.get("previous_secret")?,
            previous_until: row.get("previous_until")?,
            sealed_headers: row.get("sealed_headers")?,
            created_at: row.get("created_at")?,
        })
    }
}

impl FromValue for SinkType {
    fn from_value(value: &Value) -> Result<Self, String> {
        match String::from_value(value)?.as_str() {
            "webhook" => Ok(Self::Webhook),
            "script" => Ok(Self::Script),
            "json-rpc" => Ok(Self::JsonRpc),
            other => Err(format!("`{other}` is not a type of sink")),
        }
    }
}

impl From<SinkType> for Value {
    fn from(kind: SinkType) -> Self {
        match kind {
            SinkType::Webhook => "webhook",
            SinkType::Script => "script",
            SinkType::JsonRpc => "json-rpc",
        }
        .into()
    }
}
