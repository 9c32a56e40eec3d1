//! Login sessions; cookies are stored as hashes.

use svc_core::{SessionId, Timestamp, UserId};

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
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
}

impl SessionRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get("id")?,
            user_id: row.get("user_id")?,
            hash: row.get("hash")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            last_used_at: row.get("last_used_at")?,
            address: row.get("address")?,
            user_agent: row.get("user_agent")?,
        })
    }
}

/// A query for whole rows, with what follows the name of the table.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, hash, created_at, expires_at, last_used_at, address, ",
            "user_agent FROM sessions ",
            $rest
        )
    };
}

pub fn insert(tx: &mut Tx<'_>, session: &SessionRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO sessions
         (id, user_id, hash, created_at, expires_at, last_used_at, address, user_agent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        values![
            session.id,
            session.user_id,
            session.hash,
            session.created_at,
            session.expires_at,
            session.last_used_at,
            &session.address,
            &session.user_agent
        ],
    )?;
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
    tx.find(select!("WHERE id = ?1"), values![id], SessionRow::read)
}

/// Sessions that have not expired.
pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    now: Timestamp,
    page: PageRequest,
) -> Result<Page<SessionRow>, StoreError> {
    let rows = tx.query(
        select!("WHERE user_id = ?1 AND expires_at > ?2 AND id > ?3 ORDER BY id LIMIT ?4"),
        values![user, now, page.after(), page.limit()],
    )?;
    let sessions = rows
        .iter()
        .map(SessionRow::read)
        .collect::<Result<_, _>>()?;
    Ok(page.page(sessions, |session: &SessionRow| session.id.0))
}

/// All sessions of one user: for the directory.
pub fn list_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<Vec<SessionRow>, StoreError> {
    tx.list(
        select!("WHERE user_id = ?1"),
        values![user],
        SessionRow::read,
    )
}

/// All sessions: for the directory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<SessionRow>, StoreError> {
    tx.list(select!(""), &[], SessionRow::read)
}

pub fn delete(tx: &mut Tx<'_>, id: SessionId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM sessions WHERE id = ?1", values![id])?;
    Ok(())
}

/// Deletes all sessions of a user except `keep`. Returns their number.
pub fn delete_of_user(
    tx: &mut Tx<'_>,
    user: UserId,
    keep: Option<SessionId>,
) -> Result<usize, StoreError> {
    tx.execute(
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
    tx.execute(
        "DELETE FROM sessions WHERE user_id = ?1 AND id NOT IN
         (SELECT id FROM sessions WHERE user_id = ?1 ORDER BY id DESC LIMIT ?2)",
        values![user, keep],
    )
}

/// Deletes expired sessions. Returns their users.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<UserId>, StoreError> {
    let mut users = tx
        .query(
            "DELETE FROM sessions WHERE expires_at <= ?1 RETURNING user_id",
            values![now],
        )?
        .iter()
        .map(|row| row.get("user_id"))
        .collect::<Result<Vec<UserId>, _>>()?;
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

pub fn set_last_used(tx: &mut Tx<'_>, id: SessionId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE sessions SET last_used_at = ?2 WHERE id = ?1",
        values![id, at],
    )?;
    Ok(())
}
