//! Event sinks. A webhook or script sink has a lane that is created, updated and removed with it; a
//! json-rpc sink is a formatter and has no lane.

mod health;
mod row;

use svc_core::{GroupId, LaneId, SinkId, UserId};
use svc_protocol::api::{FeedProgress, LastDelivery, SinkPause};
use uuid::Uuid;

pub(crate) use self::row::owner_of;
pub use self::{
    health::{counts, list_failing},
    row::{GLOBAL, SinkConfig, SinkRow, owner_key},
};
use super::{
    conditions::Conditions,
    deliveries,
    error::StoreError,
    lanes,
    page::{Page, PageRequest},
    records,
    sql::{Tx, values},
};

/// The state of a sink's queue.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SinkStatus {
    /// `None` for json-rpc sinks.
    pub lane: Option<LaneId>,
    pub queue_depth: u32,
    pub dropped: u64,
    /// Events that were dropped since the last replay of undelivered events.
    pub lost: u64,
    /// Dead deliveries that were not sent again. Only the newest deliveries are counted.
    pub dead: u32,
    /// Failed attempts of the delivery at the head; in a lane that is ordered by a key, the largest
    /// number of any waiting delivery.
    pub failures: u32,
    /// Whether there are stored events that the lane has not checked yet.
    pub held: bool,
    /// The number of unfinished requests to send past events again.
    pub feeds: u32,
    /// Their progress, oldest first.
    pub feed_progress: Vec<FeedProgress>,
    pub filter_errors: u64,
    /// The newest error of the filter.
    pub filter_error: Option<String>,
    pub last_delivery: Option<LastDelivery>,
}

/// Inserts a sink, and its lane if its type has one. Returns [`StoreError::Unique`] if the owner
/// has a sink of the same name.
pub fn insert(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), StoreError> {
    records::insert(tx, sink)?;
    if sink.has_lane() {
        lanes::insert_for_sink(tx, LaneId(Uuid::now_v7()), sink)?;
        lanes::update_from_sink(tx, sink)?;
    }
    Ok(())
}

/// The sinks of the given owners, oldest first.
pub fn list(
    tx: &mut Tx<'_>,
    owner_keys: &[String],
    page: PageRequest,
) -> Result<Page<SinkRow>, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_in("owner_key", owner_keys);
    page.records(tx, conditions)
}

/// Script sinks whose configuration contains this text.
pub(crate) fn list_mentioning(tx: &mut Tx<'_>, text: &str) -> Result<Vec<SinkRow>, StoreError> {
    tx.list_records(
        "WHERE type = 'script' AND config LIKE ?1 ORDER BY id",
        values![format!("%{text}%")],
    )
}

/// Whether any sink has an encrypted secret.
pub fn any_secret(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT id FROM event_sinks WHERE secret IS NOT NULL LIMIT 1",
        &[],
    )
}

/// The formatters that a user's methods may name: first the user's own json-rpc sinks, then the
/// global ones.
pub fn list_json_rpc(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<SinkRow>, StoreError> {
    tx.list_records(
        "WHERE owner_key IN (?1, 'global') AND type = 'json-rpc'
         ORDER BY CASE WHEN owner_key = 'global' THEN 1 ELSE 0 END, id",
        values![owner],
    )
}

/// Writes all fields that may change, and updates the lane.
pub fn update(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), StoreError> {
    records::replace(tx, sink)?;
    lanes::update_from_sink(tx, sink)
}

/// Pauses a sink: it is not active until a user enables it.
pub fn pause(tx: &mut Tx<'_>, id: SinkId, pause: &SinkPause) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE event_sinks SET active = 0, paused = ?2 WHERE id = ?1",
        values![id, pause],
    )?;
    tx.execute(
        "UPDATE lanes SET active = 0 WHERE sink_id = ?1",
        values![id],
    )
}

/// A sink that was deleted with its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedSink {
    pub id: SinkId,
    pub name: String,
    /// Deliveries that were waiting.
    pub queued: u32,
}

/// Removes a sink with its queue and history. [`lanes::clear_removed`] removes the deliveries.
pub fn delete(tx: &mut Tx<'_>, id: SinkId) -> Result<DeletedSink, StoreError> {
    let name = records::get::<SinkRow>(tx, id)?.name;
    let sql = "SELECT id, depth FROM lanes WHERE sink_id = ?1";
    let lane: Option<(LaneId, u32)> = tx.find(sql, values![id])?;
    let mut queued = 0;
    if let Some((lane, depth)) = lane {
        queued = depth;
        lanes::remove(tx, lane)?;
    }
    tx.execute("DELETE FROM event_sinks WHERE id = ?1", values![id])?;
    Ok(DeletedSink { id, name, queued })
}

/// The sinks of a user, oldest first, without the global sinks that the user created.
pub fn list_ids_of_owner(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<SinkId>, StoreError> {
    tx.list(
        "SELECT id FROM event_sinks WHERE owner_key = ?1 ORDER BY id",
        values![owner],
    )
}

/// Names of the global sinks whose scripts act for this user.
pub fn list_global_scripts_of(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<String>, StoreError> {
    tx.list(
        "SELECT name FROM event_sinks
         WHERE owner_key = 'global' AND owner_id = ?1 AND type = 'script' ORDER BY name",
        values![owner],
    )
}

/// The number of active script sinks whose scripts run for members of a group.
pub fn count_scripts_of_members(tx: &mut Tx<'_>, group: GroupId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM event_sinks WHERE type = 'script' AND active = 1
           AND owner_id IN (SELECT user_id FROM user_groups WHERE group_id = ?1)",
        values![group],
    )
}

/// The oldest sinks of these owners, with the users who created them.
pub fn list_creators(
    tx: &mut Tx<'_>,
    owner_keys: &[String],
    limit: u32,
) -> Result<Vec<(SinkId, UserId)>, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_in("owner_key", owner_keys);
    tx.list(
        &format!(
            "SELECT id, owner_id FROM event_sinks WHERE {} ORDER BY id LIMIT {limit}",
            conditions.sql
        ),
        &conditions.values,
    )
}

/// Queue and latest finished delivery of a sink.
pub fn status(tx: &mut Tx<'_>, id: SinkId) -> Result<SinkStatus, StoreError> {
    let Some(lane) = lanes::find_by_sink(tx, id)? else {
        return Ok(SinkStatus::default());
    };
    Ok(SinkStatus {
        lane: Some(lane.id),
        queue_depth: lane.depth,
        dropped: lane.dropped,
        lost: lane.lost,
        dead: lane.dead,
        failures: lane.failures,
        held: lane.is_behind,
        feeds: lane.feeds,
        feed_progress: match lane.feeds {
            0 => Vec::new(),
            _ => lanes::list_progress(tx, lane.id)?,
        },
        filter_errors: lane.filter_errors,
        filter_error: lane.filter_error,
        last_delivery: deliveries::last(tx, lane.id)?,
    })
}
