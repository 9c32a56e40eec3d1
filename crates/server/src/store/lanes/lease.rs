//! Holding lanes. A server holds a lane while its lease lasts; every claim raises the lane's
//! fence, and whoever writes about a lane they hold shows the fence they got.

use svc_core::{LaneId, ServerId, Timestamp, UserId};

use super::Receiver;
use crate::store::{
    error::StoreError,
    sql::{Tx, values},
    value::Json,
};

/// Proof of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub lane: LaneId,
    pub fence: i64,
}

/// A lane its holder has just been confirmed to hold.
#[derive(Clone, PartialEq, Debug)]
pub struct HeldLane {
    pub held: Held,
    pub owner_id: UserId,
    pub receiver: Receiver,
    pub formatters: Vec<String>,
    pub active: bool,
    pub depth: u32,
    /// Failed attempts of the delivery at the head.
    pub failures: u32,
    /// Starts of the delivery at the head, those that a crash cut off included.
    pub starts: u32,
}

/// Which lanes a server may take: a method's, only where a space that declares it has its link.
macro_rules! takes {
    ($server:literal) => {
        concat!(
            "(kind <> 'method' OR EXISTS (SELECT 1 FROM lane_declarations d ",
            "JOIN spaces s ON s.id = d.space_id ",
            "WHERE d.lane_id = lanes.id AND s.node_id = ",
            $server,
            "))"
        )
    };
}

/// When the first lane is due that nobody holds and this server may take.
pub fn first_due(
    tx: &mut Tx<'_>,
    server: ServerId,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    tx.query_opt(
        concat!(
            "SELECT next_at FROM lanes WHERE depth > 0 AND active = 1 AND lease_until <= ?1 AND ",
            takes!("?2"),
            " ORDER BY next_at LIMIT 1"
        ),
        values![now, server],
    )?
    .map(|row| row.get("next_at"))
    .transpose()
}

/// Takes at most `limit` lanes that are due, that nobody holds and that this server may take.
pub fn claim(
    tx: &mut Tx<'_>,
    server: ServerId,
    now: Timestamp,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<Held>, StoreError> {
    tx.query(
        concat!(
            "UPDATE lanes SET lease_owner = ?1, lease_until = ?3, fence = fence + 1 WHERE id IN (
                 SELECT id FROM lanes
                 WHERE depth > 0 AND active = 1 AND next_at <= ?2 AND lease_until <= ?2 AND ",
            takes!("?1"),
            " ORDER BY next_at LIMIT ?4) RETURNING id, fence"
        ),
        values![server, now, until, limit],
    )?
    .iter()
    .map(|row| {
        Ok(Held {
            lane: row.get("id")?,
            fence: row.get("fence")?,
        })
    })
    .collect()
}

/// Renews a lease; `None` if the lane is somebody else's by now, or gone.
pub fn hold(tx: &mut Tx<'_>, held: Held, until: Timestamp) -> Result<Option<HeldLane>, StoreError> {
    let row = tx.query_opt(
        "UPDATE lanes SET lease_until = ?3
         WHERE id = ?1 AND fence = ?2 AND lease_owner IS NOT NULL
         RETURNING owner_id, sink_id, method, formatters, active, depth, failures, starts",
        values![held.lane, held.fence, until],
    )?;
    row.map(|row| {
        let Json(formatters) = row.get("formatters")?;
        Ok(HeldLane {
            held,
            owner_id: row.get("owner_id")?,
            receiver: Receiver::read(&row)?,
            formatters,
            active: row.get("active")?,
            depth: row.get("depth")?,
            failures: row.get("failures")?,
            starts: row.get("starts")?,
        })
    })
    .transpose()
}

/// Counts a start of the delivery at the head, before anything is sent.
pub fn start(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET starts = starts + 1 WHERE id = ?1",
        values![lane],
    )
}

/// Takes back a start that led to no attempt.
pub fn unstart(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET starts = CASE WHEN starts > 0 THEN starts - 1 ELSE 0 END WHERE id = ?1",
        values![lane],
    )?;
    Ok(())
}

/// The delivery at the head has ended; the next one begins with clean counters.
pub fn advance(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET depth = depth - 1, failures = 0, starts = 0 WHERE id = ?1",
        values![lane],
    )
}

/// The delivery at the head has failed once more.
pub fn retry(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET failures = failures + 1 WHERE id = ?1",
        values![lane],
    )
}

/// Gives a lane back, due at `next_at` if something is in it.
pub fn release(tx: &mut Tx<'_>, lane: LaneId, next_at: Timestamp) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET lease_owner = NULL, lease_until = 0, next_at = ?2 WHERE id = ?1",
        values![lane, next_at],
    )?;
    // Another server may be the one to go on.
    tx.hint();
    Ok(())
}

/// Gives back every lane of a server: what it held when it was killed is free at its next start.
pub fn release_all(tx: &mut Tx<'_>, server: ServerId) -> Result<usize, StoreError> {
    tx.execute(
        "UPDATE lanes SET lease_owner = NULL, lease_until = 0 WHERE lease_owner = ?1",
        values![server],
    )
}

/// Makes a lane due that waits for something other than a retry: what is at its head had failed
/// `failures` times when it was paused, and waits for a retry only if it has failed since. Whether
/// the lane is held, and nothing was done for that.
pub fn make_due(
    tx: &mut Tx<'_>,
    lane: LaneId,
    failures: u32,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let row = tx.query_opt(
        "UPDATE lanes SET next_at = CASE
             WHEN lease_until <= ?2 AND next_at > ?2 THEN ?2 ELSE next_at END
         WHERE id = ?1 AND depth > 0 AND failures = ?3 RETURNING lease_until",
        values![lane, now, failures],
    )?;
    let until: Option<Timestamp> = row.map(|row| row.get("lease_until")).transpose()?;
    Ok(until.is_some_and(|until| until > now))
}

/// Sets the depth to what is really there, should the two ever differ.
pub fn recount(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET depth = (SELECT COUNT(*) FROM deliveries d
             WHERE d.lane_id = lanes.id AND d.state = 'pending') WHERE id = ?1",
        values![lane],
    )?;
    Ok(())
}
