//! Deliveries that are sent again, and the links between a delivery and its resend.

use svc_core::{EventId, LaneId, Timestamp};

use crate::{
    error::StoreError,
    record::row,
    sql::{FromRow, Tx, values},
};

/// A finished delivery whose event still exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastDelivery {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
}

row! { PastDelivery: n, event_id, event_type }

/// A finished delivery whose event still exists.
pub fn find_past(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
) -> Result<Option<PastDelivery>, StoreError> {
    tx.find(
        "SELECT n, event_id, event_type FROM deliveries d WHERE d.lane_id = ?1
             AND EXISTS (SELECT 1 FROM events e WHERE e.id = d.event_id)
             AND d.n = ?2 AND d.state <> 'pending'",
        values![lane, n],
    )
}

/// The dead deliveries of one window of a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadDeliveries {
    /// In the order of their numbers.
    pub deliveries: Vec<PastDelivery>,
    /// The number after which the next window begins; `None` if there are no further deliveries.
    pub next: Option<u64>,
}

/// Dead deliveries that ended at `since` or later, were not sent again, and whose event still
/// exists. Only deliveries with a number after `after`, up to `until`. Reads at most `window`
/// deliveries, whether or not they are dead.
pub fn list_dead(
    tx: &mut Tx<'_>,
    lane: LaneId,
    (after, until): (u64, u64),
    since: Timestamp,
    window: u32,
) -> Result<DeadDeliveries, StoreError> {
    let rows = tx.query(
        "SELECT n, event_id, event_type,
             CASE WHEN d.state = 'dead' AND d.resent_as IS NULL AND d.finished_at >= ?4
                 AND EXISTS (SELECT 1 FROM events e WHERE e.id = d.event_id)
             THEN 1 ELSE 0 END AS matches
         FROM deliveries d WHERE d.lane_id = ?1 AND d.n > ?2 AND d.n <= ?3 ORDER BY n LIMIT ?5",
        values![lane, after, until, since, window],
    )?;
    let next = match rows.last() {
        Some(last) if rows.len() >= window as usize => Some(last.get("n")?),
        _ => None,
    };
    let mut deliveries = Vec::new();
    for row in &rows {
        if row.get("matches")? {
            deliveries.push(PastDelivery::read(row)?);
        }
    }
    Ok(DeadDeliveries { deliveries, next })
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
