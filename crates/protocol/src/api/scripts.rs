//! Bodies of `/api/scripts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use svc_core::{
    EventId, ScriptId, Timestamp, UserId,
    name::FreeName,
    registration::{Annotations, TITLE_MAX},
};

use svc_derive::Patch;

use super::{DESCRIPTION_MAX, patch::nullable};

/// The purpose of a stored script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScriptKind {
    /// Run by a space's agent when the agent starts.
    Startup,
    /// Imported by other scripts, under its name.
    Library,
    /// Run by the server for each event of a sink.
    Sink,
    /// Run by the server for a caller: defines `main(params)`.
    Tool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScriptOwner {
    #[default]
    User,
    /// All users may use the script; changing it requires `manage_scripts`.
    Global,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    pub id: ScriptId,
    /// Unique per owner and kind. The name of a library is a Python name.
    pub name: String,
    pub kind: ScriptKind,
    pub owner: ScriptOwner,
    /// For a global script, the user who created it.
    pub owner_id: UserId,
    /// For tools: a name for people.
    #[serde(default)]
    pub title: Option<String>,
    pub description: String,
    /// For tools: hints about what the tool does. Unknown hints are absent.
    #[serde(default)]
    pub annotations: Annotations,
    pub source: String,
    /// For tools: the schema of the params of `main`.
    pub params_schema: Option<Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "name": "greet", "kind": "tool", "source": "def main(params):\n    return 'Hello ' + params['name']\n",
    "description": "Greets a person",
}))]
#[patch(
    ScriptPatch of Script,
    "A merge patch. Kind and owner never change.",
    example = json!({"description": "Greets a person by name"})
)]
pub struct NewScript {
    /// The name of a library is a Python name.
    #[schemars(with = "FreeName")]
    pub name: String,
    #[patch(fixed)]
    pub kind: ScriptKind,
    #[serde(default)]
    #[patch(fixed)]
    pub owner: ScriptOwner,
    pub source: String,
    #[serde(default)]
    #[schemars(regex(pattern = r"\S"), length(max = TITLE_MAX))]
    pub title: Option<String>,
    #[serde(default)]
    #[schemars(length(max = DESCRIPTION_MAX))]
    pub description: String,
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    #[patch(merge, type = Option<AnnotationsPatch>)]
    pub annotations: Annotations,
    /// For tools: the JSON Schema of the params of `main`.
    #[serde(default)]
    pub params_schema: Option<Value>,
}

/// A merge patch of annotations: `null` makes a hint unknown. A hint that is not in the patch keeps
/// its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnnotationsPatch {
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<Option<bool>>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<Option<bool>>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<Option<bool>>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<Option<bool>>,
}

/// `POST /api/scripts/{id}/run`: runs a script once, with the permissions of the caller.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"params": {"name": "Ann"}}))]
pub struct RunScript {
    /// Params of a tool's `main`; `{}` if absent.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub params: Option<Box<RawValue>>,
    /// For sink scripts: the type of the sample event.
    pub event_type: Option<String>,
    /// For sink scripts: a stored event that the caller sees, instead of a sample event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// Run this text instead of the stored source, which stays unchanged. The caller must be
    /// allowed to change the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// `POST /api/scripts/run`: runs a script that is not stored, once, with the permissions of the
/// caller. The caller must be allowed to store the script.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "kind": "tool", "source": "def main(params):\n    return 'Hello ' + params['name']\n",
    "params": {"name": "Ann"},
}))]
pub struct RunNewScript {
    pub kind: ScriptKind,
    /// A global script imports global libraries only, and needs `manage_scripts`.
    #[serde(default)]
    pub owner: ScriptOwner,
    /// The name in tracebacks; `draft` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<FreeName>")]
    pub name: Option<String>,
    pub source: String,
    /// Params of a tool's `main`; `{}` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub params: Option<Box<RawValue>>,
    /// For sink scripts: the type of the sample event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// For sink scripts: a stored event that the caller sees, instead of a sample event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
}

/// `POST /api/scripts/check`: compiles a source without storing or running it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"source": "def main(params):\n    return 1\n"}))]
pub struct CheckScript {
    pub source: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScriptCheck {
    /// Why the source would be rejected, with its line (`draft.py:4: SyntaxError: …`); null if the
    /// source would be accepted.
    pub problem: Option<String>,
}

/// The outcome of a run. If the script fails, the request still succeeds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScriptRunResult {
    /// The return value of `main`; null for sinks and on failure.
    pub result: Box<RawValue>,
    pub error: Option<ScriptFault>,
    /// The script's output, possibly truncated.
    pub output: String,
    pub ms: u64,
}

/// Why a script failed or is rejected, and where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScriptFault {
    /// One line, such as `ValueError: no such note`.
    pub message: String,
    pub file: Option<String>,
    /// The line number, counted from 1.
    pub line: Option<u32>,
    /// The text of that line.
    pub source_line: Option<String>,
    /// The whole traceback, as Python prints it.
    pub traceback: String,
}

/// Query parameters of `GET /api/scripts`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScriptQuery {
    pub kind: Option<ScriptKind>,
    pub owner: Option<ScriptOwner>,
    pub name: Option<String>,
}
