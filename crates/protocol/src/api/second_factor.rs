//! Bodies of logins with a second factor, and of its setup.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::Timestamp;

use super::{Passkey, User};

/// The answer to `POST /api/auth/login`: the user, or the second factor that is missing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LoginResult {
    /// The password is right, and a second factor is missing. There is no session yet.
    Pending { second_factor: PendingLogin },
    /// The user is signed in.
    SignedIn(Box<User>),
}

/// A login that waits for its second factor.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingLogin {
    /// Identifies this login in `POST /api/auth/second-factor` and in the requests of a login with
    /// a passkey. No other request accepts it.
    pub token: String,
    /// The second factors that the user can present.
    pub methods: Vec<FactorKind>,
    pub expires_at: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactorKind {
    /// A code of an authenticator app.
    Totp,
    /// An answer of a passkey, at `/api/auth/passkeys/login`.
    Passkey,
    /// One of the codes for a lost device.
    RecoveryCode,
}

/// `POST /api/auth/second-factor`: completes a login.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"token": "svc_lgn_…", "code": "123456"}))]
pub struct SecondFactorLogin {
    /// `second_factor.token` of the answer to `POST /api/auth/login`.
    pub token: String,
    /// Six digits of the authenticator app, or a recovery code.
    pub code: String,
}

/// The password of the caller, for changes of their second factor.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"password": "correct horse battery"}))]
pub struct PasswordProof {
    pub password: String,
}

/// `POST /api/auth/totp`: an authenticator app that is being set up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TotpEnrolment {
    /// The secret to type into the app. Only this answer contains it.
    pub secret: String,
    /// The secret as an address that authenticator apps can read: `otpauth://…`.
    pub uri: String,
    /// The address as a QR code: an SVG document.
    pub qr_svg: String,
    /// The first code must be entered before this time.
    pub expires_at: Timestamp,
}

/// The first code of an authenticator app.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"code": "123456"}))]
pub struct TotpCode {
    pub code: String,
}

/// New recovery codes. Earlier ones are not valid any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryCodes {
    /// Each code is valid once. Only this answer contains them.
    pub recovery_codes: Vec<String>,
}

/// `GET /api/auth/second-factor`: the second factors of the caller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SecondFactors {
    /// Whether a role of the caller requires a second factor.
    pub required: bool,
    /// When an authenticator app was set up; `null` without one.
    pub totp_since: Option<Timestamp>,
    pub passkeys: Vec<Passkey>,
    /// Recovery codes that were not used yet.
    pub recovery_codes_left: u64,
}
