//! Bodies of `/api/methods`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use svc_core::{
    SpaceId, SpaceName, UserId, UserName,
    delivery_policy::Overflow,
    journal::{JournalLevel, JsonPointer},
    registration::Annotations,
    visibility::MethodScope,
};

use super::PAGE_MAX;

/// Path of method calls.
pub const CALL_PATH: &str = "/api/methods/call";

/// `GET /api/methods`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Methods {
    /// Number of methods on all pages.
    pub count: usize,
    pub methods: Vec<Method>,
    /// The cursor of the next page, null on the last page. Absent if the whole list was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Option<String>>,
}

/// A method as one caller sees it. `local_name` and the fields after it are filled only for the
/// owner.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    pub name: String,
    #[serde(default)]
    pub title: Option<String>,
    pub description: String,
    pub keywords: Vec<String>,
    #[schemars(with = "MethodScope")]
    pub scope: String,
    pub mcp_tool: bool,
    pub mcp_tool_name: Option<String>,
    /// The hints in the registration. Hints that it does not contain are absent.
    #[serde(default)]
    pub annotations: Annotations,
    /// A JSON Schema.
    pub params_schema: Option<Value>,
    /// A JSON Schema.
    pub result_schema: Option<Value>,
    /// What the call journal records of each call: `none`, its `outcome`, or `payloads`, which adds
    /// params, results and errors.
    #[serde(default)]
    pub journal: JournalLevel,
    /// JSON pointers to the values of params, results and errors that are not recorded. Absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub journal_redact: Vec<JsonPointer>,
    pub owner_id: UserId,
    pub owner: UserName,
    /// Providers that can take calls now.
    pub provider_count: usize,
    pub local_name: Option<String>,
    pub groups: Vec<String>,
    /// Number of groups in the registration that were deleted later. If all groups of the method
    /// are deleted, only the owner sees the method.
    #[serde(default)]
    pub deleted_groups: usize,
    pub events: Vec<String>,
    pub event_sinks: Vec<String>,
    /// Absent if it is `drop`.
    #[serde(default, skip_serializing_if = "Overflow::is_drop")]
    pub event_overflow: Overflow,
    pub providers: Vec<Provider>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Provider {
    pub space_id: SpaceId,
    pub space: SpaceName,
    pub in_flight: u32,
    /// `ready`, `restarting` or `unlinked`.
    #[schemars(extend("enum" = ["ready", "restarting", "unlinked"]))]
    pub state: String,
}

/// A JSON-RPC response as a client reads it. Result and error keep their bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallResponse {
    pub jsonrpc: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<RawValue>>,
    pub id: Box<RawValue>,
}

/// Query parameters of `GET /api/methods`. Without limit and cursor, the answer is the whole list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MethodQuery {
    /// Only the method with exactly this visible name.
    pub name: Option<String>,
    /// Words to search for. Each word must occur in the name, the description or a keyword.
    pub q: Option<String>,
    /// Only methods of this user.
    pub owner: Option<String>,
    pub scope: Option<MethodScope>,
    /// Only the caller's own methods that this space offers.
    pub space: Option<SpaceId>,
    #[schemars(range(min = 1, max = PAGE_MAX))]
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}
