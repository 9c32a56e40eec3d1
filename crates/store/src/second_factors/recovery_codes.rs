//! Recovery codes, stored as hashes. A used code is deleted.

use svc_core::UserId;

use crate::{
    error::StoreError,
    record::record,
    sql::{Tx, values},
    value::Hash,
};

struct RecoveryCodeRow {
    user_id: UserId,
    hash: Hash,
}

record! { RecoveryCodeRow in "recovery_codes": user_id, hash }

/// Replaces the codes of a user.
pub fn set(tx: &mut Tx<'_>, user_id: UserId, hashes: &[Hash]) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM recovery_codes WHERE user_id = ?1",
        values![user_id],
    )?;
    for &hash in hashes {
        tx.insert(&RecoveryCodeRow { user_id, hash })?;
    }
    Ok(())
}

pub fn count(tx: &mut Tx<'_>, user: UserId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM recovery_codes WHERE user_id = ?1",
        values![user],
    )
}

pub fn exists(tx: &mut Tx<'_>, user: UserId, hash: &Hash) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT user_id FROM recovery_codes WHERE user_id = ?1 AND hash = ?2",
        values![user, hash],
    )
}

/// Removes a code, so that it cannot be used again. Returns whether it was valid.
pub fn take(tx: &mut Tx<'_>, user: UserId, hash: &Hash) -> Result<bool, StoreError> {
    tx.changes(
        "DELETE FROM recovery_codes WHERE user_id = ?1 AND hash = ?2",
        values![user, hash],
    )
}
