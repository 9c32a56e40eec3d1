//! Permissions that users gave to apps.

use svc_core::{GrantId, OAuthClientId, Timestamp, UserId, oauth::OAuthScopes};

use crate::{
    error::StoreError,
    keyed::delete_oldest,
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

kept! { GrantRow "grant": GrantId, fixed [], of user_id: UserId }

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

/// Keeps the `keep` most recently used grants of a user. Deletes the others.
pub fn delete_oldest_of_user(tx: &mut Tx<'_>, user: UserId, keep: u32) -> Result<(), StoreError> {
    let order = ("id", "COALESCE(last_used_at, created_at) DESC, id DESC");
    delete_oldest::<GrantRow>(tx, ("user_id", user), order, keep)
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
