//! Bodies of `/api/auth`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{Permissions, Quotas, Scopes, SessionId, SpaceId, Timestamp, UserId, UserName};

use super::{PASSWORD_MAX, PASSWORD_MIN};

/// Names of the session cookie, on plain and on secure connections.
pub const SESSION_COOKIES: [&str; 2] = ["svc_session", "__Host-svc_session"];

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"username": "ann", "password": "correct horse battery"}))]
pub struct Login {
    pub username: String,
    pub password: String,
}

/// `POST /api/auth/setup`: creates the first administrator, with the one-time setup token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"setup_token": "from the server's log", "password": "correct horse battery"}))]
pub struct Setup {
    pub setup_token: String,
    #[serde(default = "admin")]
    #[schemars(with = "UserName")]
    pub username: String,
    #[schemars(length(min = PASSWORD_MIN, max = PASSWORD_MAX))]
    pub password: String,
}

/// `POST /api/auth/sign-in`: opens a session with a sign-in link, which `svc up` or
/// `svc server start --sign-in-link` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"token": "svc_sgn_…"}))]
pub struct SignIn {
    /// The fragment of the link, `svc_sgn_…`.
    pub token: String,
}

fn admin() -> String {
    "admin".to_owned()
}

/// `GET /api/auth/me`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    pub id: UserId,
    pub username: UserName,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    pub permissions: Permissions,
    /// `token`, `session`, `app` or `agent`; `script` for a script that the server runs;
    /// `enrolment` for a session that may only set up a second factor, because a role requires one.
    #[schemars(extend("enum" = ["token", "session", "app", "agent", "script", "enrolment"]))]
    pub credential: String,
    /// The scopes of a token or an app; empty for other credentials.
    pub scopes: Scopes,
    /// The space of an agent token.
    pub space_id: Option<SpaceId>,
    /// The user's quotas on this server.
    #[serde(default)]
    pub quotas: Quotas,
}

/// `GET /api/auth/state`: the first request of the web interface. Needs no credential.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuthState {
    /// True if there is no user yet. The server's log has the one-time setup link.
    pub setup_needed: bool,
    /// `None` without a valid credential.
    pub me: Option<Me>,
    /// The server's version.
    pub version: String,
    /// Whether the caller may create spaces that this server runs itself (runtime `local`).
    #[serde(default)]
    pub local_spaces: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"current_password": "correct horse battery", "new_password": "a better horse battery"}))]
pub struct ChangePassword {
    pub current_password: String,
    #[schemars(length(min = PASSWORD_MIN, max = PASSWORD_MAX))]
    pub new_password: String,
}

/// The query of lists of sessions, tokens, connected apps and linked accounts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CredentialQuery {
    /// The user whose list is returned. Without it, you get your own list. For another user, you
    /// need `manage_users`.
    pub user: Option<UserId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
