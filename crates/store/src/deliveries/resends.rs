//! Deliveries that are sent again, and the links between a delivery and its resend.

use svc_core::{EventId, LaneId, Timestamp};

use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// A finished delivery whose event still exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastDelivery {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
}

row! { PastDelivery: n, event_id, event_type }

const RESENDABLE: &str = "deliveries d WHERE d.lane_id = ?1
    AND EXISTS (SELECT 1 FROM events e WHERE e.id = d.event_id)";
const DEAD: &str = "d.state = 'dead' AND d.resent_as IS NULL AND d.n > ?2 AND d.n <= ?3
    AND d.finished_at >= ?4";

/// A finished delivery whose event still exists.
pub fn find_past(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
) -> Result<Option<PastDelivery>, StoreError> {
    tx.find(
        &format!(
            "SELECT n, event_id, event_type FROM {RESENDABLE} AND d.n = ?2 AND d.state <> 'pending'"
        ),
        values![lane, n],
    )
}

/// Dead deliveries that ended at `since` or later and were not sent again, in the order of their
/// numbers. Only deliveries with a number after `after`, up to `until`.
pub fn list_dead(
    tx: &mut Tx<'_>,
    lane: LaneId,
    (after, until): (u64, u64),
    since: Timestamp,
    limit: usize,
) -> Result<Vec<PastDelivery>, StoreError> {
    tx.list(
        &format!("SELECT n, event_id, event_type FROM {RESENDABLE} AND {DEAD} ORDER BY n LIMIT ?5"),
        values![lane, after, until, since, limit],
    )
}

/// How many deliveries up to the number `until` are dead, ended at `since` or later, and were not
/// sent again.
pub fn count_dead(
    tx: &mut Tx<'_>,
    lane: LaneId,
    until: u64,
    since: Timestamp,
) -> Result<u32, StoreError> {
    tx.get(
        &format!("SELECT COUNT(*) FROM {RESENDABLE} AND {DEAD}"),
        values![lane, 0_u64, until, since],
    )
}

/// The number of a lane's newest delivery.
pub fn newest(tx: &mut Tx<'_>, lane: LaneId) -> Result<u64, StoreError> {
    let tail = tx.find("SELECT tail FROM lanes WHERE id = ?1", values![lane])?;
    Ok(tail.unwrap_or(0))
}

/// Links a delivery and the delivery that sends its event again, in both directions.
pub fn link_resend(
    tx: &mut Tx<'_>,
    lane: LaneId,
    past: u64,
    resent_as: u64,
) -> Result<(), StoreError> {
    tx.send(
        "UPDATE deliveries SET resent_as = ?3 WHERE lane_id = ?1 AND n = ?2",
        values![lane, past, resent_as],
    )?;
    tx.send(
        "UPDATE deliveries SET resend_of = ?2 WHERE lane_id = ?1 AND n = ?3",
        values![lane, past, resent_as],
    )
}
