//! Sources: URLs to which other services send requests.

use svc_core::{
    SourceId, Timestamp, UserId,
    source::settings::{TypeRule, Verification},
};

use crate::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    sql::{Tx, values},
    value::{Hash, as_json},
};

/// A row of the table of sources. The owner and the type of the verification never change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceRow {
    pub id: SourceId,
    pub owner_id: UserId,
    pub name: String,
    pub description: String,
    /// The hash of the secret in the URL.
    pub token_hash: Hash,
    pub verify: Verification,
    pub event_type: TypeRule,
    /// Headers that are copied into events, in addition to the provider's.
    pub headers: Vec<String>,
    pub active: bool,
    /// Encrypted; `None` for sources without verification.
    pub secret: Option<Vec<u8>>,
    /// The secret before the last rotation, encrypted. It verifies requests until `previous_until`.
    pub previous_secret: Option<Vec<u8>>,
    pub previous_until: Option<Timestamp>,
    pub created_at: Timestamp,
}

as_json!(Verification, TypeRule);

record! {
    SourceRow in "sources": id, owner_id, name, description, token_hash, verify, event_type, headers,
    active, secret, previous_secret, previous_until, created_at
}

/// Returns [`StoreError::Unique`] if the owner has a source of the same name.
pub fn insert(tx: &mut Tx<'_>, source: &SourceRow) -> Result<(), StoreError> {
    tx.insert(source)
}

pub fn find(tx: &mut Tx<'_>, id: SourceId) -> Result<Option<SourceRow>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn find_by_name(
    tx: &mut Tx<'_>,
    owner: UserId,
    name: &str,
) -> Result<Option<SourceRow>, StoreError> {
    tx.find_record("WHERE owner_id = ?1 AND name = ?2", values![owner, name])
}

/// The sources of a user, oldest first.
pub fn list(
    tx: &mut Tx<'_>,
    owner: UserId,
    page: PageRequest,
) -> Result<Page<SourceRow>, StoreError> {
    page.records(tx, Conditions::new("owner_id = ?", owner))
}

/// All sources of a user: for the servers that keep them in memory.
pub fn list_of_owner(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<SourceRow>, StoreError> {
    tx.list_records("WHERE owner_id = ?1 ORDER BY id", values![owner])
}

/// All sources of all users.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<SourceRow>, StoreError> {
    tx.list_records("ORDER BY id", &[])
}

pub fn count(tx: &mut Tx<'_>, owner: UserId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM sources WHERE owner_id = ?1",
        values![owner],
    )
}

/// Writes all fields that may change.
pub fn update(tx: &mut Tx<'_>, source: &SourceRow) -> Result<(), StoreError> {
    let columns = "name, description, token_hash, verify, event_type, headers, active, secret,
        previous_secret, previous_until";
    match tx.update(source, columns)? {
        true => Ok(()),
        false => Err(StoreError::missing("source", source.id)),
    }
}

pub fn delete(tx: &mut Tx<'_>, id: SourceId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM sources WHERE id = ?1", values![id])
}

/// Whether any source has an encrypted secret.
pub fn any_secret(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT id FROM sources WHERE secret IS NOT NULL LIMIT 1",
        &[],
    )
}
