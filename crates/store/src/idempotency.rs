//! Idempotency keys of emits, kept for a day.

use std::num::NonZeroU32;

use svc_core::{Timestamp, UserId};
use svc_protocol::api::EmittedEvent;

use super::{
    conditions::{Conditions, padded},
    dispatch::UserKey,
    error::StoreError,
    record::row,
    sql::{FromRow, Query, Row, Tx, values},
    value::Hash,
};

/// The emit that a key was used for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    pub body_hash: Hash,
    pub emitted: EmittedEvent,
    pub expires_at: Timestamp,
}

row! { Use: body_hash, expires_at; emitted }
row! { EmittedEvent: event_id, event_type }

/// Selects the uses of keys that have not expired.
pub(super) fn select(keys: &[UserKey], now: Timestamp) -> Query {
    let mut conditions = Conditions::new("expires_at > ?", now);
    let pairs: Vec<_> = padded(keys)
        .iter()
        .map(|(user, key)| {
            let user = conditions.placeholder(*user);
            format!("({user}, {})", conditions.placeholder(key))
        })
        .collect();
    conditions.and(&format!("(user_id, key) IN (VALUES {})", pairs.join(", ")));
    conditions.query(
        "SELECT user_id, key, body_hash, event_id, event_type, expires_at FROM idempotency_keys WHERE {}",
    )
}

/// `None` for a key that was never used, or whose use has expired.
#[cfg(any(test, feature = "testing"))]
pub fn find(
    tx: &mut Tx<'_>,
    user: UserId,
    key: &str,
    now: Timestamp,
) -> Result<Option<Use>, StoreError> {
    let Query { sql, values } = select(&[(user, key.to_owned())], now);
    tx.find(&sql, &values)
}

pub(super) fn read_used(row: &Row) -> Result<(UserKey, Use), StoreError> {
    Ok(((row.get("user_id")?, row.get("key")?), Use::read(row)?))
}

/// Records the use of a key. Replaces an expired use.
pub fn put(tx: &mut Tx<'_>, user: UserId, key: &str, used: &Use) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO idempotency_keys (user_id, key, body_hash, event_id, event_type, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (user_id, key) DO UPDATE SET body_hash = excluded.body_hash,
             event_id = excluded.event_id, event_type = excluded.event_type,
             expires_at = excluded.expires_at",
        values![
            user,
            key,
            used.body_hash,
            used.emitted.event_id,
            &used.emitted.event_type,
            used.expires_at
        ],
    )
}

/// Users with more than `keep` keys, with the expiry of the oldest key to keep.
pub fn list_over(
    tx: &mut Tx<'_>,
    keep: NonZeroU32,
) -> Result<Vec<(UserId, Timestamp)>, StoreError> {
    let users: Vec<UserId> = tx.list(
        "SELECT user_id FROM idempotency_keys GROUP BY user_id HAVING COUNT(*) > ?1",
        values![keep.get()],
    )?;
    let mut over = Vec::new();
    for user in users {
        let oldest = tx.find(
            "SELECT expires_at FROM idempotency_keys WHERE user_id = ?1
             ORDER BY expires_at DESC LIMIT 1 OFFSET ?2",
            values![user, keep.get() - 1],
        )?;
        over.extend(oldest.map(|oldest| (user, oldest)));
    }
    Ok(over)
}

/// Removes keys of a user: at most `limit` keys that expire before the time `before`. Returns how
/// many were removed.
pub fn prune_before(
    tx: &mut Tx<'_>,
    user: UserId,
    before: Timestamp,
    limit: u32,
) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM idempotency_keys WHERE (user_id, key) IN (
             SELECT user_id, key FROM idempotency_keys
             WHERE user_id = ?1 AND expires_at < ?2 LIMIT ?3)",
        values![user, before, limit],
    )
}

/// Removes at most `limit` expired keys. Returns their number.
pub fn prune(tx: &mut Tx<'_>, now: Timestamp, limit: u32) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM idempotency_keys WHERE (user_id, key) IN (
             SELECT user_id, key FROM idempotency_keys WHERE expires_at <= ?1 LIMIT ?2)",
        values![now, limit],
    )
}
