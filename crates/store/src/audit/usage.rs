//! Bytes of audit entries that each owner causes within a day (UTC), counted in the transaction
//! that writes the entries.

use svc_core::{Timestamp, UserId};

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

pub const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The number of the day of a time.
pub(super) fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// Adds to the counter of a key. A counter of an earlier day begins anew. A counter of the next day
/// continues: around midnight, the clocks of two servers may have different days.
pub(super) const ADD: &str = "INSERT INTO audit_usage (owner_key, day, bytes) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner_key) DO UPDATE SET
         bytes = CASE WHEN audit_usage.day IN (excluded.day, excluded.day + 1)
             THEN audit_usage.bytes + excluded.bytes ELSE excluded.bytes END,
         day = CASE WHEN audit_usage.day = excluded.day + 1
             THEN audit_usage.day ELSE excluded.day END";

/// Counts bytes of entries about a user's own changes. Returns the sum of the day.
pub fn add(tx: &mut Tx<'_>, user: UserId, at: Timestamp, bytes: u64) -> Result<u64, StoreError> {
    tx.get(
        &format!("{ADD} RETURNING bytes"),
        values![user.to_string(), day_of(at), bytes],
    )
}

/// Bytes of entries about a user's own changes on the day of this time.
pub fn bytes_on_day(tx: &mut Tx<'_>, user: UserId, at: Timestamp) -> Result<u64, StoreError> {
    let bytes = tx.find(
        "SELECT bytes FROM audit_usage WHERE owner_key = ?1 AND day IN (?2, ?3)",
        values![user.to_string(), day_of(at), day_of(at) + 1],
    )?;
    Ok(bytes.unwrap_or_default())
}
