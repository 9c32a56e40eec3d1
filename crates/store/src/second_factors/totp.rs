//! Authenticator apps. The secret is encrypted.

use svc_core::{Timestamp, UserId};

use crate::{
    error::StoreError,
    keyed::{self, Keyed, keyed},
    record::record,
    sql::{Tx, values},
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TotpRow {
    pub user_id: UserId,
    pub secret: Vec<u8>,
    /// The time step (of 30 seconds) of the last accepted code.
    pub last_step: i64,
    /// Wrong codes since the last accepted one.
    pub wrong_codes: u32,
    pub created_at: Timestamp,
}

record! { TotpRow in "totp": user_id, secret, last_step, wrong_codes, created_at }

keyed! { TotpRow by user_id: UserId }

/// An app whose first code has not been entered yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnrolmentRow {
    pub user_id: UserId,
    pub secret: Vec<u8>,
    pub expires_at: Timestamp,
}

record! { EnrolmentRow in "totp_enrolments": user_id, secret, expires_at }

keyed! { EnrolmentRow by user_id: UserId }

/// Sets the app or the enrolment of a user, in place of an earlier one.
pub fn set<R: Keyed<Key = UserId>>(
    tx: &mut Tx<'_>,
    user: UserId,
    row: &R,
) -> Result<(), StoreError> {
    keyed::delete::<R>(tx, &user)?;
    tx.insert(row)
}

/// Marks the code of a step as used. Returns false if the code of this step or of a later step was
/// used before.
pub fn use_step(tx: &mut Tx<'_>, user: UserId, step: i64) -> Result<bool, StoreError> {
    tx.changes(
        "UPDATE totp SET last_step = ?2, wrong_codes = 0 WHERE user_id = ?1 AND last_step < ?2",
        values![user, step],
    )
}

pub fn count_wrong_code(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE totp SET wrong_codes = wrong_codes + 1 WHERE user_id = ?1",
        values![user],
    )
}
