//! A registration and its rules (spec 2.1).
//!
//! The same check runs in the command line, in the agent and in the server. The server trusts no
//! agent.

mod annotations;
mod check;
mod compatibility;
mod definition;
mod file_schema;
mod precedence;

pub use annotations::{Annotations, TITLE_MAX, check_title};
pub use check::{
    CheckedMethod, CheckedRegistration, Step, Violation, Warning, name_method, show_path,
};
pub use compatibility::{BreakingChange, MethodSchemas, breaking_changes};
pub use definition::Definition;
pub use file_schema::file_schema;
pub use precedence::Acceptance;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::file_schema::{AnySchema, LOCAL_NAME_PATTERN, NAME_PATTERN, PATTERN_PATTERN};
use crate::{
    delivery_policy::Overflow,
    journal::{JournalLevel, POINTER_MAX, POINTER_PATTERN, POINTERS_MAX},
    text_enum::text_enum,
    visibility::MethodScope,
};

/// The maximum number of methods that one space may publish.
pub const METHODS_MAX: usize = 1_000;
/// Bounds of a call's timeout, in seconds (spec 8).
pub const TIMEOUT_RANGE: std::ops::RangeInclusive<u32> = 1..=3_600;
pub const TIMEOUT_DEFAULT: u32 = 30;
/// The maximum number of characters of a description.
const DESCRIPTION_MAX: usize = 4_096;
/// The maximum number of characters of an entry of a list.
const WORD_MAX: usize = 128;
/// The maximum number of entries of a list.
const WORDS_MAX: usize = 100;
/// The maximum number of characters of a local name.
const LOCAL_NAME_MAX: usize = 256;
/// The start of the names of svc's own messages to and from a method server, such as `$/ready`.
/// No local name may begin with it.
const RESERVED_PREFIX: &str = "$/";

/// One server definition and its method definitions, as written in the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// Version of the format; must be 1.
    #[serde(default = "version_1")]
    #[schemars(extend("const" = 1))]
    pub version: u32,
    pub server: ServerDefinition,
    /// The methods that the space publishes.
    #[serde(default)]
    #[schemars(!default, length(min = 1, max = METHODS_MAX))]
    pub methods: Vec<MethodDefinition>,
}

fn version_1() -> u32 {
    1
}

/// How to start a method server and send calls to it.
// spec 2.1, `[server]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerDefinition {
    /// How svc talks to the method server: over stdin and stdout.
    #[serde(default)]
    pub r#type: ServerType,
    /// Program that starts the method server: a name on PATH or, if it contains a `/`, a path
    /// relative to this file.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Arguments of the command.
    #[serde(default)]
    pub args: Vec<String>,
    /// Seconds that a call may take.
    #[serde(default = "timeout_default")]
    #[schemars(range(min = *TIMEOUT_RANGE.start(), max = *TIMEOUT_RANGE.end()))]
    pub timeout: u32,
    /// Whether the method server gets many calls at a time or one after the other.
    #[serde(default)]
    pub mode: Mode,
    /// The maximum number of calls in flight. If absent, there is no limit in concurrent mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX))]
    pub max_in_flight: Option<u32>,
    /// Whether the requests to the method server have the trace context of their calls: the member
    /// `_meta` with `traceparent` and `tracestate`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// Additional environment variables for the method server.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"pattern": "^[^=]+$"}))]
    pub env: BTreeMap<String, String>,
}

impl ServerDefinition {
    /// The maximum number of calls in flight (spec 2.1); `None` without a limit.
    pub fn in_flight_max(&self) -> Option<u32> {
        match self.mode {
            Mode::Concurrent => self.max_in_flight,
            Mode::Serial => Some(1),
        }
    }

    /// Whether the method server never works on two calls at a time (spec 2.1). So a call stays in
    /// flight after its caller has left, and a new method server waits until the old one is idle.
    /// A limit of 1 in concurrent mode does not promise this.
    pub fn excludes_overlap(&self) -> bool {
        self.mode == Mode::Serial
    }
}

fn timeout_default() -> u32 {
    TIMEOUT_DEFAULT
}

/// How svc talks to a method server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerType {
    #[default]
    Stdio,
}

text_enum! {
    /// Whether a method server has many calls in flight or one (spec 4.1, "Concurrency mode").
    #[derive(Default)]
    Mode {
        #[default]
        Concurrent = "concurrent",
        Serial = "serial",
    }
}

/// One published method.
// spec 2.1, `[[methods]]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["local_name"]}, {"required": ["events"]}]))]
pub struct MethodDefinition {
    /// Published name: segments of letters, digits, `_` and `-`, joined by dots. `{{space}}` stands
    /// for the name of the space.
    #[schemars(
        regex(pattern = NAME_PATTERN),
        extend("not" = {"pattern": r"^rpc\."})
    )]
    pub name: String,
    /// Name of the method in the method server. Must not begin with `$/`. Only a method with `events`
    /// may omit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = LOCAL_NAME_PATTERN), length(min = 1, max = LOCAL_NAME_MAX))]
    pub local_name: Option<String>,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"\S"), length(max = TITLE_MAX))]
    pub title: Option<String>,
    /// What the method does, for people and for language models.
    #[schemars(regex(pattern = r"\S"), length(max = DESCRIPTION_MAX))]
    pub description: String,
    /// Words by which the method can be found.
    #[serde(default)]
    #[schemars(length(max = WORDS_MAX), inner(regex(pattern = r"\S"), length(max = WORD_MAX)))]
    pub keywords: Vec<String>,
    /// Who sees the method: only you, or also other users.
    #[serde(default)]
    pub scope: MethodScope,
    /// Names or ids of groups. Only their members see a shared method. Without groups, every user
    /// who may use shared methods sees it.
    #[serde(default)]
    #[schemars(length(max = WORDS_MAX), inner(regex(pattern = r"\S"), length(max = WORD_MAX)))]
    pub groups: Vec<String>,
    /// Whether the method is also an MCP tool.
    #[serde(default)]
    pub mcp_tool: bool,
    /// Hints for MCP clients about the effects of the method. Without a hint, nothing is known
    /// about that effect.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// JSON Schema of the params.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySchema>")]
    pub params_schema: Option<Value>,
    /// JSON Schema of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnySchema>")]
    pub result_schema: Option<Value>,
    /// Patterns of the events for which the method is called, such as `custom.deploy.*`.
    #[serde(default)]
    #[schemars(length(max = WORDS_MAX), inner(regex(pattern = PATTERN_PATTERN)))]
    pub events: Vec<String>,
    /// Names of json-rpc sinks that format the events for the method.
    #[serde(default)]
    #[schemars(length(max = WORDS_MAX), inner(regex(pattern = r"\S"), length(max = WORD_MAX)))]
    pub event_sinks: Vec<String>,
    /// What happens to an event that does not fit into the method's queue, or that arrives while no
    /// space offers the method: `drop` it, or `hold` it and call the method later, in order.
    #[serde(default, skip_serializing_if = "Overflow::is_drop")]
    pub event_overflow: Overflow,
    /// What the call journal records of each call: `none`, its `outcome`, or `payloads`, which adds
    /// params, results and errors. Callers see this value.
    #[serde(default, skip_serializing_if = "JournalLevel::is_default")]
    pub journal: JournalLevel,
    /// JSON pointers, such as `/password` or `/cards/*/number`, to values of params, results and
    /// errors that the journal must not record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = POINTERS_MAX),
        inner(regex(pattern = POINTER_PATTERN), length(max = POINTER_MAX))
    )]
    pub journal_redact: Vec<String>,
}
