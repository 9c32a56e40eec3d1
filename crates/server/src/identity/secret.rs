//! Creates secrets. They are shown once and stored only as a SHA-256 hash.
//!
//! A fast hash is enough: a secret has 256 random bits and cannot be guessed.

use data_encoding::HEXLOWER;
use svc_core::credential::{CredentialKind, SECRET_BYTES};
use svc_crypto::{random, sha256};
use svc_store::{Hash, users::UserRow};

use super::directory::AccessDenied;
use crate::records::Result;

/// A new secret. Without `Debug`, so that it is never logged.
pub struct Secret {
    pub text: String,
    pub hash: Hash,
}

impl Secret {
    pub fn new(kind: CredentialKind) -> Result<Self> {
        let text = kind.format(&random::bytes::<SECRET_BYTES>()?);
        let hash = hash_secret(&text);
        Ok(Self { text, hash })
    }
}

/// The hash by which a secret is stored and looked up.
pub fn hash_secret(text: &str) -> Hash {
    sha256(text)
}

/// The hash of a token that begins a login of a user. It includes the hash of the password, so that
/// a new password makes the token invalid.
pub fn hash_of_login(token: &str, user: &UserRow) -> Hash {
    hash_secret(&format!("{token}{}", user.password_hash))
}

/// A hash as hexadecimal text.
pub(super) fn hex(hash: &Hash) -> String {
    HEXLOWER.encode(hash)
}

/// The hash of a credential that a request presents. Rejects secrets that do not authenticate
/// requests. The checksum of a secret rejects a mistyped one without a look-up.
pub fn presented_key(text: &str) -> Result<Hash, AccessDenied> {
    match CredentialKind::recognise(text) {
        Some(
            CredentialKind::ApiToken
            | CredentialKind::AgentToken
            | CredentialKind::Session
            | CredentialKind::AccessToken,
        ) => Ok(hash_secret(text)),
        Some(
            CredentialKind::Setup
            | CredentialKind::SignIn
            | CredentialKind::RefreshToken
            | CredentialKind::AuthorizationCode
            | CredentialKind::DeviceCode
            | CredentialKind::ClientSecret
            | CredentialKind::PendingLogin
            | CredentialKind::SourceUrl,
        )
        | None => Err(AccessDenied::Unknown),
    }
}
