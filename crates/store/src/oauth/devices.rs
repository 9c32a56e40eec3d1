//! Logins of machines without a browser.

use serde::{Deserialize, Serialize};
use svc_core::{OAuthClientId, Timestamp, UserId};

use crate::{
    error::StoreError,
    keyed::keyed,
    record::record,
    sql::{Tx, values},
    value::Hash,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceState {
    Pending,
    Approved,
    Denied,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceRow {
    /// The hash of the code that only the machine has.
    pub hash: Hash,
    /// The code that the user types.
    pub user_code: String,
    pub client_id: OAuthClientId,
    /// The name of the machine, for the token.
    pub name: String,
    /// The IP address from which the login was requested.
    pub address: String,
    pub state: DeviceState,
    /// The user who approved or denied the login.
    pub user_id: Option<UserId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub polled_at: Option<Timestamp>,
    /// The shortest time between two polls.
    pub poll_seconds: u32,
    /// The network whose request this is: see [`crate::waiting`].
    pub network: String,
}

record! {
    DeviceRow in "oauth_devices": hash, user_code, client_id, name, address, state, user_id,
    created_at, expires_at, polled_at, poll_seconds, network
}

keyed! { DeviceRow by hash: Hash }

pub fn find_by_user_code(tx: &mut Tx<'_>, code: &str) -> Result<Option<DeviceRow>, StoreError> {
    tx.find_record("WHERE user_code = ?1", values![code])
}

/// Records the user's answer. Returns false if the login was answered before.
pub fn decide(
    tx: &mut Tx<'_>,
    hash: &Hash,
    state: DeviceState,
    user: UserId,
) -> Result<bool, StoreError> {
    tx.changes(
        "UPDATE oauth_devices SET state = ?2, user_id = ?3 WHERE hash = ?1 AND state = 'pending'",
        values![hash, state, user],
    )
}

pub fn note_poll(
    tx: &mut Tx<'_>,
    hash: &Hash,
    at: Timestamp,
    poll_seconds: u32,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_devices SET polled_at = ?2, poll_seconds = ?3 WHERE hash = ?1",
        values![hash, at, poll_seconds],
    )
}
