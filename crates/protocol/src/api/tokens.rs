//! Bodies of `/api/tokens`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{Scope, Scopes, Timestamp, TokenId, name::FreeName};

use super::EXPIRY_DAYS_MAX;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    /// The secret. Present only in the answer to the token's creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "ci", "scopes": ["methods"], "expires_in_days": 90}))]
pub struct NewToken {
    #[schemars(with = "FreeName")]
    pub name: String,
    /// Unrestricted if empty or absent (spec 5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Scope>>")]
    pub scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = EXPIRY_DAYS_MAX))]
    pub expires_in_days: Option<u32>,
}
