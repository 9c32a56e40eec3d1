//! Authenticator apps. The secret is encrypted.

use svc_core::{Timestamp, UserId};

use crate::{
    error::StoreError,
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

/// An app whose first code has not been entered yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnrolmentRow {
    pub user_id: UserId,
    pub secret: Vec<u8>,
    pub expires_at: Timestamp,
}

record! { EnrolmentRow in "totp_enrolments": user_id, secret, expires_at }

pub fn find(tx: &mut Tx<'_>, user: UserId) -> Result<Option<TotpRow>, StoreError> {
    tx.find_record("WHERE user_id = ?1", values![user])
}

/// Replaces the app of a user.
pub fn set(tx: &mut Tx<'_>, totp: &TotpRow) -> Result<(), StoreError> {
    delete(tx, totp.user_id)?;
    tx.insert(totp)
}

/// Returns whether the user had an app.
pub fn delete(tx: &mut Tx<'_>, user: UserId) -> Result<bool, StoreError> {
    tx.changes("DELETE FROM totp WHERE user_id = ?1", values![user])
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

/// Begins an enrolment; an earlier one of the user ends.
pub fn set_enrolment(tx: &mut Tx<'_>, enrolment: &EnrolmentRow) -> Result<(), StoreError> {
    take_enrolment(tx, enrolment.user_id)?;
    tx.insert(enrolment)
}

pub fn find_enrolment(tx: &mut Tx<'_>, user: UserId) -> Result<Option<EnrolmentRow>, StoreError> {
    tx.find_record("WHERE user_id = ?1", values![user])
}

/// Ends an enrolment. Returns whether there was one.
pub fn take_enrolment(tx: &mut Tx<'_>, user: UserId) -> Result<bool, StoreError> {
    tx.changes(
        "DELETE FROM totp_enrolments WHERE user_id = ?1",
        values![user],
    )
}
