//! Logins whose password was right and whose second factor is missing.

use svc_core::{Timestamp, UserId};

use crate::{
    error::StoreError,
    keyed::{delete_oldest, keyed},
    record::record,
    sql::{Tx, values},
    value::Hash,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingLoginRow {
    /// The hash of the secret that the client presents.
    pub hash: Hash,
    pub user_id: UserId,
    /// A hash of the secret and of the user's password hash.
    pub proof: Hash,
    /// Codes that were tried.
    pub tries: u32,
    pub expires_at: Timestamp,
}

record! { PendingLoginRow in "pending_logins": hash, user_id, proof, tries, expires_at }

keyed! { PendingLoginRow by hash: Hash }

/// Counts a try. Returns false if `max` tries were made before, or if the login does not exist.
pub fn count_try(tx: &mut Tx<'_>, hash: &Hash, max: u32) -> Result<bool, StoreError> {
    tx.changes(
        "UPDATE pending_logins SET tries = tries + 1 WHERE hash = ?1 AND tries < ?2",
        values![hash, max],
    )
}

/// Keeps the newest `keep` logins of a user. Deletes the others.
pub fn delete_oldest_of_user(tx: &mut Tx<'_>, user: UserId, keep: u32) -> Result<(), StoreError> {
    let order = ("hash", "expires_at DESC, hash");
    delete_oldest::<PendingLoginRow>(tx, ("user_id", user), order, keep)
}

pub fn delete_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM pending_logins WHERE user_id = ?1",
        values![user],
    )
}
