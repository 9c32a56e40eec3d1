//! Records which grants of apps, API tokens, codes and devices come from a sign-in with a provider,
//! so that they can end together with the account or with the session at the provider.
//!
//! A device is a login of a machine without a browser (`oauth::devices`). A code or the login of a
//! device is later exchanged for a grant or a token.

use svc_core::{OidcIdentityId, SessionId, Timestamp, TokenId};

use crate::{
    error::StoreError,
    record::{record, row},
    sql::{Tx, values},
    tokens,
    value::{Hash, Value},
};

/// A sign-in with a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderLogin {
    pub identity_id: OidcIdentityId,
    /// The session at the provider.
    pub sid: Option<String>,
}

row! { ProviderLogin: identity_id, sid }

struct GrantRow {
    target_id: String,
    login: ProviderLogin,
}

record! { GrantRow in "oidc_grants": target_id with login: ProviderLogin { identity_id, sid } }

struct PendingRow {
    hash: Hash,
    login: ProviderLogin,
    expires_at: Timestamp,
}

record! {
    PendingRow in "oidc_pending_grants": hash, expires_at
    with login: ProviderLogin { identity_id, sid }
}

/// The sign-in that opened a session; `None` if the user did not sign in with a provider.
pub fn find_login(
    tx: &mut Tx<'_>,
    session: SessionId,
) -> Result<Option<ProviderLogin>, StoreError> {
    tx.find(
        "SELECT identity_id, sid FROM oidc_sessions WHERE session_id = ?1",
        values![session],
    )
}

/// Records the sign-in that a code or a device comes from.
pub fn insert_pending(
    tx: &mut Tx<'_>,
    hash: &Hash,
    login: ProviderLogin,
    expires_at: Timestamp,
) -> Result<(), StoreError> {
    tx.insert(&PendingRow {
        hash: *hash,
        login,
        expires_at,
    })
}

/// Removes and returns the sign-in that a code or a device comes from. Called when the code or the
/// login of the device is exchanged for a grant or a token.
pub fn take_pending(tx: &mut Tx<'_>, hash: &Hash) -> Result<Option<ProviderLogin>, StoreError> {
    tx.find(
        "DELETE FROM oidc_pending_grants WHERE hash = ?1 RETURNING identity_id, sid",
        values![hash],
    )
}

/// Records the sign-in that a grant or a token comes from.
pub fn insert(tx: &mut Tx<'_>, target_id: String, login: ProviderLogin) -> Result<(), StoreError> {
    tx.insert(&GrantRow { target_id, login })
}

/// When the user of an account last signed in with its provider. Before the first sign-in, the time
/// when the account was linked.
pub fn find_last_login(
    tx: &mut Tx<'_>,
    identity: OidcIdentityId,
) -> Result<Option<Timestamp>, StoreError> {
    tx.find(
        "SELECT COALESCE(last_login_at, created_at) FROM oidc_identities WHERE id = ?1",
        values![identity],
    )
}

/// The account that a grant or a token comes from; `None` if no provider was involved.
pub fn find_identity(
    tx: &mut Tx<'_>,
    target_id: &str,
) -> Result<Option<OidcIdentityId>, StoreError> {
    tx.find(
        "SELECT identity_id FROM oidc_grants WHERE target_id = ?1",
        values![target_id],
    )
}

/// Ends the sessions, grants, tokens, codes and devices that come from an account: all of them, or
/// those of one session at the provider. Returns the number of sessions, and that of grants and
/// tokens.
pub fn end(
    tx: &mut Tx<'_>,
    identity: OidcIdentityId,
    sid: Option<&str>,
) -> Result<(usize, usize), StoreError> {
    let of = "identity_id = ?1 AND (?2 = 1 OR sid = ?3)";
    let values = [
        Value::from(identity),
        Value::from(sid.is_none()),
        Value::from(sid.unwrap_or_default()),
    ];
    let delete = |tx: &mut Tx<'_>, (table, key): (&str, &str), (logins, target): (&str, &str)| {
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {target} FROM {logins} WHERE {of})"
        );
        tx.count_changes(&sql, &values)
    };
    let sessions = delete(tx, ("sessions", "id"), ("oidc_sessions", "session_id"))?;
    let pending = ("oidc_pending_grants", "hash");
    for table in ["oauth_codes", "oauth_devices", "oidc_pending_grants"] {
        delete(tx, (table, "hash"), pending)?;
    }
    let sql = format!(
        "SELECT id FROM api_tokens WHERE id IN (SELECT target_id FROM oidc_grants WHERE {of})"
    );
    let login_tokens: Vec<TokenId> = tx.list(&sql, &values)?;
    let mut grants = 0;
    for token in login_tokens {
        grants += tokens::delete(tx, token)?.len();
    }
    let exchanged = ("oidc_grants", "target_id");
    grants += delete(tx, ("oauth_grants", "id"), exchanged)?;
    delete(tx, exchanged, exchanged)?;
    Ok((sessions, grants))
}

/// Removes rows of expired codes and devices, and of grants and tokens that no longer exist.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM oidc_pending_grants WHERE expires_at <= ?1",
        values![now],
    )?;
    tx.execute(
        "DELETE FROM oidc_grants WHERE NOT EXISTS
         (SELECT id FROM oauth_grants WHERE id = target_id)
         AND NOT EXISTS (SELECT id FROM api_tokens WHERE id = target_id)",
        &[],
    )
}
