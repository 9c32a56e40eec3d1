//! Bodies of `/api/spaces`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{
    ScriptId, ServerId, SpaceId, SpaceName, TemplateId, Timestamp, UserId, UserName,
    space::{Condition, Health, HealthCheck, LogLevel, Runtime, State, StopReason},
};

use svc_derive::Patch;

use super::{LOG_LINES_MAX, LOG_SEARCH_MAX};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Space {
    pub id: SpaceId,
    pub name: SpaceName,
    pub owner_id: UserId,
    pub owner: UserName,
    pub state: State,
    /// Why the space is stopped; absent in any other state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// When the space was stopped; absent in any other state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    pub health: Health,
    pub runtime: Runtime,
    /// The folder of a space with the runtime `local`, on the machine of the server: there, commands
    /// such as `svc methods register` reach its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub template_id: Option<TemplateId>,
    pub startup_script_id: Option<ScriptId>,
    pub space_urls: BTreeMap<String, String>,
    /// The server that holds the link.
    pub node_id: Option<ServerId>,
    /// Whether the agent is linked to this server, or to another server of the zone. If another
    /// server loses the link, this field may stay true until the end of the grace period.
    #[serde(default)]
    pub linked: bool,
    pub health_check: HealthCheck,
    pub registration: RegistrationStatus,
    pub created_at: Timestamp,
    /// The agent token. Present only in the answer to the space's creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_token: Option<String>,
}

impl Space {
    pub fn condition(&self) -> Condition {
        Condition {
            state: self.state,
            stop_reason: self.stop_reason,
            health: self.health,
            is_linked: self.linked,
            is_refused: matches!(self.registration, RegistrationStatus::Refused { .. }),
        }
    }
}

/// Whether a space publishes methods.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RegistrationStatus {
    None,
    Active {
        methods: usize,
    },
    /// The link is lost. The methods stay registered for the grace period.
    Waiting {
        methods: usize,
    },
    /// The registration was refused, at the start of the agent or after a lost link. After a lost
    /// link, the agent retries.
    Refused {
        error: String,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "notes"}))]
#[patch(
    SpacePatch,
    "A merge patch; `null` resets a member to its default.",
    example = json!({"health_check": {"type": "tcp", "port": 8080}})
)]
pub struct NewSpace {
    #[schemars(with = "SpaceName")]
    #[patch(fixed)]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(fixed)]
    pub template_id: Option<TemplateId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_script_id: Option<ScriptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(fixed)]
    pub runtime: Option<Runtime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheck>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentToken {
    pub agent_token: String,
}

/// `GET /api/spaces/{id}/logs`. The number `n` of a line is larger than those of earlier lines.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Logs {
    pub logs: Vec<NumberedLine>,
    /// `cursor` of the next request.
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NumberedLine {
    pub n: u64,
    #[serde(flatten)]
    pub line: LogLine,
}

/// Query parameters of `GET /api/spaces/{id}/logs`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LogQuery {
    #[schemars(range(min = 1, max = LOG_LINES_MAX))]
    pub limit: Option<u64>,
    /// The number of the last line of the previous page.
    pub cursor: Option<u64>,
    /// Only lines of this source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LogSource>,
    /// Only lines of this level or a higher one, and lines that name no level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// Only lines that contain this text. Upper and lower case are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LOG_SEARCH_MAX))]
    pub search: Option<String>,
}

impl LogQuery {
    pub fn has_filter(&self) -> bool {
        self.source.is_some() || self.level.is_some() || self.search.is_some()
    }

    pub fn matches(&self, line: &LogLine) -> bool {
        let level = |wanted| LogLevel::of(&line.line).is_none_or(|found| found >= wanted);
        let contains = |text: &String| line.line.to_lowercase().contains(&text.to_lowercase());
        self.source.is_none_or(|source| source == line.source)
            && self.level.is_none_or(level)
            && self.search.as_ref().is_none_or(contains)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    pub at: Timestamp,
    pub source: LogSource,
    pub line: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    /// The method server's stderr.
    Stderr,
    /// Lines of the method server's stdout that are not JSON-RPC responses.
    Stdout,
    /// Messages of the agent, for example about the method server or a startup script.
    Agent,
    /// Output of a script that the agent runs, such as a startup script or a registration in
    /// Python.
    Script,
}
