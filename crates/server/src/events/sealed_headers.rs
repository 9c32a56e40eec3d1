//! Encrypts the values of custom webhook headers in the database, like the signing secrets.
//!
//! A sink's configuration holds the names of the headers, each with [`MASK`] as its value. The
//! encrypted values are in the row's `sealed_headers`. Rows of earlier versions hold plain values
//! until [`seal_stored`] encrypts them.

use std::{collections::BTreeMap, sync::Arc};

use svc_core::SinkId;
use svc_store::{
    Store, StoreError, Tx, records,
    sinks::{self, SinkConfig, SinkRow},
};
use thiserror::Error;

use super::{
    secrets::{SecretError, SecretKey},
    sink_secrets::{self, SinkSecret},
};

/// Shown in place of the value of a header or of a client key.
pub const MASK: &str = "********";
/// One transaction reads at most this many sinks.
const SINKS_AT_ONCE: u32 = 100;

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
    let SinkConfig::Webhook { headers, .. } = &row.config else {
        return Ok(Headers::new());
    };
    let mut headers = headers.clone();
    let Some(sealed) = &row.sealed_headers else {
        return Ok(headers);
    };
    if headers.values().any(|value| value == MASK) {
        let stored: Headers = serde_json::from_slice(&SinkSecret::Headers.open(key, row, sealed)?)?;
        for (name, value) in &mut headers {
            // A value that is not the mask is plain, and newer than the encrypted values: a patch
            // set it, or a server of an earlier version in the same zone did.
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
    row.sealed_headers = Some(SinkSecret::Headers.seal(key, row, &text));
    if let SinkConfig::Webhook { headers, .. } = &mut row.config {
        mask(headers);
    }
    Ok(())
}

pub fn mask(headers: &mut Headers) {
    headers
        .values_mut()
        .for_each(|value| MASK.clone_into(value));
}

fn has_plain_values(row: &SinkRow) -> bool {
    match &row.config {
        SinkConfig::Webhook { headers, .. } => {
            headers.values().any(|value| value != MASK)
                || (!headers.is_empty() && row.sealed_headers.is_none())
        }
        SinkConfig::Script { .. } | SinkConfig::JsonRpc { .. } => false,
    }
}

/// Encrypts the plain values that earlier versions stored, and binds the secrets of these versions to
/// the origins of their URLs. Several servers may run this at the same time: each write checks the
/// row again.
pub async fn seal_stored(store: &Store, key: &Arc<SecretKey>) -> Result<(), StoreError> {
    let mut after = SinkId::NIL;
    loop {
        let read = move |tx: &mut Tx<'_>| sinks::list_webhooks_after(tx, after, SINKS_AT_ONCE);
        let rows = store.read_table(read).await?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = last.id;
        let former: Vec<_> = rows
            .into_iter()
            .filter_map(|row| update_former(key, row))
            .map(|row| row.id)
            .collect();
        if !former.is_empty() {
            let key = key.clone();
            store
                .write(move |tx| former.iter().try_for_each(|id| seal_one(tx, &key, *id)))
                .await?;
        }
    }
}

fn seal_one(tx: &mut Tx<'_>, key: &SecretKey, id: SinkId) -> Result<(), StoreError> {
    let found = records::find::<SinkRow>(tx, id)?;
    match found.and_then(|row| update_former(key, row)) {
        Some(row) => sinks::update(tx, &row),
        None => Ok(()),
    }
}

/// The row of an earlier version as this version stores it; `None` if nothing is to change.
fn update_former(key: &SecretKey, mut row: SinkRow) -> Option<SinkRow> {
    let is_bound = sink_secrets::bind(key, &mut row);
    if !has_plain_values(&row) {
        return is_bound.then_some(row);
    }
    match seal(key, &mut row) {
        Ok(()) => Some(row),
        Err(error) => {
            tracing::warn!(sink.id = %row.id, "cannot encrypt the headers of a webhook: {error}");
            is_bound.then_some(row)
        }
    }
}

#[cfg(test)]
mod tests;
