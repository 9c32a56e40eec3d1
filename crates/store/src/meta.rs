//! Single values of the database, such as the server's id, the hash of the one-time setup token,
//! and the version of svc.

use svc_core::ServerId;

use super::{
    error::StoreError,
    sql::{Tx, values},
};

pub(super) const SERVER_ID: &str = "server_id";
const SVC_VERSION: &str = "svc_version";
/// The version of this program.
pub(super) const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn find(tx: &mut Tx<'_>, key: &str) -> Result<Option<String>, StoreError> {
    tx.find("SELECT value FROM meta WHERE key = ?1", values![key])
}

pub fn set(tx: &mut Tx<'_>, key: &str, value: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO meta (key, value) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        values![key, value],
    )
}

/// Deletes a value. Returns whether it existed.
pub fn delete(tx: &mut Tx<'_>, key: &str) -> Result<bool, StoreError> {
    tx.changes("DELETE FROM meta WHERE key = ?1", values![key])
}

/// The id of the server of this data folder, if a server has started on it.
pub(crate) fn find_server_id(tx: &mut Tx<'_>) -> Result<Option<ServerId>, StoreError> {
    tx.find("SELECT value FROM meta WHERE key = ?1", values![SERVER_ID])
}

/// The id of the server of this data folder; `new` becomes the id at the first start.
pub fn ensure_server_id(tx: &mut Tx<'_>, new: ServerId) -> Result<ServerId, StoreError> {
    tx.execute(
        "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING",
        values![SERVER_ID, new],
    )?;
    find_server_id(tx)?.ok_or(StoreError::NoRow)
}

/// The version of the svc that started last on this database. `None` if no server has started on it.
pub(crate) fn find_svc_version(tx: &mut Tx<'_>) -> Result<Option<String>, StoreError> {
    find(tx, SVC_VERSION)
}

/// Stores the version of this program, for the message of an older program that refuses this
/// database.
pub fn record_svc_version(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    if find_svc_version(tx)?.as_deref() == Some(OWN_VERSION) {
        return Ok(());
    }
    set(tx, SVC_VERSION, OWN_VERSION)
}
