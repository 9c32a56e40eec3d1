//! API tokens, stored as hashes.

use svc_core::{Scopes, Timestamp, TokenId, UserId};

use super::{
    error::StoreError,
    record::{Record, record},
    records::{self, kept},
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

kept! {
    TokenRow "token": TokenId, fixed [user_id, created_at], of user_id: UserId
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
    let mut tokens: Vec<TokenRow> = records::list_of(tx, &user)?;
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
