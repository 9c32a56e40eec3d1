//! API tokens, stored as hashes.

use svc_core::{Scopes, Timestamp, TokenId, UserId};

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::{Record, record},
    sql::{Tx, values},
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
    /// The token with which this token was created.
    pub parent_id: Option<TokenId>,
}

record! {
    TokenRow in "api_tokens": id, user_id, name, hash, scopes, created_at, expires_at, last_used_at,
    parent_id
}

pub fn insert(tx: &mut Tx<'_>, token: &TokenRow) -> Result<(), StoreError> {
    tx.insert(token)
}

pub fn find(tx: &mut Tx<'_>, id: TokenId) -> Result<Option<TokenRow>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    page: PageRequest,
) -> Result<Page<TokenRow>, StoreError> {
    page.records(tx, Conditions::new("user_id = ?", user))
}

/// All tokens of one user, for the server's copy in memory.
pub fn list_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<Vec<TokenRow>, StoreError> {
    tx.list_records("WHERE user_id = ?1", values![user])
}

/// All tokens, for the server's copy in memory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<TokenRow>, StoreError> {
    tx.list_records("", &[])
}

pub fn count(tx: &mut Tx<'_>, user: UserId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM api_tokens WHERE user_id = ?1",
        values![user],
    )
}

/// Deletes a token and its descendants. Returns the deleted tokens.
pub fn delete(tx: &mut Tx<'_>, id: TokenId) -> Result<Vec<TokenRow>, StoreError> {
    let sql = format!(
        "WITH RECURSIVE ended (id) AS (
             SELECT id FROM api_tokens WHERE id = ?1
             UNION
             SELECT t.id FROM api_tokens t JOIN ended e ON t.parent_id = e.id
         )
         DELETE FROM api_tokens WHERE id IN (SELECT id FROM ended) RETURNING {}",
        TokenRow::COLUMNS.join(", ")
    );
    tx.list(&sql, values![id])
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
    )
}

pub fn set_last_used(tx: &mut Tx<'_>, id: TokenId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE api_tokens SET last_used_at = ?2 WHERE id = ?1",
        values![id, at],
    )
}
