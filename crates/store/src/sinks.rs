//! Event sinks. A webhook or script sink has a lane that is created, updated and removed with it; a
//! json-rpc sink is a formatter and has no lane.

mod health;
mod row;

use svc_core::{LaneId, SinkId, UserId, power::SavedPower};
use svc_protocol::api::LastDelivery;
use uuid::Uuid;

use self::row::COLUMNS;
pub use self::{
    health::{counts, list_failing},
    row::{GLOBAL, SinkConfig, SinkRow, owner_key},
};
use super::{
    deliveries,
    error::StoreError,
    lanes,
    page::{Page, PageRequest},
    sql::{Tx, values},
    value::{Json, Value},
};

/// The state of a sink's queue.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SinkStatus {
    /// `None` for json-rpc sinks.
    pub lane: Option<LaneId>,
    pub queue_depth: u32,
    pub dropped: u64,
    /// Failed attempts of the delivery at the head.
    pub failures: u32,
    pub last_delivery: Option<LastDelivery>,
}

/// Inserts a sink, and its lane if its type has one. A duplicate name of the same owner is
/// [`StoreError::Unique`].
pub fn insert(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), StoreError> {
    tx.execute(
        &format!(
            "INSERT INTO event_sinks ({COLUMNS})
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        ),
        values![
            sink.id,
            &sink.owner_key,
            sink.owner_id,
            &sink.name,
            &sink.description,
            lanes::write_patterns(&sink.patterns),
            sink.kind,
            sink.active,
            Json(&sink.config),
            sink.secret.clone(),
            sink.previous_secret.clone(),
            sink.previous_until,
            sink.sealed_headers.clone(),
            sink.created_at
        ],
    )?;
    if sink.has_lane() {
        lanes::insert_for_sink(tx, LaneId(Uuid::now_v7()), sink)?;
        lanes::update_from_sink(tx, sink)?;
    }
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: SinkId) -> Result<Option<SinkRow>, StoreError> {
    tx.find(
        &format!("SELECT {COLUMNS} FROM event_sinks WHERE id = ?1"),
        values![id],
        SinkRow::read,
    )
}

pub fn get(tx: &mut Tx<'_>, id: SinkId) -> Result<SinkRow, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::missing("sink", id))
}

pub fn find_by_name(
    tx: &mut Tx<'_>,
    owner_key: &str,
    name: &str,
) -> Result<Option<SinkRow>, StoreError> {
    tx.find(
        &format!("SELECT {COLUMNS} FROM event_sinks WHERE owner_key = ?1 AND name = ?2"),
        values![owner_key, name],
        SinkRow::read,
    )
}

/// The sinks of the given owners, oldest first.
pub fn list(
    tx: &mut Tx<'_>,
    owner_keys: &[String],
    page: PageRequest,
) -> Result<Page<SinkRow>, StoreError> {
    let mut values: Vec<Value> = vec![page.after(), page.limit()];
    let placeholders: Vec<_> = owner_keys
        .iter()
        .map(|key| {
            values.push(key.into());
            format!("?{}", values.len())
        })
        .collect();
    let sizes = tx.query(
        &format!(
            "SELECT id, octet_length(config) + octet_length(description) + octet_length(patterns)
                 AS bytes
             FROM event_sinks WHERE id > ?1 AND owner_key IN ({}) ORDER BY id LIMIT ?2",
            placeholders.join(", ")
        ),
        &values,
    )?;
    let select = format!("SELECT {COLUMNS} FROM event_sinks");
    page.read(tx, &sizes, &select, SinkRow::read)
}

/// Webhooks of all owners after an id, in the order of their ids.
pub fn list_webhooks_after(
    tx: &mut Tx<'_>,
    after: SinkId,
    limit: u32,
) -> Result<Vec<SinkRow>, StoreError> {
    tx.list(
        &format!(
            "SELECT {COLUMNS} FROM event_sinks WHERE type = 'webhook' AND id > ?1
             ORDER BY id LIMIT ?2"
        ),
        values![after, limit],
        SinkRow::read,
    )
}

/// Script sinks whose configuration contains this text.
pub(crate) fn list_mentioning(tx: &mut Tx<'_>, text: &str) -> Result<Vec<SinkRow>, StoreError> {
    tx.list(
        &format!(
            "SELECT {COLUMNS} FROM event_sinks WHERE type = 'script' AND config LIKE ?1 ORDER BY id"
        ),
        values![format!("%{text}%")],
        SinkRow::read,
    )
}

/// Whether any sink has an encrypted secret.
pub fn any_secret(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let found = tx.query_opt(
        "SELECT id FROM event_sinks WHERE secret IS NOT NULL LIMIT 1",
        &[],
    )?;
    Ok(found.is_some())
}

/// The number of sinks of an owner.
pub fn count(tx: &mut Tx<'_>, owner_key: &str) -> Result<u64, StoreError> {
    tx.count(
        "SELECT COUNT(*) FROM event_sinks WHERE owner_key = ?1",
        values![owner_key],
    )
    .map(i64::unsigned_abs)
}

/// The formatters that a user's methods may name: first the user's own json-rpc sinks, then the
/// global ones.
pub fn list_json_rpc(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<SinkRow>, StoreError> {
    tx.list(
        &format!(
            "SELECT {COLUMNS} FROM event_sinks
             WHERE owner_key IN (?1, 'global') AND type = 'json-rpc'
             ORDER BY CASE WHEN owner_key = 'global' THEN 1 ELSE 0 END, id"
        ),
        values![owner],
        SinkRow::read,
    )
}

/// Writes all fields that may change, and updates the lane.
pub fn update(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE event_sinks SET name = ?2, description = ?3, patterns = ?4, active = ?5,
             config = ?6, secret = ?7, previous_secret = ?8, previous_until = ?9,
             sealed_headers = ?10 WHERE id = ?1",
        values![
            sink.id,
            &sink.name,
            &sink.description,
            lanes::write_patterns(&sink.patterns),
            sink.active,
            Json(&sink.config),
            sink.secret.clone(),
            sink.previous_secret.clone(),
            sink.previous_until,
            sink.sealed_headers.clone()
        ],
    )?;
    if changed == 0 {
        return Err(StoreError::missing("sink", sink.id));
    }
    lanes::update_from_sink(tx, sink)
}

/// The permissions of the user who last saved the sink, at that time.
pub fn saved_power(tx: &mut Tx<'_>, id: SinkId) -> Result<SavedPower, StoreError> {
    let row = tx.query_opt(
        "SELECT saved_power FROM event_sinks WHERE id = ?1",
        values![id],
    )?;
    match row {
        Some(row) => row.get("saved_power"),
        None => Err(StoreError::missing("sink", id)),
    }
}

pub fn set_saved_power(tx: &mut Tx<'_>, id: SinkId, power: SavedPower) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE event_sinks SET saved_power = ?2 WHERE id = ?1",
        values![id, power],
    )?;
    Ok(())
}

/// A sink that was deleted with its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedSink {
    pub id: SinkId,
    pub name: String,
    /// Deliveries that were waiting.
    pub queued: u32,
}

/// Removes a sink with its queue and history.
pub fn delete(tx: &mut Tx<'_>, id: SinkId) -> Result<DeletedSink, StoreError> {
    let name = get(tx, id)?.name;
    let lane = lanes::find_by_sink(tx, id)?;
    let queued = lane.as_ref().map_or(0, |lane| lane.depth);
    lanes::keep_drops(tx, lane.map_or(0, |lane| lane.dropped))?;
    tx.execute("DELETE FROM event_sinks WHERE id = ?1", values![id])?;
    Ok(DeletedSink { id, name, queued })
}

/// The sinks of a user, oldest first, without the global sinks that the user created.
pub fn list_ids_of_owner(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<SinkId>, StoreError> {
    tx.list(
        "SELECT id FROM event_sinks WHERE owner_key = ?1 ORDER BY id",
        values![owner],
        |row| row.get("id"),
    )
}

/// Names of the global sinks whose scripts act for this user.
pub fn list_global_scripts_of(tx: &mut Tx<'_>, owner: UserId) -> Result<Vec<String>, StoreError> {
    tx.list(
        "SELECT name FROM event_sinks
         WHERE owner_key = 'global' AND owner_id = ?1 AND type = 'script' ORDER BY name",
        values![owner],
        |row| row.get("name"),
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
        failures: lane.failures,
        last_delivery: deliveries::last(tx, lane.id)?,
    })
}
