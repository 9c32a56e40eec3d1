//! Passkeys, and the challenges that no passkey has answered yet.

use svc_core::{PasskeyId, Timestamp, UserId};

use crate::{
    error::StoreError,
    keyed::{self, delete_oldest, keyed},
    record::record,
    records::kept,
    sql::{Tx, values},
    value::Hash,
    waiting::WaitingRows,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasskeyRow {
    pub id: PasskeyId,
    pub user_id: UserId,
    pub name: String,
    /// The name that the authenticator gave the key.
    pub credential_id: Vec<u8>,
    /// As COSE (RFC 9052).
    pub public_key: Vec<u8>,
    pub counter: u32,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

record! {
    PasskeyRow in "passkeys": id, user_id, name, credential_id, public_key, counter, created_at,
    last_used_at
}

kept! {
    PasskeyRow "passkey": PasskeyId,
    fixed [user_id, credential_id, public_key, counter, created_at, last_used_at],
    of user_id: UserId
}

/// A challenge is stored as its hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChallengeRow {
    pub hash: Hash,
    /// The purpose of the answer, such as a login.
    pub purpose: String,
    /// The only user who may answer. `None` for logins without a password: the passkey names the user.
    pub user_id: Option<UserId>,
    pub expires_at: Timestamp,
    /// The network whose request this is: see [`crate::waiting`]. Empty for the challenge of a user.
    pub network: String,
}

record! { ChallengeRow in "passkey_challenges": hash, purpose, user_id, expires_at, network }

keyed! { ChallengeRow by hash: Hash }

pub fn find_credential(
    tx: &mut Tx<'_>,
    credential_id: &[u8],
) -> Result<Option<PasskeyRow>, StoreError> {
    tx.find_record("WHERE credential_id = ?1", values![credential_id.to_vec()])
}

/// Records a use. Returns false if the counter did not increase. An authenticator that does not
/// count sends 0 each time, which is accepted.
pub fn use_counter(
    tx: &mut Tx<'_>,
    id: PasskeyId,
    counter: u32,
    at: Timestamp,
) -> Result<bool, StoreError> {
    tx.changes(
        "UPDATE passkeys SET counter = ?2, last_used_at = ?3
         WHERE id = ?1 AND (counter < ?2 OR (counter = 0 AND ?2 = 0))",
        values![id, counter, at],
    )
}

/// Stores a challenge. Deletes the oldest challenges of the same user, so that at most `keep` are
/// left. The challenges of all logins without a password share one limit of `keep`.
pub fn insert_challenge(
    tx: &mut Tx<'_>,
    challenge: &ChallengeRow,
    keep: u32,
) -> Result<(), StoreError> {
    tx.insert(challenge)?;
    match challenge.user_id {
        Some(user) => {
            let order = ("hash", "expires_at DESC, hash");
            delete_oldest::<ChallengeRow>(tx, ("user_id", user), order, keep)
        }
        None => {
            let waiting = WaitingRows {
                table: "passkey_challenges",
                key: "hash",
                age: "expires_at",
                condition: "user_id IS NULL",
            };
            waiting.delete_surplus(tx, keep)
        }
    }
}

/// Deletes a challenge that is valid for this purpose and user, so that it is used once. Returns
/// whether there was one.
pub fn take_challenge(
    tx: &mut Tx<'_>,
    hash: &Hash,
    (purpose, user): (&str, Option<UserId>),
    now: Timestamp,
) -> Result<bool, StoreError> {
    let is_right = keyed::find::<ChallengeRow>(tx, hash)?.is_some_and(|found| {
        found.purpose == purpose && found.user_id == user && now < found.expires_at
    });
    Ok(is_right && keyed::delete::<ChallengeRow>(tx, hash)?)
}
