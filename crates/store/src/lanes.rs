//! Lanes: the queues of sinks and method subscriptions, and their leases.
//!
//! [`queue`] adds deliveries. [`due`] finds and claims lanes with due deliveries. [`lease`] ensures
//! that one server at a time works on a lane. [`refill`] queues stored events in lanes that have
//! fallen behind. [`turn`] reads and writes a lane for the worker that delivers from it.
//! [`declarations`] creates and removes the lanes of methods. [`feeds`] stores requests to send
//! past events again. [`removal`] removes lanes with their deliveries. [`patterns`] finds the lanes that
//! an event may match.

mod declarations;
mod due;
mod feeds;
mod lease;
pub(crate) mod patterns;
mod queue;
mod refill;
mod removal;
mod shift;
pub mod turn;

use serde::{Deserialize, Serialize};
use svc_core::{LaneId, SinkId, Timestamp, UserId, delivery_policy::Overflow, lane::LaneActivity};
use svc_protocol::api::SinkType;

pub(crate) use self::{declarations::follow_link, removal::remove, shift::shift_times};
pub use self::{
    declarations::{
        DeclarationOutcome, RemovedSubscription, Withdrawal, declare, declares, find_declared,
        list_declaring_spaces, totals_of, withdraw_space,
    },
    due::{Claim, Claimed, DueOwner, claim, first_due, list_due_owners},
    feeds::{
        Feed, FeedSelection, NewFeed, add_feed, count_feeds, end_feed, find_feed, list_progress,
        move_feed,
    },
    lease::{DueLane, LaneHealth, LaneLease, LeasedLane, ReportedState, make_due, release_all},
    patterns::finds,
    queue::{Candidate, count_drop, enqueue},
    refill::{
        RefillLane, append, count_filter_errors, find_ready, find_refill, list_ready_owners,
        move_refill,
    },
    removal::{any_removed, clear_removed},
};
use super::{
    error::StoreError,
    meta,
    record::row,
    sinks::{GLOBAL, SinkRow},
    sql::{FromRow, Row, Tx, values},
    value::as_word,
};

/// The kind of receiver of a lane. Each kind has delivery slots of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryKind {
    Webhook,
    Script,
    Method,
}

impl DeliveryKind {
    pub const ALL: [Self; 3] = [Self::Webhook, Self::Script, Self::Method];

    /// The index of this kind in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }
}

as_word!(DeliveryKind);

/// A lane without its lease.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneRow {
    pub id: LaneId,
    /// Waiting deliveries, including the one in flight.
    pub depth: u32,
    pub dropped: u64,
    /// Events that were dropped since the last replay of undelivered events.
    pub lost: u64,
    /// How many of the newest `HEALTH_WINDOW` deliveries are dead and were not sent again.
    pub dead: u32,
    /// Failed attempts of the delivery at the head; in a lane that is ordered by a key, the largest
    /// number of any waiting delivery.
    pub failures: u32,
    /// Whether there are stored events that the lane has not checked yet.
    pub is_behind: bool,
    /// The number of unfinished requests to send past events again.
    pub feeds: u32,
    pub filter_errors: u64,
    /// The newest error of the filter.
    pub filter_error: Option<String>,
}

/// The receiver of a lane's events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Receiver {
    Sink(SinkId),
    /// The canonical name.
    Method(String),
}

impl FromRow for Receiver {
    fn read(row: &Row) -> Result<Self, StoreError> {
        match row.get::<Option<SinkId>>("sink_id")? {
            Some(sink) => Ok(Self::Sink(sink)),
            None => Ok(Self::Method(row.get("method")?)),
        }
    }
}

row! { LaneRow: id, depth, dropped, lost, dead, failures, is_behind, feeds, filter_errors, filter_error }

/// A lane that is not empty, for metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backlog {
    pub lane: LaneId,
    /// The sink's name, or the method's.
    pub name: String,
    /// The owner's id, or `global`.
    pub owner: String,
    pub depth: u32,
    /// When the oldest waiting delivery was queued.
    pub oldest: Timestamp,
}

row! { Backlog: lane as "id", name, owner, depth, oldest }

/// The number of newest deliveries whose states decide the health of a sink. The number is small,
/// because a list of sinks reads these deliveries for every sink.
pub(crate) const HEALTH_WINDOW: u32 = 200;

/// The lane of a sink. `None` for a json-rpc sink, which has no lane.
pub fn find_by_sink(tx: &mut Tx<'_>, sink: SinkId) -> Result<Option<LaneRow>, StoreError> {
    tx.find(
        "SELECT id, depth, dropped, dropped - recovered AS lost,
                (SELECT COUNT(*) FROM deliveries d WHERE d.lane_id = lanes.id
                     AND d.n > lanes.tail - ?2 AND d.state = 'dead' AND d.resent_as IS NULL) AS dead,
                feeds, filter_errors, filter_error,
                CASE WHEN keyed = 1 THEN (SELECT COALESCE(MAX(d.failures), 0) FROM deliveries d
                     WHERE d.lane_id = lanes.id AND d.state = 'pending')
                 ELSE failures END AS failures,
                CASE WHEN refill_from IS NULL THEN 0 ELSE 1 END AS is_behind
         FROM lanes WHERE sink_id = ?1",
        values![sink, HEALTH_WINDOW],
    )
}

/// The id of the lane's owner, or `global`; of a removed lane, the former owner.
pub fn find_owner_key(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<String>, StoreError> {
    let sql = "SELECT COALESCE(removed_from, owner_key) FROM lanes WHERE id = ?1";
    tx.find(sql, values![lane])
}

/// Records that the first `dropped` events that a lane dropped were replayed. Events that it drops
/// later still count as [`LaneRow::lost`].
pub fn set_recovered(tx: &mut Tx<'_>, lane: LaneId, dropped: u64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET recovered = ?2 WHERE id = ?1 AND recovered < ?2",
        values![lane, dropped],
    )
}

/// Every lane that is not empty.
pub fn list_backlog(tx: &mut Tx<'_>) -> Result<Vec<Backlog>, StoreError> {
    tx.list(
        "SELECT l.id AS id, COALESCE(l.method, s.name) AS name, l.owner_key AS owner,
                l.depth AS depth,
                COALESCE((SELECT MIN(d.queued_at) FROM deliveries d
                 WHERE d.lane_id = l.id AND d.state = 'pending'), 0) AS oldest
         FROM lanes l LEFT JOIN event_sinks s ON s.id = l.sink_id WHERE l.depth > 0",
        &[],
    )
}

/// All lanes together, for metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    pub queued: u64,
    pub dropped: u64,
}

pub fn totals(tx: &mut Tx<'_>) -> Result<Totals, StoreError> {
    let (queued, dropped): (u64, u64) = tx.get(
        "SELECT CAST(COALESCE(SUM(depth), 0) AS BIGINT),
                CAST(COALESCE(SUM(dropped), 0) AS BIGINT) FROM lanes",
        &[],
    )?;
    Ok(Totals {
        queued,
        dropped: dropped + kept_drops(tx)?,
    })
}

/// The key of the counter that keeps the drops of removed lanes, so that the total never decreases.
const KEPT_DROPS: &str = "drops_of_removed_lanes";

/// Adds the drops of a removed lane to the counter [`KEPT_DROPS`].
fn keep_drops(tx: &mut Tx<'_>, dropped: u64) -> Result<(), StoreError> {
    if dropped > 0 {
        let kept = kept_drops(tx)? + dropped;
        meta::set(tx, KEPT_DROPS, &kept.to_string())?;
    }
    Ok(())
}

fn kept_drops(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let kept = meta::find(tx, KEPT_DROPS)?;
    Ok(kept.and_then(|kept| kept.parse().ok()).unwrap_or(0))
}

/// Updates which lanes of a user are active, after the user was activated or deactivated.
pub fn set_owner_active(tx: &mut Tx<'_>, owner: UserId, active: bool) -> Result<(), StoreError> {
    let lanes = tx.query(
        "SELECT l.id AS id, l.owner_key AS owner_key, s.active AS sink_active, s.type AS type
         FROM lanes l LEFT JOIN event_sinks s ON s.id = l.sink_id
         WHERE l.owner_key = ?1 OR l.owner_id = ?1 ORDER BY l.id",
        values![owner],
    )?;
    for row in &lanes {
        let activity = LaneActivity {
            receiver_active: row.get::<Option<bool>>("sink_active")?.unwrap_or(true),
            owner_active: active,
            is_global: row.get::<String>("owner_key")? == GLOBAL,
            acts_for_owner: row.get::<Option<SinkType>>("type")? == Some(SinkType::Script),
        };
        let lane: LaneId = row.get("id")?;
        tx.send(
            "UPDATE lanes SET active = ?2 WHERE id = ?1",
            values![lane, activity.is_active()],
        )?;
    }
    Ok(())
}

pub(super) fn insert_for_sink(
    tx: &mut Tx<'_>,
    id: LaneId,
    sink: &SinkRow,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO lanes (id, delivery_kind, owner_key, owner_id, sink_id, method, patterns,
             formatters, active, tail, depth, next_at, failures, starts, lease_until, fence, dropped)
         VALUES (?1, ?7, ?2, ?3, ?4, NULL, ?5, '[]', ?6, 0, 0, 0, 0, 0, 0, 0, 0)",
        values![
            id,
            &sink.owner_key,
            sink.owner_id,
            sink.id,
            &sink.patterns,
            sink.active,
            match sink.kind {
                SinkType::Script => DeliveryKind::Script,
                SinkType::Webhook | SinkType::JsonRpc => DeliveryKind::Webhook,
            }
        ],
    )?;
    patterns::replace(tx, id, &sink.owner_key, &sink.patterns)
}

/// Writes patterns, activity and policy of a sink to its lane.
pub(super) fn update_from_sink(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), StoreError> {
    let owner_active = tx.find(
        "SELECT active FROM users WHERE id = ?1",
        values![sink.owner_id],
    )?;
    let activity = LaneActivity {
        receiver_active: sink.active,
        owner_active: owner_active.unwrap_or(true),
        is_global: sink.is_global(),
        acts_for_owner: sink.kind == SinkType::Script,
    };
    let lane: Option<LaneId> = tx.find(
        "UPDATE lanes SET patterns = ?2, active = ?3, holds = ?4, filter = ?5, keyed = ?6
         WHERE sink_id = ?1 RETURNING id",
        values![
            sink.id,
            &sink.patterns,
            activity.is_active(),
            sink.policy.overflow == Overflow::Hold,
            &sink.policy.filter,
            sink.is_keyed()
        ],
    )?;
    lane.map_or(Ok(()), |lane| {
        patterns::replace(tx, lane, &sink.owner_key, &sink.patterns)
    })
}
