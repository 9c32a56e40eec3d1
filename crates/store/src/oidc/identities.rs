//! The accounts that users have at providers.

use svc_core::{OidcIdentityId, OidcProviderId, Timestamp, UserId};

use crate::{
    error::StoreError,
    record::record,
    records::kept,
    sql::{Tx, values},
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityRow {
    pub id: OidcIdentityId,
    pub provider_id: OidcProviderId,
    pub user_id: UserId,
    pub issuer: String,
    pub sub: String,
    pub email: Option<String>,
    pub display_name: Option<String>,
    pub created_at: Timestamp,
    pub last_login_at: Option<Timestamp>,
}

record! {
    IdentityRow in "oidc_identities": id, provider_id, user_id, issuer, sub, email, display_name,
    created_at, last_login_at
}

kept! {
    IdentityRow "identity": OidcIdentityId, fixed [], of user_id: UserId
}

/// The identity of an account. Only issuer and subject together identify an account.
pub fn find_subject(
    tx: &mut Tx<'_>,
    issuer: &str,
    sub: &str,
) -> Result<Option<IdentityRow>, StoreError> {
    tx.find_record("WHERE issuer = ?1 AND sub = ?2", values![issuer, sub])
}

/// All identities of a provider. The list may be long.
pub fn list_of_provider(
    tx: &mut Tx<'_>,
    provider: OidcProviderId,
) -> Result<Vec<IdentityRow>, StoreError> {
    tx.list_records("WHERE provider_id = ?1 ORDER BY id", values![provider])
}

pub fn count_of_provider(tx: &mut Tx<'_>, provider: OidcProviderId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM oidc_identities WHERE provider_id = ?1",
        values![provider],
    )
}

/// Records a sign-in, with the email address and the name that the provider sent.
pub fn set_login(tx: &mut Tx<'_>, identity: &IdentityRow) -> Result<(), StoreError> {
    tx.update(identity, "email, display_name, last_login_at")
        .map(drop)
}

/// Whether an active user with a role of this name has signed in with an enabled provider.
pub fn has_holder(tx: &mut Tx<'_>, role: &str) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT i.id FROM oidc_identities i
         JOIN oidc_providers p ON p.id = i.provider_id
         JOIN users u ON u.id = i.user_id
         JOIN user_roles ur ON ur.user_id = u.id
         JOIN roles r ON r.id = ur.role_id
         WHERE r.name = ?1 AND u.active = 1 AND p.enabled = 1 AND i.last_login_at IS NOT NULL",
        values![role],
    )
}
