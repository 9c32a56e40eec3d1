//! Authorization codes, stored as hashes.

use svc_core::{GrantId, OAuthClientId, Timestamp, TokenId, UserId, oauth::OAuthScopes};

use crate::{
    error::StoreError,
    keyed::{delete_oldest, keyed},
    record::record,
    sql::{Tx, values},
    value::Hash,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeRow {
    pub hash: Hash,
    pub user_id: UserId,
    pub client_id: OAuthClientId,
    pub redirect_uri: String,
    pub challenge: String,
    pub scopes: OAuthScopes,
    pub resource: String,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
    /// The grant that the code was exchanged for.
    pub grant_id: Option<GrantId>,
    /// The API token of `svc login` that the code was exchanged for.
    pub token_id: Option<TokenId>,
}

record! {
    CodeRow in "oauth_codes": hash, user_id, client_id, redirect_uri, challenge, scopes, resource,
    expires_at, used_at, grant_id, token_id
}

keyed! { CodeRow by hash: Hash }

/// Marks a code as used, and records the grant or the token that it was exchanged for.
pub fn redeem(
    tx: &mut Tx<'_>,
    hash: &Hash,
    now: Timestamp,
    grant: Option<GrantId>,
    token: Option<TokenId>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_codes SET used_at = ?2, grant_id = ?3, token_id = ?4 WHERE hash = ?1",
        values![hash, now, grant, token],
    )
}

/// Keeps the newest `keep` codes of a user. Deletes the others.
pub fn delete_oldest_of_user(tx: &mut Tx<'_>, user: UserId, keep: u32) -> Result<(), StoreError> {
    let order = ("hash", "expires_at DESC, hash");
    delete_oldest::<CodeRow>(tx, ("user_id", user), order, keep)
}
