//! Removes lanes. A lane may have thousands of deliveries with large texts, and a registration may end
//! a thousand lanes, so a lane is removed in two stages.
//!
//! [`remove`] changes one row: the lane leaves its owner and its receiver. From then on, no
//! statement that looks for lanes by owner, sink or method finds the lane, its queue counts as
//! empty, and no server can claim it. [`clear_removed`] removes the deliveries of such lanes, and
//! then the lanes, in small steps. The texts of these deliveries count for the former owner until they
//! are removed.

use svc_core::{LaneId, UserId};

use super::{keep_drops, patterns};
use crate::{
    deliveries::texts,
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of deliveries and lanes that one step of [`clear_removed`] removes.
const STEP_ROWS: u32 = 200;

/// Detaches a lane from its owner, its receiver and the server that holds it.
pub(crate) fn remove(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    patterns::replace(tx, lane, "", &[])?;
    tx.send(
        "UPDATE lanes SET removed_from = owner_key, owner_key = 'removed', owner_id = ?2,
             sink_id = NULL, method = NULL, patterns = '[]', filter = NULL, active = 0, holds = 0,
             depth = 0, refill_from = NULL, feeds = 0, refilling = 0, lease_owner = NULL,
             lease_until = 0, server_id = NULL
         WHERE id = ?1",
        values![lane, UserId::NIL],
    )
}

/// Whether [`clear_removed`] has work to do.
pub fn any_removed(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    Ok(find_removed(tx, "")?.is_some())
}

/// Removes deliveries of removed lanes, and the lanes that have none left: at most [`STEP_ROWS`]
/// rows, and few bytes. The owners take turns: the step begins with an owner after `after`, and
/// returns the last owner, for the next step. `None` if there are no removed lanes.
pub fn clear_removed(tx: &mut Tx<'_>, after: &str) -> Result<Option<String>, StoreError> {
    let (mut rows, mut bytes) = (STEP_ROWS, 0);
    let mut last: Option<String> = None;
    while rows > 0 && bytes < texts::STEP_BYTES {
        let after = last.as_deref().unwrap_or(after);
        let Some((lane, owner)) = find_removed(tx, after)? else {
            break;
        };
        last = Some(owner);
        let removed = texts::remove_deliveries(tx, OLDEST, values![lane, rows])?;
        rows -= removed.deliveries;
        bytes += removed.bytes;
        if removed.is_all && rows > 0 {
            rows -= 1;
            let sql = "DELETE FROM lanes WHERE id = ?1 RETURNING dropped";
            let dropped: Option<u64> = tx.find(sql, values![lane])?;
            keep_drops(tx, dropped.unwrap_or(0))?;
        }
    }
    Ok(last)
}

const OLDEST: &str = "SELECT lane_id, n, exchange_bytes FROM deliveries WHERE lane_id = ?1
     ORDER BY n LIMIT ?2";

/// A removed lane of the first owner after `after`, or of the first owner of all.
fn find_removed(tx: &mut Tx<'_>, after: &str) -> Result<Option<(LaneId, String)>, StoreError> {
    match tx.find(NEXT, values![after])? {
        None if !after.is_empty() => tx.find(NEXT, values![""]),
        found => Ok(found),
    }
}

const NEXT: &str = "SELECT id, removed_from FROM lanes WHERE removed_from > ?1
     ORDER BY removed_from, id LIMIT 1";

#[cfg(test)]
mod tests;
