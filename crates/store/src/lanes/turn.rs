//! One turn of work on a lane: reads the lane and its next deliveries, and writes the lane once at
//! the end.
//!
//! [`read`] is one round trip for any number of lanes. Transactions that write run one at a time,
//! so nothing that is read here changes before the transaction writes.

use std::collections::HashMap;

use svc_core::{LaneId, SinkId, Timestamp};

use super::{LaneLease, LeasedLane, Receiver};
use crate::{
    conditions::Conditions,
    deliveries::{self, QueueHead},
    error::StoreError,
    record::select,
    sinks::SinkRow,
    sql::{Query, Tx, read_all, values},
};

/// Which data of a lane a turn reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnRequest {
    pub held: LaneLease,
    /// The numbers of deliveries that are to be finished.
    pub ended: Vec<u64>,
    /// Reads at most `limit` waiting deliveries after the number `after`.
    pub after: u64,
    pub limit: u32,
}

/// A held lane, and the data that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnReading {
    pub lane: LeasedLane,
    /// `None` for a method, and if the sink no longer exists.
    pub sink: Option<SinkRow>,
    /// The deliveries of [`TurnRequest::ended`] that still wait.
    pub waiting: Vec<u64>,
    pub heads: Vec<QueueHead>,
}

/// Reads lanes for their turns. `None` for a lane that was claimed again, released or removed after
/// it was leased.
pub fn read(
    tx: &mut Tx<'_>,
    requests: &[TurnRequest],
) -> Result<Vec<Option<TurnReading>>, StoreError> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let lanes: Vec<_> = requests.iter().map(|request| request.held.lane).collect();
    let mut queries = vec![select_lanes(&lanes), select_sinks(&lanes)];
    for request in requests {
        if !request.ended.is_empty() {
            queries.push(select_waiting(request));
        }
        queries.push(deliveries::select_heads(
            request.held.lane,
            request.after,
            request.limit,
        ));
    }
    let mut answers = tx.query_all(&queries)?.into_iter();
    let mut next = || answers.next().unwrap_or_default();
    let lanes: Vec<LeasedLane> = read_all(&next())?;
    let mut lanes: HashMap<_, _> = lanes.into_iter().map(|lane| (lane.held, lane)).collect();
    let sinks: Vec<SinkRow> = read_all(&next())?;
    let sinks: HashMap<_, _> = sinks.into_iter().map(|sink| (sink.id, sink)).collect();
    let mut readings = Vec::with_capacity(requests.len());
    for request in requests {
        let waiting = match request.ended.is_empty() {
            true => Vec::new(),
            false => read_all(&next())?,
        };
        let heads = read_all(&next())?;
        readings.push(lanes.remove(&request.held).map(|lane| TurnReading {
            sink: sink_id(&lane).and_then(|id| sinks.get(&id).cloned()),
            lane,
            waiting,
            heads,
        }));
    }
    Ok(readings)
}

fn sink_id(lane: &LeasedLane) -> Option<SinkId> {
    match &lane.receiver {
        Receiver::Sink(id) => Some(*id),
        Receiver::Method(_) => None,
    }
}

fn select_lanes(lanes: &[LaneId]) -> Query {
    let mut conditions = Conditions::default();
    conditions.add_in_padded("id", lanes);
    conditions.query(
            "SELECT id, fence, owner_key, owner_id, sink_id, method, formatters, active, depth, failures, starts,
                    failed_in_row, failing_since, reported, rate_until, dropping, refilling, lease_until,
                    COALESCE((SELECT u.bytes FROM event_usage u
                        WHERE u.owner_key = lanes.owner_key), 0) AS stored_bytes,
                    (SELECT o.quotas FROM users o WHERE o.id = lanes.owner_key) AS owner_quotas
             FROM lanes WHERE {} AND lease_owner IS NOT NULL",
    )
}

/// The sinks of these lanes.
fn select_sinks(lanes: &[LaneId]) -> Query {
    let mut conditions = Conditions::default();
    conditions.add_in_padded("id", lanes);
    let of_lanes = "WHERE id IN (SELECT sink_id FROM lanes WHERE {})";
    conditions.query(&select::<SinkRow>(of_lanes))
}

fn select_waiting(request: &TurnRequest) -> Query {
    let mut conditions = Conditions::new("lane_id = ?", request.held.lane);
    conditions.and("state = 'pending'");
    conditions.add_in_padded("n", &request.ended);
    conditions.query("SELECT n FROM deliveries WHERE {}")
}

/// How a turn ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnEnd {
    /// The lane stays held until this time.
    Hold(Timestamp),
    /// The lane is released. It is due at this time unless it is empty.
    Release(Timestamp),
}

/// Writes a lane at the end of a turn: its counters, rate and health, and the lease. `finished` is
/// the number of deliveries that left the queue.
pub fn end(
    tx: &mut Tx<'_>,
    lane: &LeasedLane,
    finished: u32,
    end: TurnEnd,
) -> Result<(), StoreError> {
    let (lease_until, release_at) = match end {
        TurnEnd::Hold(until) => (until, None),
        TurnEnd::Release(at) => (Timestamp::default(), Some(at)),
    };
    tx.send(
        "UPDATE lanes SET depth = depth - ?2, failures = ?3, starts = ?4, failed_in_row = ?5,
             failing_since = ?6, reported = ?7, rate_until = ?8, dropping = ?9, lease_until = ?10,
             lease_owner = CASE WHEN CAST(?11 AS BIGINT) IS NULL THEN lease_owner END,
             next_at = COALESCE(CAST(?11 AS BIGINT), next_at)
         WHERE id = ?1",
        values![
            lane.held.lane,
            finished,
            lane.failures,
            lane.starts,
            lane.health.failed_in_row,
            lane.health.failing_since,
            lane.health.reported,
            lane.rate_until,
            lane.dropping,
            lease_until,
            release_at
        ],
    )?;
    if release_at.is_some() {
        // Another server may claim the lane now.
        tx.hint();
    }
    Ok(())
}

/// Extends leases: they end at the time `until`. Returns for each lane whether it is still held.
pub fn renew(
    tx: &mut Tx<'_>,
    leases: &[LaneLease],
    until: Timestamp,
) -> Result<Vec<bool>, StoreError> {
    let renewals: Vec<_> = leases
        .iter()
        .map(|lease| Query {
            sql: "UPDATE lanes SET lease_until = ?3
                  WHERE id = ?1 AND fence = ?2 AND lease_owner IS NOT NULL RETURNING id"
                .to_owned(),
            values: values![lease.lane, lease.fence, until].to_vec(),
        })
        .collect();
    let renewed = tx.query_all(&renewals)?;
    Ok(renewed.iter().map(|rows| !rows.is_empty()).collect())
}

/// Sets the depth to the number of waiting deliveries, in case the two differ.
pub fn recount(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lanes SET depth = (SELECT COUNT(*) FROM deliveries d
             WHERE d.lane_id = lanes.id AND d.state = 'pending') WHERE id = ?1",
        values![lane],
    )
}
