//! Sessions of users who signed in with a provider.

use svc_core::{OidcIdentityId, SessionId};

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

pub fn insert(
    tx: &mut Tx<'_>,
    session: SessionId,
    identity: OidcIdentityId,
    sid: Option<&str>,
) -> Result<(), StoreError> {
    let sid = sid.map(str::to_owned);
    tx.execute(
        "INSERT INTO oidc_sessions (session_id, identity_id, sid) VALUES (?1, ?2, ?3)",
        values![session, identity, &sid],
    )
}

/// Whether a sign-in with a provider opened the session.
pub fn exists(tx: &mut Tx<'_>, session: SessionId) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT session_id FROM oidc_sessions WHERE session_id = ?1",
        values![session],
    )
}

/// The identities with a session `sid` at an issuer, or with grants, tokens, codes or devices that
/// come from this session.
pub fn list_identities(
    tx: &mut Tx<'_>,
    issuer: &str,
    sid: &str,
) -> Result<Vec<OidcIdentityId>, StoreError> {
    tx.list(
        "SELECT s.identity_id FROM oidc_sessions s
         JOIN oidc_identities i ON i.id = s.identity_id WHERE i.issuer = ?1 AND s.sid = ?2
         UNION SELECT g.identity_id FROM oidc_grants g
         JOIN oidc_identities i ON i.id = g.identity_id WHERE i.issuer = ?1 AND g.sid = ?2
         UNION SELECT p.identity_id FROM oidc_pending_grants p
         JOIN oidc_identities i ON i.id = p.identity_id WHERE i.issuer = ?1 AND p.sid = ?2",
        values![issuer, sid],
    )
}
