//! Permissions that users gave to apps.

use svc_core::{GrantId, OAuthClientId, Timestamp, UserId, oauth::OAuthScopes};

use crate::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    records::kept,
    sql::{Tx, values},
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantRow {
    pub id: GrantId,
    pub user_id: UserId,
    pub client_id: OAuthClientId,
    pub scopes: OAuthScopes,
    pub resource: String,
    pub redirect_host: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Timestamp,
}

record! {
    GrantRow in "oauth_grants": id, user_id, client_id, scopes, resource, redirect_host, created_at,
    last_used_at, expires_at
}

kept! { GrantRow "grant": GrantId, fixed [] }

/// Grants of a user that have not expired.
pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    now: Timestamp,
    page: PageRequest,
) -> Result<Page<GrantRow>, StoreError> {
    let mut conditions = Conditions::new("user_id = ?", user);
    conditions.add("expires_at > ?", now);
    page.records(tx, conditions)
}

pub fn count_of_client(tx: &mut Tx<'_>, client: OAuthClientId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM oauth_grants WHERE client_id = ?1",
        values![client],
    )
}

/// Deletes all grants of an app. Returns their users.
pub fn delete_of_client(tx: &mut Tx<'_>, client: OAuthClientId) -> Result<Vec<UserId>, StoreError> {
    tx.list(
        "DELETE FROM oauth_grants WHERE client_id = ?1 RETURNING user_id",
        values![client],
    )
}

/// Deletes all grants of a user except the `keep` most recently used grants.
pub fn delete_oldest_of_user(
    tx: &mut Tx<'_>,
    user: UserId,
    keep: u32,
) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM oauth_grants WHERE user_id = ?1 AND id NOT IN
         (SELECT id FROM oauth_grants WHERE user_id = ?1
          ORDER BY COALESCE(last_used_at, created_at) DESC, id DESC LIMIT ?2)",
        values![user, keep],
    )
}

/// Deletes expired grants. Returns their users.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<UserId>, StoreError> {
    tx.list(
        "DELETE FROM oauth_grants WHERE expires_at <= ?1 RETURNING user_id",
        values![now],
    )
}

pub fn set_last_used(tx: &mut Tx<'_>, id: GrantId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_grants SET last_used_at = ?2 WHERE id = ?1",
        values![id, at],
    )
}

pub fn set_expiry(
    tx: &mut Tx<'_>,
    id: GrantId,
    (now, expires_at): (Timestamp, Timestamp),
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_grants SET last_used_at = ?2, expires_at = ?3 WHERE id = ?1",
        values![id, now, expires_at],
    )
}
