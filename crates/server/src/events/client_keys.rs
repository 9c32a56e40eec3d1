//! Encrypts the private keys of client certificates in the database, like the signing secrets.
//!
//! A sink's stored configuration holds [`MASK`] in place of the key. The encrypted key is in the
//! row's `sealed_client_key`. The key never appears in an answer, a log line or an audit entry.

use svc_client::{TlsSettings, TlsSettingsError, check_tls_settings};
use svc_store::sinks::{SinkConfig, SinkRow};
use thiserror::Error;

use super::{sealed_headers::MASK, sink_secrets};
use crate::secrets::{SecretError, SecretKey, SinkSecret};

#[derive(Debug, Error)]
pub enum ClientKeyError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Settings(#[from] TlsSettingsError),
}

/// The decrypted client key of a webhook, if the webhook has one.
pub fn open(key: &SecretKey, row: &SinkRow) -> Result<Option<String>, SecretError> {
    let webhook = row.config.webhook();
    match (
        webhook.and_then(|webhook| webhook.client_key.as_deref()),
        &row.sealed_client_key,
    ) {
        (Some(MASK), Some(sealed)) => {
            let plain = sink_secrets::open(key, row, SinkSecret::ClientKey, sealed)?;
            Ok(Some(String::from_utf8_lossy(&plain).into_owned()))
        }
        (Some(MASK), None) => Err(SecretError::WrongKey),
        (Some(plain), _) => Ok(Some(plain.to_owned())),
        (None, _) => Ok(None),
    }
}

/// Encrypts the client key of a row, and checks that the key belongs to the certificate. If the row
/// has no key or no certificate, removes the encrypted key.
pub fn seal(key: &SecretKey, row: &mut SinkRow) -> Result<(), ClientKeyError> {
    let webhook = row.config.webhook();
    let certificate = webhook.and_then(|webhook| webhook.client_certificate.clone());
    let (Some(certificate), Some(plain)) = (certificate, open(key, row)?) else {
        row.sealed_client_key = None;
        return Ok(());
    };
    check_tls_settings(TlsSettings {
        identity: Some((&certificate, &plain)),
        ..TlsSettings::default()
    })?;
    let sealed = sink_secrets::seal(key, row, SinkSecret::ClientKey, plain.as_bytes());
    let SinkConfig::Webhook(webhook) = &mut row.config else {
        return Ok(());
    };
    if webhook.client_key.as_deref() != Some(MASK) {
        webhook.client_key = Some(MASK.to_owned());
        row.sealed_client_key = Some(sealed);
    }
    Ok(())
}
