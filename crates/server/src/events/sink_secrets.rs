//! Encrypts the secrets of a webhook for the origin (scheme, host and port) of its URL. So a secret that
//! was given for one origin cannot be decrypted after the URL has got another origin.

use svc_store::sinks::SinkRow;

use crate::secrets::{SecretError, SecretKey, SecretOf, SinkSecret};

pub fn seal(key: &SecretKey, row: &SinkRow, part: SinkSecret, secret: &[u8]) -> Vec<u8> {
    let origin = origin_of(row).unwrap_or_default();
    key.seal(secret_of(row, part, &origin), secret)
}

pub fn open(
    key: &SecretKey,
    row: &SinkRow,
    part: SinkSecret,
    sealed: &[u8],
) -> Result<Vec<u8>, SecretError> {
    let origin = origin_of(row).unwrap_or_default();
    key.open(secret_of(row, part, &origin), sealed)
}

/// The origin of a webhook's URL; `None` for other sinks.
pub fn origin_of(row: &SinkRow) -> Option<String> {
    svc_outbound::origin_of(&row.config.webhook()?.url).ok()
}

fn secret_of<'a>(row: &SinkRow, part: SinkSecret, origin: &'a str) -> SecretOf<'a> {
    SecretOf::Sink {
        id: row.id,
        part,
        origin,
    }
}
