//! Bodies of `/api/tokens`.

use serde::{Deserialize, Serialize};
use svc_core::{Scopes, Timestamp, TokenId};

#[derive(Clone, Debug, Serialize, Deserialize)]
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

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    /// Unrestricted if empty or absent (spec 5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<u32>,
}
