//! Bodies of `/api/oidc` and `/api/auth/oidc`: OpenID Connect providers that users sign in with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{OidcIdentityId, OidcProviderId, Timestamp, UserName};

use svc_derive::Patch;

use super::patch::yes;

/// A provider, for administrators. Its client secret is never shown.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OidcProvider {
    pub id: OidcProviderId,
    /// Part of this server's URLs for the provider, such as `/api/auth/oidc/{name}/callback`.
    pub name: String,
    /// The text of the button on the sign-in page.
    pub label: String,
    pub issuer: String,
    pub client_id: String,
    pub has_secret: bool,
    pub scopes: Vec<String>,
    pub enabled: bool,
    /// Whether unknown users get an account.
    pub create_users: bool,
    /// The accepted values of each claim. An unknown user gets an account only if every claim
    /// listed here has an accepted value.
    pub required_claims: BTreeMap<String, Vec<String>>,
    /// The claim with the groups of a user: its name, or a path such as `realm_access.roles`.
    pub groups_claim: Option<String>,
    pub mappings: Vec<ClaimMapping>,
    /// Number of accounts at the provider that are linked to users.
    pub identities: u64,
    pub created_at: Timestamp,
}

/// A value of the groups claim, and the group or the role that users with this value get.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimMapping {
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "name": "corp", "label": "Corp account", "issuer": "https://id.example.com/realms/corp",
    "client_id": "svc", "client_secret": "from the provider", "groups_claim": "groups",
    "mappings": [{"value": "svc-admins", "role": "admin"}],
}))]
#[patch(OidcProviderPatch, example = json!({"enabled": false}))]
pub struct NewOidcProvider {
    /// Lower-case letters, digits and single hyphens. The name cannot be changed, because it is in
    /// the URLs of this server that are configured at the provider.
    #[schemars(with = "UserName")]
    #[patch(fixed)]
    pub name: String,
    /// The text of the button; the name if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(type = String)]
    pub label: Option<String>,
    /// The issuer, exactly as the provider writes it. If it ends with a slash, keep the slash. The
    /// issuer cannot be changed later.
    #[schemars(length(min = 1, max = 1024))]
    #[patch(fixed)]
    pub issuer: String,
    #[schemars(length(min = 1, max = 1024))]
    pub client_id: String,
    /// Absent for a public client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(doc = "`null` makes the client public.")]
    pub client_secret: Option<String>,
    /// `openid`, `profile` and `email` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[patch(type = Vec<String>)]
    pub scopes: Option<Vec<String>>,
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default)]
    pub create_users: bool,
    #[serde(default)]
    pub required_claims: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    #[serde(default)]
    pub mappings: Vec<ClaimMapping>,
}

/// `GET /api/oidc/providers/{id}/check`: checks in several steps whether users can sign in with the
/// provider.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OidcCheck {
    /// True if no step failed.
    pub ok: bool,
    pub steps: Vec<OidcCheckStep>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OidcCheckStep {
    pub step: String,
    pub ok: bool,
    /// The result of the step, in words.
    pub detail: String,
    /// What to do; absent if there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// `GET /api/auth/oidc`: the providers of the sign-in page. Needs no credential.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SignInOptions {
    pub providers: Vec<SignInOption>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SignInOption {
    pub name: String,
    pub label: String,
}

/// `POST /api/auth/oidc/{name}/link` and `POST /api/auth/identities/{id}/remove`
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"password": "correct horse battery"}))]
pub struct IdentityProof {
    /// The user's password, entered again. Absent for a user without a password, who must have
    /// signed in with a provider within the last 10 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// Where the browser goes to link an account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkStarted {
    pub redirect_to: String,
}

/// `GET /api/auth/identities`: the accounts at providers with which the caller signs in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkedIdentities {
    pub identities: Vec<LinkedIdentity>,
    /// Whether the user can also sign in with a password.
    pub has_password: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkedIdentity {
    pub id: OidcIdentityId,
    /// The label of the provider.
    pub provider: String,
    pub issuer: String,
    pub email: Option<String>,
    pub display_name: Option<String>,
    pub created_at: Timestamp,
    pub last_login_at: Option<Timestamp>,
}
