//! Which sink, which purpose and which receiver an encrypted secret of a webhook belongs to.
//!
//! The associated data of the encryption has all three, the receiver as the origin (scheme, host and
//! port) of the sink's URL. So a secret that was given for one origin cannot be decrypted after the
//! URL has got another origin, and one secret of a sink cannot replace another.
//!
//! Rows of earlier versions are not bound to an origin until [`bind`] encrypts them again, at the
//! start of the server.

use svc_store::sinks::{SinkConfig, SinkRow};

use super::{
    deliver::webhook,
    secrets::{SecretError, SecretKey},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SinkSecret {
    /// The key of the signatures: the current one or the previous one.
    Signing,
    Headers,
    ClientKey,
}

impl SinkSecret {
    pub fn seal(self, key: &SecretKey, row: &SinkRow, secret: &[u8]) -> Vec<u8> {
        key.encrypt(secret, &self.associated_data(row))
    }

    pub fn open(
        self,
        key: &SecretKey,
        row: &SinkRow,
        sealed: &[u8],
    ) -> Result<Vec<u8>, SecretError> {
        key.decrypt(sealed, &self.associated_data(row))
    }

    fn associated_data(self, row: &SinkRow) -> Vec<u8> {
        let purpose: &[u8] = match self {
            Self::Signing => b" signing",
            Self::Headers => b" headers",
            Self::ClientKey => b" client key",
        };
        let origin = origin_of(row).unwrap_or_default();
        [row.id.0.as_bytes(), purpose, b" for ", origin.as_bytes()].concat()
    }

    /// The associated data of earlier versions.
    fn former_associated_data(self, row: &SinkRow) -> Vec<u8> {
        let purpose: &[u8] = match self {
            Self::Signing => b"",
            Self::Headers => b" headers",
            Self::ClientKey => b" client key",
        };
        [row.id.0.as_bytes(), purpose].concat()
    }
}

/// The origin of a webhook's URL; `None` for other sinks.
pub fn origin_of(row: &SinkRow) -> Option<String> {
    match &row.config {
        SinkConfig::Webhook { url, .. } => webhook::origin_of(url).ok(),
        SinkConfig::Script { .. } | SinkConfig::JsonRpc { .. } => None,
    }
}

/// Binds the secrets of a row of an earlier version to the origin of the URL. Returns whether the
/// row changed. A secret that cannot be decrypted stays as it is.
pub fn bind(key: &SecretKey, row: &mut SinkRow) -> bool {
    let secrets = [
        (SinkSecret::Signing, row.secret.clone()),
        (SinkSecret::Signing, row.previous_secret.clone()),
        (SinkSecret::Headers, row.sealed_headers.clone()),
        (SinkSecret::ClientKey, row.sealed_client_key.clone()),
    ];
    let bound = secrets.map(|(kind, sealed)| {
        let former = kind.former_associated_data(row);
        let secret = key.decrypt(&sealed?, &former).ok()?;
        Some(kind.seal(key, row, &secret))
    });
    let is_changed = bound.iter().any(Option::is_some);
    let places = [
        &mut row.secret,
        &mut row.previous_secret,
        &mut row.sealed_headers,
        &mut row.sealed_client_key,
    ];
    for (place, bound) in places.into_iter().zip(bound) {
        if bound.is_some() {
            *place = bound;
        }
    }
    is_changed
}
