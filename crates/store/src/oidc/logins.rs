//! Sign-ins that the provider has not answered yet.

use svc_core::{OidcProviderId, SessionId, Timestamp, UserId};

use crate::{
    error::StoreError,
    keyed::keyed,
    record::record,
    sql::{Tx, values},
    value::Hash,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginRow {
    pub state_hash: Hash,
    /// The hash of the cookie of the browser that began the sign-in.
    pub browser_hash: Hash,
    pub provider_id: OidcProviderId,
    pub nonce: String,
    pub verifier: String,
    pub redirect_uri: String,
    pub return_to: String,
    /// The session of a user who links an account; `None` for a sign-in.
    pub link_session_id: Option<SessionId>,
    pub expires_at: Timestamp,
    /// The network whose request this is: see [`crate::waiting`].
    pub network: String,
}

record! {
    LoginRow in "oidc_logins": state_hash, browser_hash, provider_id, nonce, verifier, redirect_uri,
    return_to, link_session_id, expires_at, network
}

keyed! { LoginRow by state_hash: Hash }

/// Removes and returns a sign-in of a browser, so that each sign-in accepts one answer. A sign-in
/// that another browser began is not removed: a stranger who learned `state` cannot end it.
pub fn take(
    tx: &mut Tx<'_>,
    state_hash: &Hash,
    browser_hash: &Hash,
) -> Result<Option<LoginRow>, StoreError> {
    let found = tx.find_record(
        "WHERE state_hash = ?1 AND browser_hash = ?2",
        values![state_hash, browser_hash],
    )?;
    let is_first = tx.changes(
        "DELETE FROM oidc_logins WHERE state_hash = ?1 AND browser_hash = ?2",
        values![state_hash, browser_hash],
    )?;
    Ok(found.filter(|_| is_first))
}

/// Deletes the unfinished attempts of a user to link an account.
pub fn delete_links_of_user(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM oidc_logins WHERE link_session_id IN
         (SELECT id FROM sessions WHERE user_id = ?1)",
        values![user],
    )
}
