//! Second factors of users, and logins that wait for a second factor.

pub mod passkeys;
pub mod pending;
pub mod recovery_codes;
pub mod totp;

use std::collections::HashSet;

use svc_core::{Timestamp, UserId};

use crate::{
    error::StoreError,
    sql::{Tx, values},
    value::Value,
};

/// The tables of logins, enrolments and challenges that are not finished.
const BEGUN: [&str; 3] = ["totp_enrolments", "pending_logins", "passkey_challenges"];

/// The users with ids from `first` to `last` who have a second factor. Recovery codes alone do not
/// count.
pub(super) fn list_users(
    tx: &mut Tx<'_>,
    first: UserId,
    last: UserId,
) -> Result<HashSet<UserId>, StoreError> {
    let users: Vec<UserId> = tx.list(
        "SELECT user_id FROM totp WHERE user_id >= ?1 AND user_id <= ?2
         UNION SELECT user_id FROM passkeys WHERE user_id >= ?1 AND user_id <= ?2",
        values![first, last],
    )?;
    Ok(users.into_iter().collect())
}

/// Whether a user has a second factor. Recovery codes alone do not count.
pub fn exists(tx: &mut Tx<'_>, user: UserId) -> Result<bool, StoreError> {
    Ok(list_users(tx, user, user)?.contains(&user))
}

/// Whether the encrypted secret of an authenticator app is stored for any user.
pub fn any_secret(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    tx.exists("SELECT user_id FROM totp LIMIT 1", &[])
}

/// Removes all factors and recovery codes of a user, and everything that [`delete_begun`] removes.
pub fn delete_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    delete(
        tx,
        &["totp", "passkeys", "recovery_codes"],
        "user_id = ?1",
        user,
    )?;
    delete_begun(tx, user)
}

/// Removes the unfinished logins, enrolments and challenges of a user.
pub fn delete_begun(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    delete(tx, &BEGUN, "user_id = ?1", user)
}

/// Removes expired logins, enrolments and challenges.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    delete(tx, &BEGUN, "expires_at <= ?1", now)
}

fn delete(
    tx: &mut Tx<'_>,
    tables: &[&str],
    condition: &str,
    value: impl Into<Value>,
) -> Result<(), StoreError> {
    let value = [value.into()];
    let mut tables = tables.iter();
    tables
        .try_for_each(|table| tx.execute(&format!("DELETE FROM {table} WHERE {condition}"), &value))
}
