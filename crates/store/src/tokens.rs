//! API tokens, stored as hashes.

use svc_core::{Scopes, Timestamp, TokenId, UserId};

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
    value::Hash,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenRow {
    pub id: TokenId,
    pub user_id: UserId,
    pub name: String,
    pub hash: Hash,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    /// The token that created this one.
    pub parent_id: Option<TokenId>,
}

impl TokenRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get("id")?,
            user_id: row.get("user_id")?,
            name: row.get("name")?,
            hash: row.get("hash")?,
            scopes: row.get("scopes")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            last_used_at: row.get("last_used_at")?,
            parent_id: row.get("parent_id")?,
        })
    }
}

/// A query for whole rows, with what follows the name of the table.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, name, hash, scopes, created_at, expires_at, last_used_at, ",
            "parent_id FROM api_tokens ",
            $rest
        )
    };
}

pub fn insert(tx: &mut Tx<'_>, token: &TokenRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO api_tokens
         (id, user_id, name, hash, scopes, created_at, expires_at, last_used_at, parent_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        values![
            token.id,
            token.user_id,
            &token.name,
            token.hash,
            &token.scopes,
            token.created_at,
            token.expires_at,
            token.last_used_at,
            token.parent_id
        ],
    )?;
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: TokenId) -> Result<Option<TokenRow>, StoreError> {
    tx.find(select!("WHERE id = ?1"), values![id], TokenRow::read)
}

pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    page: PageRequest,
) -> Result<Page<TokenRow>, StoreError> {
    let rows = tx.query(
        select!("WHERE user_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3"),
        values![user, page.after(), page.limit()],
    )?;
    let tokens = rows.iter().map(TokenRow::read).collect::<Result<_, _>>()?;
    Ok(page.page(tokens, |token: &TokenRow| token.id.0))
}

/// All tokens of one user: for the directory.
pub fn list_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<Vec<TokenRow>, StoreError> {
    tx.list(select!("WHERE user_id = ?1"), values![user], TokenRow::read)
}

/// All tokens: for the directory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<TokenRow>, StoreError> {
    tx.list(select!(""), &[], TokenRow::read)
}

pub fn count(tx: &mut Tx<'_>, user: UserId) -> Result<u64, StoreError> {
    tx.count(
        "SELECT COUNT(*) FROM api_tokens WHERE user_id = ?1",
        values![user],
    )
    .map(i64::unsigned_abs)
}

/// Deletes a token and its descendants. Returns the deleted tokens.
pub fn delete(tx: &mut Tx<'_>, id: TokenId) -> Result<Vec<TokenRow>, StoreError> {
    tx.list(
        "WITH RECURSIVE ended (id) AS (
             SELECT id FROM api_tokens WHERE id = ?1
             UNION
             SELECT t.id FROM api_tokens t JOIN ended e ON t.parent_id = e.id
         )
         DELETE FROM api_tokens WHERE id IN (SELECT id FROM ended)
         RETURNING id, user_id, name, hash, scopes, created_at, expires_at, last_used_at, parent_id",
        values![id], TokenRow::read)
}

/// The tokens of one user with this name.
pub fn list_named(tx: &mut Tx<'_>, user: UserId, name: &str) -> Result<Vec<TokenRow>, StoreError> {
    let mut tokens = list_of_user(tx, user)?;
    tokens.retain(|token| token.name == name);
    Ok(tokens)
}

/// Moves the children of one token to another token.
pub fn set_parent(tx: &mut Tx<'_>, before: TokenId, after: TokenId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE api_tokens SET parent_id = ?2 WHERE parent_id = ?1",
        values![before, after],
    )?;
    Ok(())
}

pub fn set_last_used(tx: &mut Tx<'_>, id: TokenId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE api_tokens SET last_used_at = ?2 WHERE id = ?1",
        values![id, at],
    )?;
    Ok(())
}
