//! Bodies of `/api/scripts`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use svc_core::{ScriptId, Timestamp, UserId};

/// What a stored script is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptKind {
    /// Run by a space's agent when it starts.
    Startup,
    /// Imported by other scripts, under its name.
    Library,
    /// Run by the server for each event of a sink.
    Sink,
    /// Run by the server for a caller: defines `main(params)`.
    Tool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptOwner {
    #[default]
    User,
    /// Everybody may use it; `manage_scripts` changes it.
    Global,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Script {
    pub id: ScriptId,
    /// Unique per owner and kind; a Python name for libraries.
    pub name: String,
    pub kind: ScriptKind,
    pub owner: ScriptOwner,
    /// Who made it, for a global one.
    pub owner_id: UserId,
    pub description: String,
    pub source: String,
    /// Of tools: what `main` takes.
    pub params_schema: Option<Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewScript {
    pub name: String,
    pub kind: ScriptKind,
    #[serde(default)]
    pub owner: ScriptOwner,
    pub source: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub params_schema: Option<Value>,
}

/// A merge patch. Kind and owner never change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptPatch {
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
    pub source: Option<String>,
    #[serde(
        default,
        deserialize_with = "super::patch::set",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    #[serde(
        default,
        deserialize_with = "super::patch::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub params_schema: Option<Option<Value>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scripts {
    pub scripts: Vec<Script>,
    pub next_cursor: Option<String>,
}

/// `POST /api/scripts/{id}/run`: tries a script as the caller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunScript {
    /// What a tool's `main` gets; `{}` when absent.
    #[serde(default)]
    pub params: Option<Value>,
    /// Of sink scripts: the type of the sample event they get.
    #[serde(default)]
    pub event_type: Option<String>,
}

/// How a run ended. A script that failed is an answer, not an error of the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RanScript {
    /// What `main` returned, as it wrote it; null for sinks and on failure.
    pub result: Box<RawValue>,
    pub error: Option<ScriptFault>,
    /// What it printed, as far as it is kept.
    pub output: String,
    pub ms: u64,
}

/// Why a script failed or is refused, and where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScriptFault {
    /// One line, such as `ValueError: no such note`.
    pub message: String,
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
    /// The text of that line.
    pub source_line: Option<String>,
    /// The whole of it, as Python prints it.
    pub traceback: String,
}

/// Query parameters of `GET /api/scripts`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ScriptQuery {
    pub kind: Option<ScriptKind>,
    pub owner: Option<ScriptOwner>,
    pub name: Option<String>,
}
