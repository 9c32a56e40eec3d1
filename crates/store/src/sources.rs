//! Sources: URLs to which other services send requests.

use svc_core::{
    SourceId, Timestamp, UserId,
    source::settings::{TypeRule, Verification},
};
use svc_protocol::api::NewSource;

use crate::{
    error::StoreError,
    record::record,
    records::kept,
    sql::Tx,
    value::{Hash, as_json},
};

/// A row of the table of sources. The owner and the type of the verification never change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceRow {
    pub id: SourceId,
    pub owner_id: UserId,
    /// `verify` has no secret here.
    pub settings: NewSource,
    /// The hash of the secret in the URL.
    pub token_hash: Hash,
    /// Encrypted; `None` for sources without verification.
    pub secret: Option<Vec<u8>>,
    /// The secret before the last rotation, encrypted. It verifies requests until `previous_until`.
    pub previous_secret: Option<Vec<u8>>,
    pub previous_until: Option<Timestamp>,
    pub created_at: Timestamp,
}

as_json!(Verification, TypeRule);

record! {
    SourceRow in "sources": id, owner_id, token_hash, secret, previous_secret, previous_until, created_at
    with settings: NewSource { name, description, verify, event_type, headers, active }
}

kept! {
    SourceRow "source": SourceId, fixed [owner_id, created_at],
    of owner_id: UserId, unique [owner_id, name] named settings.name
}

/// Whether any source has an encrypted secret.
pub fn any_secret(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT id FROM sources WHERE secret IS NOT NULL LIMIT 1",
        &[],
    )
}
