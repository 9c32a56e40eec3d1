//! Stored requests and responses of attempts. Their bytes are added to the owner's event bytes, and
//! are subtracted in the transaction that removes them.

use std::collections::BTreeMap;

use svc_core::LaneId;
use svc_protocol::api::Exchange;

use crate::{
    error::StoreError,
    sql::{Tx, values},
    value::Value,
};

/// The maximum number of deliveries whose exchanges one call of [`remove_oldest`] removes. If this
/// frees too little, the caller also removes old events.
const REMOVED_MAX: u32 = 500;

pub(super) fn to_text(exchange: &Exchange) -> String {
    serde_json::to_string(exchange).expect("an exchange is always JSON")
}

/// Adds the bytes of an exchange to the counters of its delivery and of the lane's owner.
pub(super) fn count(tx: &mut Tx<'_>, lane: LaneId, n: u64, bytes: usize) -> Result<(), StoreError> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    tx.send(
        "UPDATE deliveries SET exchange_bytes = exchange_bytes + ?3 WHERE lane_id = ?1 AND n = ?2",
        values![lane, n, bytes],
    )?;
    change_usage(tx, lane, bytes)
}

/// Changes the counter of a lane's owner.
fn change_usage(tx: &mut Tx<'_>, lane: LaneId, by: i64) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO event_usage (owner_key, bytes)
         SELECT owner_key, CAST(?2 AS BIGINT) FROM lanes WHERE id = ?1
         ON CONFLICT (owner_key) DO UPDATE SET bytes = event_usage.bytes + excluded.bytes",
        values![lane, by],
    )
}

/// Runs a `DELETE` of deliveries that returns `lane_id, exchange_bytes`, and subtracts the bytes.
/// Returns how many deliveries were removed.
pub(super) fn count_removed(
    tx: &mut Tx<'_>,
    sql: &str,
    values: &[Value],
) -> Result<usize, StoreError> {
    let removed: Vec<(LaneId, i64)> = tx.list(sql, values)?;
    let mut by_lane = BTreeMap::<_, i64>::new();
    for (lane, bytes) in &removed {
        *by_lane.entry(*lane).or_default() += bytes;
    }
    by_lane.retain(|_, bytes| *bytes > 0);
    for (lane, bytes) in by_lane {
        change_usage(tx, lane, -bytes)?;
    }
    Ok(removed.len())
}

/// Prepares the deletion of a lane: removes those deliveries of the lane that have exchanges.
pub(crate) fn remove_of_lane(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    // Locks the row, so that no worker can record an attempt of the lane before it is deleted. This
    // is a precaution: write transactions run one at a time.
    tx.send("UPDATE lanes SET active = 0 WHERE id = ?1", values![lane])?;
    count_removed(
        tx,
        "DELETE FROM deliveries WHERE lane_id = ?1 AND exchange_bytes > 0
         RETURNING lane_id, exchange_bytes",
        values![lane],
    )?;
    Ok(())
}

/// Removes the oldest exchanges of an owner until this many bytes are freed, but of at most
/// [`REMOVED_MAX`] deliveries. The attempts stay.
pub(crate) fn remove_oldest(
    tx: &mut Tx<'_>,
    owner_key: &str,
    bytes: u64,
) -> Result<(), StoreError> {
    // At most `REMOVED_MAX` rows of each lane are read and sorted, because emits wait meanwhile.
    let oldest = tx.query(
        "SELECT d.lane_id AS lane_id, d.n AS n, d.exchange_bytes AS bytes FROM lanes l
         JOIN deliveries d ON d.lane_id = l.id AND d.exchange_bytes > 0
             AND d.n <= COALESCE((SELECT x.n FROM deliveries x WHERE x.lane_id = l.id
                 AND x.exchange_bytes > 0 ORDER BY x.n LIMIT 1 OFFSET ?2), 9223372036854775807)
         WHERE l.owner_key = ?1 ORDER BY d.queued_at, d.lane_id, d.n LIMIT ?2",
        values![owner_key, REMOVED_MAX],
    )?;
    let mut left = bytes;
    for row in &oldest {
        if left == 0 {
            break;
        }
        let (lane, n): (LaneId, u64) = (row.get("lane_id")?, row.get("n")?);
        let size: i64 = row.get("bytes")?;
        let is_removed = tx.changes(
            "UPDATE deliveries SET exchange_bytes = 0
             WHERE lane_id = ?1 AND n = ?2 AND exchange_bytes = ?3",
            values![lane, n, size],
        )?;
        if is_removed {
            tx.send(
                "UPDATE attempts SET exchange = NULL WHERE lane_id = ?1 AND n = ?2",
                values![lane, n],
            )?;
            change_usage(tx, lane, -size)?;
            left = left.saturating_sub(size.unsigned_abs());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
