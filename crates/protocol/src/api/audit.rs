//! Bodies of `/api/audit`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_core::{Id, Timestamp};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    pub id: Id,
    pub at: Timestamp,
    /// A user's name, or `system`.
    pub actor: String,
    /// Such as `token.created`.
    pub action: String,
    pub target_type: String,
    pub target_id: String,
    /// Depends on the action. At most 2 KiB: larger members are cut, and `cut` is then true.
    pub detail: Value,
    /// The number of entries that were merged into this one, if more than one. `at` and
    /// `detail` are those of the newest.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

/// Query parameters of `GET /api/audit`. An entry must match all parameters that are given.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditQuery {
    pub actor: Option<String>,
    pub action: Option<String>,
    pub target_type: Option<String>,
    pub target_id: Option<String>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
}
