//! Bodies of `/api/auth`.

use serde::{Deserialize, Serialize};
use svc_core::{Permissions, Quotas, Scopes, SessionId, SpaceId, Timestamp, UserId, UserName};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub username: String,
    pub password: String,
}

/// `POST /api/auth/setup`: the one-time link of a first start makes the first administrator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub setup_token: String,
    #[serde(default = "admin")]
    pub username: String,
    pub password: String,
}

fn admin() -> String {
    "admin".to_owned()
}

/// `GET /api/auth/me`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Me {
    pub id: UserId,
    pub username: UserName,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    pub permissions: Permissions,
    /// `token`, `session` or `agent`.
    pub credential: String,
    /// The token's scopes; empty for anything else.
    pub scopes: Scopes,
    /// The space an agent token belongs to.
    pub space_id: Option<SpaceId>,
    /// What the user may have on this server.
    #[serde(default)]
    pub quotas: Quotas,
}

/// `GET /api/auth/state`: where a page begins. No credential is no error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuthState {
    /// There is no user yet: the server's log has the one-time link.
    pub setup_needed: bool,
    /// Nothing without a credential that holds.
    pub me: Option<Me>,
    /// Of the server.
    pub version: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    pub current_password: String,
    pub new_password: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub address: String,
    pub user_agent: String,
    /// The session this very request came with.
    pub current: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sessions {
    pub sessions: Vec<Session>,
    pub next_cursor: Option<String>,
}
