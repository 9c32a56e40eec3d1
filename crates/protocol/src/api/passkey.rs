//! Bodies of the requests and answers about passkeys (WebAuthn). Bytes are base64url without
//! padding, as browsers write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{PasskeyId, Timestamp};

use super::patch::set;

/// A passkey of the caller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Passkey {
    pub id: PasskeyId,
    pub name: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// `POST /api/auth/passkeys/begin`: what `navigator.credentials.create` needs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PasskeyCreation {
    pub challenge: String,
    /// The host name that the passkey belongs to.
    pub rp_id: String,
    /// The name of this server.
    pub rp_name: String,
    pub user_id: String,
    pub user_name: String,
    /// Passkeys that the user has already.
    pub exclude: Vec<String>,
    /// COSE numbers of the accepted algorithms, the preferred one first.
    pub algorithms: Vec<i64>,
    pub expires_at: Timestamp,
}

/// `POST /api/auth/passkeys`: adds a passkey that the browser has created.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "Phone", "client_data": "eyJ0eXBlIjoi…", "authenticator_data": "SZYN5Y…"}))]
pub struct NewPasskey {
    /// Between 1 and 60 characters.
    pub name: String,
    /// `response.clientDataJSON` of the browser.
    pub client_data: String,
    /// `response.getAuthenticatorData()` of the browser.
    pub authenticator_data: String,
}

/// Answer to [`NewPasskey`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedPasskey {
    pub passkey: Passkey,
    /// New recovery codes, if the caller had none. Each code is valid once. Only this answer
    /// contains them.
    pub recovery_codes: Vec<String>,
}

/// `PATCH /api/auth/passkeys/{id}`: a merge patch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({"name": "Work laptop"}))]
pub struct PasskeyPatch {
    /// Between 1 and 60 characters.
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<String>,
}

/// `POST /api/auth/passkeys/challenge`: begins a login with a passkey.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"token": "svc_lgn_…"}))]
pub struct PasskeyChallenge {
    /// The token from the answer to `POST /api/auth/login`. Without it, the passkey replaces user
    /// name and password.
    pub token: Option<String>,
}

/// Answer to [`PasskeyChallenge`]: what `navigator.credentials.get` needs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PasskeyRequest {
    pub challenge: String,
    pub rp_id: String,
    /// The passkeys of the user. Empty without a token: the browser lets the user choose.
    pub allow: Vec<String>,
    /// Whether the device must verify its user, such as by a PIN: `required` or `preferred`.
    pub user_verification: String,
    pub expires_at: Timestamp,
}

/// `POST /api/auth/passkeys/login`: completes a login with the passkey's answer to the challenge.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "credential_id": "dGVzdA", "client_data": "eyJ0eXBlIjoi…", "authenticator_data": "SZYN5Y…",
    "signature": "MEUCIQ…", "user_handle": "AZpk…",
}))]
pub struct PasskeyLogin {
    /// The token that was sent to request the challenge, if there was one.
    pub token: Option<String>,
    pub credential_id: String,
    /// `response.clientDataJSON` of the browser.
    pub client_data: String,
    pub authenticator_data: String,
    pub signature: String,
    /// The user of the passkey, if the passkey reports it.
    pub user_handle: Option<String>,
}
