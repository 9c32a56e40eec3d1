//! Encrypts the values of custom webhook headers in the database, like the signing secrets.
//!
//! A sink's configuration holds the names of the headers, each with [`MASK`] as its value. The
//! encrypted values are in the row's `sealed_headers`.

use std::collections::BTreeMap;

use svc_store::sinks::{SinkConfig, SinkRow};
use thiserror::Error;

use super::sink_secrets;
use crate::secrets::{SecretError, SecretKey, SinkSecret};

/// Shown in place of the value of a header or of a client key.
pub const MASK: &str = "********";

type Headers = BTreeMap<String, String>;

#[derive(Debug, Error)]
pub enum SealError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("cannot read the stored headers: {0}")]
    Json(#[from] serde_json::Error),
}

/// The headers of a webhook with their plain values, as they are sent.
pub fn open(key: &SecretKey, row: &SinkRow) -> Result<Headers, SealError> {
    let Some(webhook) = row.config.webhook() else {
        return Ok(Headers::new());
    };
    let mut headers = webhook.headers.clone();
    let Some(sealed) = &row.sealed_headers else {
        return Ok(headers);
    };
    if headers.values().any(|value| value == MASK) {
        let stored: Headers =
            serde_json::from_slice(&sink_secrets::open(key, row, SinkSecret::Headers, sealed)?)?;
        for (name, value) in &mut headers {
            // A value that is not the mask is plain: the present patch has set it.
            if value == MASK
                && let Some(stored) = stored.get(name)
            {
                value.clone_from(stored);
            }
        }
    }
    Ok(headers)
}

/// Encrypts the plain values of a row and removes values whose header no longer exists.
pub fn seal(key: &SecretKey, row: &mut SinkRow) -> Result<(), SealError> {
    let values = open(key, row)?;
    if values.is_empty() {
        row.sealed_headers = None;
        return Ok(());
    }
    let text = serde_json::to_vec(&values)?;
    row.sealed_headers = Some(sink_secrets::seal(key, row, SinkSecret::Headers, &text));
    if let SinkConfig::Webhook(webhook) = &mut row.config {
        mask(&mut webhook.headers);
    }
    Ok(())
}

pub fn mask(headers: &mut Headers) {
    headers
        .values_mut()
        .for_each(|value| MASK.clone_into(value));
}

#[cfg(test)]
mod tests;
