//! Providers that users sign in with.

use std::collections::BTreeMap;

use serde::Serialize;
use svc_core::{OidcProviderId, Timestamp};
use svc_protocol::api::ClaimMapping;

use crate::{
    error::StoreError,
    record::record,
    records::kept,
    sql::{Tx, values},
    value::as_json,
};

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProviderRow {
    pub id: OidcProviderId,
    /// A part of the URLs for this provider.
    pub name: String,
    /// The text of the provider's button on the sign-in page.
    pub label: String,
    pub issuer: String,
    pub client_id: String,
    /// The client secret. It is encrypted, and can be decrypted only with the id of this record.
    #[serde(skip)]
    pub sealed_secret: Option<Vec<u8>>,
    pub scopes: Vec<String>,
    pub enabled: bool,
    /// Whether a sign-in with an unknown account creates a user.
    pub create_users: bool,
    /// The accepted values of each claim. A new user is created only if every claim listed here
    /// has an accepted value.
    pub required_claims: BTreeMap<String, Vec<String>>,
    pub groups_claim: Option<String>,
    pub mappings: Vec<ClaimMapping>,
    pub created_at: Timestamp,
}

record! {
    ProviderRow in "oidc_providers": id, name, label, issuer, client_id, sealed_secret, scopes, enabled,
    create_users, required_claims, groups_claim, mappings, created_at
}

kept! {
    ProviderRow "provider": OidcProviderId, fixed [name, issuer, created_at],
    of (): (), unique [name] named name
}

as_json!(BTreeMap<String, Vec<String>>, Vec<ClaimMapping>);

pub fn find_by_issuer(tx: &mut Tx<'_>, issuer: &str) -> Result<Option<ProviderRow>, StoreError> {
    tx.find_record("WHERE issuer = ?1", values![issuer])
}

/// The providers that the sign-in page shows.
pub fn list_enabled(tx: &mut Tx<'_>) -> Result<Vec<ProviderRow>, StoreError> {
    tx.list_records("WHERE enabled = 1 ORDER BY label, name", &[])
}

/// Whether the client secret of any provider is stored.
pub fn any_secret(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let sql = "SELECT id FROM oidc_providers WHERE sealed_secret IS NOT NULL LIMIT 1";
    tx.exists(sql, &[])
}
