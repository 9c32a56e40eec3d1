//! Secrets: drawn here, shown once, kept only as a SHA-256.
//!
//! A plain hash is enough: a secret has 256 random bits, so nothing is gained by guessing.

use sha2::{Digest, Sha256};
use svc_core::credential::{CredentialKind, SECRET_BYTES};
use svc_store::Hash;

use super::error::IdentityError;

/// A new secret. Deliberately without `Debug`.
pub struct Secret {
    pub text: String,
    pub hash: Hash,
}

impl Secret {
    pub fn new(kind: CredentialKind) -> Result<Self, IdentityError> {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| IdentityError::Internal(format!("no random bytes: {error}")))?;
        let text = kind.format(&bytes);
        let hash = hash_secret(&text);
        Ok(Self { text, hash })
    }
}

/// What a secret is stored and looked up by.
pub fn hash_secret(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}
