//! Requests of apps that the user has not answered yet.

use svc_core::{ConsentId, OAuthClientId, SessionId, Timestamp, oauth::OAuthScopes};

use crate::{
    error::StoreError,
    record::record,
    sql::{Tx, values},
    waiting::WaitingRows,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsentRow {
    pub id: ConsentId,
    pub client_id: OAuthClientId,
    pub redirect_uri: String,
    pub state: Option<String>,
    pub challenge: String,
    pub scopes: OAuthScopes,
    pub resource: String,
    pub issuer: String,
    /// The session that the request is bound to. Until this session ends, no other session may
    /// answer the request.
    pub session_id: Option<SessionId>,
    pub expires_at: Timestamp,
    /// The network whose request this is: see [`crate::waiting`].
    pub network: String,
}

record! {
    ConsentRow in "oauth_consents": id, client_id, redirect_uri, state, challenge, scopes, resource,
    issuer, session_id, expires_at, network
}

pub fn insert(tx: &mut Tx<'_>, consent: &ConsentRow) -> Result<(), StoreError> {
    tx.insert(consent)
}

pub fn find(tx: &mut Tx<'_>, id: ConsentId) -> Result<Option<ConsentRow>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

/// Binds the request to a session, unless it is bound to another session that has not ended.
pub fn bind(tx: &mut Tx<'_>, id: ConsentId, session: SessionId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_consents SET session_id = ?2 WHERE id = ?1 AND (session_id IS NULL
         OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = oauth_consents.session_id))",
        values![id, session],
    )
}

/// Keeps at most `keep` requests.
pub fn delete_surplus(tx: &mut Tx<'_>, keep: u32) -> Result<(), StoreError> {
    let waiting = WaitingRows {
        table: "oauth_consents",
        key: "id",
        age: "expires_at",
        condition: "TRUE",
    };
    waiting.delete_surplus(tx, keep)
}

/// Returns whether the request existed.
pub fn delete(tx: &mut Tx<'_>, id: ConsentId) -> Result<bool, StoreError> {
    tx.changes("DELETE FROM oauth_consents WHERE id = ?1", values![id])
}

pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM oauth_consents WHERE expires_at <= ?1",
        values![now],
    )
}
