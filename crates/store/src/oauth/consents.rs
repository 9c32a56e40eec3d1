//! Requests of apps that the user has not answered yet.

use svc_core::{ConsentId, OAuthClientId, SessionId, Timestamp, oauth::OAuthScopes};

use crate::{
    error::StoreError,
    keyed::keyed,
    record::record,
    sql::{Tx, values},
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

keyed! { ConsentRow by id: ConsentId }

/// Binds the request to a session, unless it is bound to another session that has not ended.
pub fn bind(tx: &mut Tx<'_>, id: ConsentId, session: SessionId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_consents SET session_id = ?2 WHERE id = ?1 AND (session_id IS NULL
         OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = oauth_consents.session_id))",
        values![id, session],
    )
}
