//! A registration and its rules (spec 2.1).
//!
//! The same check runs in the command line, in the agent and in the server. The server trusts no
//! agent.

mod annotations;
mod check;
mod definition;

pub use annotations::{Annotations, TITLE_MAX, check_title};
pub use check::{CheckedMethod, CheckedRegistration, Step, Violation, Warning};
pub use definition::Definition;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::visibility::MethodScope;

/// Methods that one space may publish.
pub const METHODS_MAX: usize = 1_000;
/// Bounds of a call's timeout, in seconds (spec 8).
pub const TIMEOUT_RANGE: std::ops::RangeInclusive<u32> = 1..=3_600;
pub const TIMEOUT_DEFAULT: u32 = 30;

/// One server definition and its method definitions, as written in the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// Version of the format; must be 1.
    #[serde(default = "version_1")]
    pub version: u32,
    pub server: ServerDefinition,
    #[serde(default)]
    pub methods: Vec<MethodDefinition>,
}

fn version_1() -> u32 {
    1
}

/// How to start a method server and send calls to it (spec 2.1, `[server]`).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerDefinition {
    #[serde(default)]
    pub r#type: ServerType,
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default = "timeout_default")]
    pub timeout: u32,
    #[serde(default)]
    pub mode: Mode,
    /// Most calls in flight at the method server; `None` means no limit in concurrent mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

fn timeout_default() -> u32 {
    TIMEOUT_DEFAULT
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerType {
    #[default]
    Stdio,
}

/// Whether a method server has many calls in flight or one (spec 4.1, "Concurrency mode").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Concurrent,
    Serial,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Concurrent => "concurrent",
            Self::Serial => "serial",
        })
    }
}

/// One published method (spec 2.1, `[[methods]]`).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodDefinition {
    /// May contain `{{space}}`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_name: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    #[serde(default)]
    pub keywords: Vec<String>,
    #[serde(default)]
    pub scope: MethodScope,
    /// Names or ids of groups.
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub mcp_tool: bool,
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Value>,
    #[serde(default)]
    pub events: Vec<String>,
    #[serde(default)]
    pub event_sinks: Vec<String>,
}
