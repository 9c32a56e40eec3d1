//! Login sessions; cookies are stored as hashes.

use svc_core::{SessionId, Timestamp, UserId};

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    records::kept,
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

/// Lists sessions of a user that have not expired.
pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    now: Timestamp,
    page: PageRequest,
) -> Result<Page<SessionRow>, StoreError> {
    let mut conditions = Conditions::new("user_id = ?", user);
    conditions.add("expires_at > ?", now);
    page.records(tx, conditions)
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

/// Deletes all sessions of a user except the newest `keep`.
pub fn delete_oldest_of_user(
    tx: &mut Tx<'_>,
    user: UserId,
    keep: u32,
) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM sessions WHERE user_id = ?1 AND id NOT IN
         (SELECT id FROM sessions WHERE user_id = ?1 ORDER BY id DESC LIMIT ?2)",
        values![user, keep],
    )
}

/// Deletes expired sessions. Returns their users.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<UserId>, StoreError> {
    let mut users: Vec<UserId> = tx.list(
        "DELETE FROM sessions WHERE expires_at <= ?1 RETURNING user_id",
        values![now],
    )?;
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

/// Removes the restriction of a session after its user has set up a second factor.
pub fn complete_enrolment(tx: &mut Tx<'_>, id: SessionId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE sessions SET must_enrol = 0 WHERE id = ?1",
        values![id],
    )
}

/// Deletes the sessions of a user that may only set up a second factor.
pub fn delete_enrolling(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM sessions WHERE user_id = ?1 AND must_enrol = 1",
        values![user],
    )
}

pub fn set_last_used(tx: &mut Tx<'_>, id: SessionId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE sessions SET last_used_at = ?2 WHERE id = ?1",
        values![id, at],
    )
}
