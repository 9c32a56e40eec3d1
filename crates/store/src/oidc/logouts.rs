//! Used logout tokens. They are stored so that each logout token of a provider is accepted only
//! once.

use svc_core::Timestamp;

use crate::{
    error::StoreError,
    sql::{Tx, values},
    value::Hash,
};

/// Records a token. Returns whether it is new.
pub fn use_once(tx: &mut Tx<'_>, hash: &Hash, expires_at: Timestamp) -> Result<bool, StoreError> {
    tx.changes(
        "INSERT INTO oidc_logout_tokens (hash, expires_at) VALUES (?1, ?2)
         ON CONFLICT (hash) DO NOTHING",
        values![hash, expires_at],
    )
}

pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM oidc_logout_tokens WHERE expires_at <= ?1",
        values![now],
    )
}
