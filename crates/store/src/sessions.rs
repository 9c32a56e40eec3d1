//! Login sessions; cookies are stored as hashes.

use svc_core::{SessionId, Timestamp, UserId};

use super::{
    error::StoreError,
    keyed::delete_oldest,
    record::record,
    records::{self, kept},
    sql::{Tx, values},
    value::Hash,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionRow {
    pub id: SessionId,
    pub user_id: UserId,
    pub hash: Hash,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub address: String,
    pub user_agent: String,
    /// Whether the session may only set up a second factor.
    pub must_enrol: bool,
}

record! {
    SessionRow in "sessions": id, user_id, hash, created_at, expires_at, last_used_at, address,
    user_agent, must_enrol
}

kept! {
    SessionRow "session": SessionId, fixed [user_id, created_at], of user_id: UserId
}

/// Deletes all sessions of a user except `keep`. Returns their number.
pub fn delete_of_user(
    tx: &mut Tx<'_>,
    user: UserId,
    keep: Option<SessionId>,
) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM sessions WHERE user_id = ?1 AND id <> ?2",
        values![user, keep.unwrap_or(SessionId::NIL)],
    )
}

/// Keeps the newest `keep` sessions of a user. Deletes the others.
pub fn delete_oldest_of_user(tx: &mut Tx<'_>, user: UserId, keep: u32) -> Result<(), StoreError> {
    delete_oldest::<SessionRow>(tx, ("user_id", user), ("id", "id DESC"), keep)
}

/// Removes the restriction of a session after its user has set up a second factor.
pub fn complete_enrolment(tx: &mut Tx<'_>, id: SessionId) -> Result<(), StoreError> {
    records::set::<SessionRow>(tx, id, "must_enrol", false)
}

/// Deletes the sessions of a user that may only set up a second factor.
pub fn delete_enrolling(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM sessions WHERE user_id = ?1 AND must_enrol = 1",
        values![user],
    )
}
