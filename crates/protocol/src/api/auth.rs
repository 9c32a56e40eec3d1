//! Bodies of `/api/auth`.

use serde::{Deserialize, Serialize};
use svc_core::{Permissions, Quotas, Scopes, SessionId, SpaceId, Timestamp, UserId, UserName};

/// Names of the session cookie, on plain and on secure connections.
pub const SESSION_COOKIES: [&str; 2] = ["svc_session", "__Host-svc_session"];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub username: String,
    pub password: String,
}

/// `POST /api/auth/setup`: creates the first administrator with the one-time link of a first start.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub setup_token: String,
    #[serde(default = "admin")]
    pub username: String,
    pub password: String,
}

/// `POST /api/auth/sign-in`: opens a session with the one-click link of `svc up`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The fragment of the link, `svc_sgn_…`.
    pub token: String,
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
    /// The token's scopes; empty for other credentials.
    pub scopes: Scopes,
    /// The space of an agent token.
    pub space_id: Option<SpaceId>,
    /// The user's quotas on this server.
    #[serde(default)]
    pub quotas: Quotas,
}

/// `GET /api/auth/state`: the first request of the web interface. Needs no credential.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuthState {
    /// True if there is no user yet. The server's log has the one-time setup link.
    pub setup_needed: bool,
    /// `None` without a valid credential.
    pub me: Option<Me>,
    /// The server's version.
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
    /// Whether this request was made with this session.
    pub current: bool,
}
