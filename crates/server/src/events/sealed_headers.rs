//! Values of custom webhook headers at rest: encrypted, like the signing secrets.
//!
//! A sink's configuration keeps the names of the headers, each with [`MASK`] for its value; the
//! values are in `sealed_headers` of the row. Rows of earlier versions have their values in clear
//! until [`seal_stored`] has been there.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use svc_core::{ServerId, SinkId};
use svc_store::{
    Store, StoreError, Tx, servers,
    sinks::{self, SinkConfig, SinkRow},
};
use thiserror::Error;

use super::secrets::{SecretError, SecretKey};

/// Shown in place of a value.
pub const MASK: &str = "********";
/// Sinks that are looked at in one transaction.
const SINKS_AT_ONCE: u32 = 100;
/// A server without a sign of life for so long delivers nothing any more.
const SEEN_WITHIN: Duration = Duration::from_secs(60);

type Headers = BTreeMap<String, String>;

#[derive(Debug, Error)]
pub enum SealError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the stored headers cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// Whether new values are encrypted. Not yet, while a server of an earlier version is in the zone:
/// it would send the mask.
#[derive(Default)]
pub struct Sealing(AtomicBool);

impl Sealing {
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The headers of a webhook as they are sent.
pub fn open(key: &SecretKey, row: &SinkRow) -> Result<Headers, SealError> {
    let SinkConfig::Webhook { headers, .. } = &row.config else {
        return Ok(Headers::new());
    };
    let mut headers = headers.clone();
    let Some(sealed) = &row.sealed_headers else {
        return Ok(headers);
    };
    if headers.values().any(|value| value == MASK) {
        let stored: Headers = serde_json::from_slice(&key.decrypt(sealed, &place(row.id))?)?;
        for (name, value) in &mut headers {
            // Any other value was written by an earlier version, and is newer.
            if value == MASK
                && let Some(stored) = stored.get(name)
            {
                value.clone_from(stored);
            }
        }
    }
    Ok(headers)
}

/// Encrypts what a row holds in clear, and forgets values whose header is gone.
pub fn seal(key: &SecretKey, row: &mut SinkRow) -> Result<(), SealError> {
    let values = open(key, row)?;
    let SinkConfig::Webhook { headers, .. } = &mut row.config else {
        return Ok(());
    };
    if values.is_empty() {
        row.sealed_headers = None;
        return Ok(());
    }
    let text = serde_json::to_vec(&values)?;
    row.sealed_headers = Some(key.encrypt(&text, &place(row.id)));
    mask(headers);
    Ok(())
}

/// Replaces every value by the mask.
pub fn mask(headers: &mut Headers) {
    headers
        .values_mut()
        .for_each(|value| MASK.clone_into(value));
}

/// Not that of the signing secret: neither can be put in the place of the other.
fn place(id: SinkId) -> Vec<u8> {
    [id.0.as_bytes(), &b" headers"[..]].concat()
}

fn is_clear(row: &SinkRow) -> bool {
    match &row.config {
        SinkConfig::Webhook { headers, .. } => {
            headers.values().any(|value| value != MASK)
                || (!headers.is_empty() && row.sealed_headers.is_none())
        }
        SinkConfig::Script { .. } | SinkConfig::JsonRpc { .. } => false,
    }
}

/// Encrypts the values that earlier versions stored in clear, and all new ones from then on.
/// `false` while a server of an earlier version is in the zone. Servers that do this at once take
/// turns, and find nothing left to do.
pub async fn seal_stored(
    store: &Store,
    key: &std::sync::Arc<SecretKey>,
    sealing: &Sealing,
    server: ServerId,
) -> Result<bool, StoreError> {
    let older = move |tx: &mut Tx<'_>| {
        let since = tx.now()?.minus(SEEN_WITHIN);
        servers::any_without_sealed_headers(tx, since, server)
    };
    if store.is_shared() && store.read(older).await? {
        return Ok(false);
    }
    // From now on no server stores a value in clear, but this one may have begun to.
    sealing.0.store(true, Ordering::Relaxed);
    let mut after = SinkId::NIL;
    loop {
        let read = move |tx: &mut Tx<'_>| sinks::list_webhooks_after(tx, after, SINKS_AT_ONCE);
        let rows = store.read(read).await?;
        let Some(last) = rows.last() else {
            return Ok(true);
        };
        after = last.id;
        let clear: Vec<_> = rows
            .iter()
            .filter(|row| is_clear(row))
            .map(|row| row.id)
            .collect();
        if !clear.is_empty() {
            let key = key.clone();
            store
                .write(move |tx| clear.iter().try_for_each(|id| seal_one(tx, &key, *id)))
                .await?;
        }
    }
}

fn seal_one(tx: &mut Tx<'_>, key: &SecretKey, id: SinkId) -> Result<(), StoreError> {
    let Some(mut row) = sinks::find(tx, id)?.filter(is_clear) else {
        return Ok(());
    };
    match seal(key, &mut row) {
        Ok(()) => sinks::update(tx, &row),
        Err(error) => {
            tracing::warn!(sink.id = %id, "the headers of a webhook stay as they are: {error}");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
