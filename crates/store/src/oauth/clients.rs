//! Apps that users can connect: the clients of OAuth.

use svc_core::{OAuthClientId, Timestamp, oauth::ClientKind};

use crate::{
    error::StoreError,
    record::record,
    records::kept,
    sql::{Tx, values},
    value::Hash,
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
}

record! {
    ClientRow in "oauth_clients": id, client_id, kind, name, redirect_uris, secret_hash, fresh_until,
    blocked, created_at, last_used_at
}

kept! {
    ClientRow "app": OAuthClientId, fixed [client_id, kind, secret_hash, created_at, last_used_at],
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

pub fn set_last_used(tx: &mut Tx<'_>, id: OAuthClientId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_clients SET last_used_at = ?2 WHERE id = ?1",
        values![id, at],
    )
}

/// Apps that no administrator added or blocked and that no user has connected.
const UNUSED: &str = "kind IN ('registered', 'metadata') AND blocked = 0
     AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = oauth_clients.id)";

/// The newest unused apps that no user has ever connected. The index `oauth_clients_never_used` has
/// these apps only, so apps that users have connected are not read.
pub(crate) const NEVER_USED: &str = "SELECT id FROM oauth_clients
     WHERE last_used_at IS NULL AND blocked = 0 AND kind IN ('registered', 'metadata')
     ORDER BY fresh_until DESC, id DESC LIMIT 1000 OFFSET ?1";

/// Deletes all apps that no user has ever connected except the newest `keep`, at most 1,000 in one
/// call. `fresh_until` decides which apps are the newest; for a registered app it is the time of the
/// registration. [`delete_unused`] deletes apps that were connected earlier.
pub fn delete_oldest_unused(tx: &mut Tx<'_>, keep: u32) -> Result<(), StoreError> {
    tx.execute(
        &format!("DELETE FROM oauth_clients WHERE id IN ({NEVER_USED}) AND {UNUSED}"),
        values![keep],
    )
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
