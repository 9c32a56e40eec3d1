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
    /// Depends on the action.
    pub detail: Value,
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
