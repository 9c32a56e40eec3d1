//! Apps that users can connect: the clients of OAuth.

use svc_core::{OAuthClientId, Timestamp, oauth::ClientKind};

use crate::{
    error::StoreError,
    record::record,
    records::kept,
    sql::{Tx, values},
    value::Hash,
    waiting::WaitingRows,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientRow {
    pub id: OAuthClientId,
    /// The id that the app presents.
    pub client_id: String,
    pub kind: ClientKind,
    pub name: String,
    pub redirect_uris: Vec<String>,
    pub secret_hash: Option<Hash>,
    /// After this time, the document of an app of the kind `metadata` is read again.
    pub fresh_until: Timestamp,
    pub blocked: bool,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    /// The network whose request added the app: see [`crate::waiting`].
    pub network: String,
}

record! {
    ClientRow in "oauth_clients": id, client_id, kind, name, redirect_uris, secret_hash, fresh_until,
    blocked, created_at, last_used_at, network
}

kept! {
    ClientRow "app": OAuthClientId, fixed [client_id, kind, secret_hash, created_at, last_used_at, network],
    of (): ()
}

/// Inserts an app, or updates the name and the addresses of the app with the same `client_id`.
/// Returns the stored app.
pub fn put_document(tx: &mut Tx<'_>, client: &ClientRow) -> Result<ClientRow, StoreError> {
    if let Some(known) = find_presented(tx, &client.client_id)? {
        let client = ClientRow {
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            fresh_until: client.fresh_until,
            ..known
        };
        tx.update(&client, "name, redirect_uris, fresh_until")?;
        return Ok(client);
    }
    tx.insert(client)?;
    Ok(client.clone())
}

/// The app that presents this `client_id`.
pub fn find_presented(tx: &mut Tx<'_>, client_id: &str) -> Result<Option<ClientRow>, StoreError> {
    tx.find_record("WHERE client_id = ?1", values![client_id])
}

/// Apps that no administrator added or blocked and that no user has connected.
const UNUSED: &str = "kind IN ('registered', 'metadata') AND blocked = 0
     AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = oauth_clients.id)";

/// The unused apps that no user has ever connected. The index `oauth_clients_never_used` has no other
/// apps, so apps that users have connected are not read. `fresh_until` decides which apps of a network
/// are the oldest; for a registered app it is the time of the registration.
pub(crate) const NEVER_USED: WaitingRows = WaitingRows {
    table: "oauth_clients",
    key: "id",
    age: "fresh_until",
    condition: "last_used_at IS NULL AND blocked = 0 AND kind IN ('registered', 'metadata')
        AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = oauth_clients.id)",
};

/// Keeps at most `keep` apps that no user has ever connected. [`delete_unused`] deletes apps that were
/// connected earlier.
pub fn delete_oldest_unused(tx: &mut Tx<'_>, keep: u32) -> Result<(), StoreError> {
    NEVER_USED.delete_surplus(tx, keep)
}

/// Deletes unused apps that made their last request before this time. For an app that made no
/// request, the time of its creation counts.
pub fn delete_unused(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes(
        &format!(
            "DELETE FROM oauth_clients WHERE {UNUSED} AND COALESCE(last_used_at, created_at) < ?1"
        ),
        values![before],
    )
}
