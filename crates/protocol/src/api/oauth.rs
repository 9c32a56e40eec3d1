//! Bodies of `/api/oauth`: connected apps, and the requests of apps that users approve or reject.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{
    ConsentId, GrantId, OAuthClientId, Timestamp, UserId, UserName,
    name::FreeName,
    oauth::{ClientKind, OAuthScopes},
};

use super::patch::set;

/// An app as users see it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppSummary {
    pub id: OAuthClientId,
    /// The id that the app presents. For apps of the kind `metadata` it is an address.
    pub client_id: String,
    /// The name that the app gives itself. Do not trust it.
    pub name: String,
    pub kind: ClientKind,
    /// The host that is responsible for the app, if its kind is `metadata`.
    pub host: Option<String>,
}

/// A user's permission for an app.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    pub id: GrantId,
    pub user_id: UserId,
    pub username: UserName,
    pub app: AppSummary,
    pub scopes: OAuthScopes,
    /// The host to which the browser returned.
    pub redirect_host: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    /// The app is disconnected at this time unless it is used before.
    pub expires_at: Timestamp,
}

/// An app, for administrators.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct App {
    #[serde(flatten)]
    pub summary: AppSummary,
    /// The secret of a confidential app. Present only in the answer to its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Whether the app must present a secret.
    pub confidential: bool,
    /// Addresses to which the browser may return.
    pub redirect_uris: Vec<String>,
    /// A blocked app cannot be connected and has no grants.
    pub blocked: bool,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    /// Number of grants.
    pub grants: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "Dashboard", "redirect_uris": ["https://dash.example.com/callback"]}))]
pub struct NewApp {
    #[schemars(with = "FreeName")]
    pub name: String,
    #[schemars(length(min = 1, max = 10))]
    pub redirect_uris: Vec<String>,
    /// Whether the app keeps a secret on a server of its own.
    #[serde(default)]
    pub confidential: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({"blocked": true}))]
pub struct AppPatch {
    /// Blocking an app disconnects it from every user.
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub blocked: Option<bool>,
}

/// The request of an app to a user: `GET /api/oauth/requests/{id}`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Consent {
    pub id: ConsentId,
    pub app: AppSummary,
    pub scopes: OAuthScopes,
    /// The host to which the browser returns.
    pub redirect_host: String,
    /// Whether the browser returns to a program on its own machine. Any program on that machine may
    /// receive the answer.
    pub redirect_is_local: bool,
    /// A permission that the user needs and does not have.
    pub missing_permission: Option<String>,
    pub expires_at: Timestamp,
}

/// The user's answer to an app or a device.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"approve": true}))]
pub struct Decision {
    pub approve: bool,
}

/// Where the browser goes after the answer to an app.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DecisionResult {
    pub redirect_to: String,
}

/// A machine that waits for a login: `GET /api/oauth/devices/{user_code}`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeviceLogin {
    /// As shown on the machine: `BCDF-GHJK`.
    pub user_code: String,
    pub app: AppSummary,
    /// The IP address from which the login was requested.
    pub address: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}
