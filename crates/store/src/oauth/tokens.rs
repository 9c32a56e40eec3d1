//! Access and refresh tokens of apps, stored as hashes.

use serde::{Deserialize, Serialize};
use svc_core::{GrantId, Id, Timestamp, UserId, oauth::OAuthScopes};

use crate::{
    error::StoreError,
    keyed::{delete_oldest, keyed},
    record::record,
    sql::{Tx, values},
    value::Hash,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppTokenKind {
    Access,
    Refresh,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppTokenRow {
    pub id: Id,
    pub grant_id: GrantId,
    pub user_id: UserId,
    pub kind: AppTokenKind,
    pub hash: Hash,
    pub scopes: OAuthScopes,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// When a refresh token was exchanged for the next one.
    pub replaced_at: Option<Timestamp>,
}

record! {
    AppTokenRow in "oauth_tokens": id, grant_id, user_id, kind, hash, scopes, created_at, expires_at,
    replaced_at
}

keyed! { AppTokenRow by hash: Hash }

/// The access tokens of one user, for the server's copy in memory.
pub fn list_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<Vec<AppTokenRow>, StoreError> {
    tx.list_records("WHERE user_id = ?1 AND kind = 'access'", values![user])
}

/// All access tokens, for the server's copy in memory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<AppTokenRow>, StoreError> {
    tx.list_records("WHERE kind = 'access'", &[])
}

/// Marks a refresh token as exchanged. A token that was exchanged before keeps its time.
pub fn replace(tx: &mut Tx<'_>, hash: &Hash, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_tokens SET replaced_at = ?2 WHERE hash = ?1 AND replaced_at IS NULL",
        values![hash, now],
    )
}

/// Keeps the newest `keep` tokens of a grant. Deletes the others.
pub fn delete_oldest_of_grant(
    tx: &mut Tx<'_>,
    grant: GrantId,
    keep: u32,
) -> Result<(), StoreError> {
    delete_oldest::<AppTokenRow>(tx, ("grant_id", grant), ("id", "id DESC"), keep)
}
