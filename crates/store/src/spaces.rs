//! Spaces. `svc_core::space` decides which state may follow another; a deleted space never changes.

mod change;

use std::collections::BTreeMap;

use svc_core::{
    ScriptId, ServerId, SpaceId, SpaceName, TemplateId, Timestamp, UserId,
    space::{Health, HealthCheck, Runtime, State, StopReason},
};
use svc_protocol::api::SpaceCounts;

pub use self::change::{
    ForeignSetting, NewState, end_health_check, find_link_instance, list_health_checks_by_others,
    mark_deleted, prune_deleted, set_health, set_health_check_by, set_link_instance, set_node,
    set_state, set_stop_reason, update_health_check, update_startup_script,
};
use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
    value::Json,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceRow {
    pub id: SpaceId,
    pub name: SpaceName,
    pub owner_id: UserId,
    pub state: State,
    /// Why the space is stopped; `None` in any other state, and after a request to start.
    pub stop_reason: Option<StopReason>,
    pub health: Health,
    pub runtime: Runtime,
    pub template_id: Option<TemplateId>,
    pub startup_script_id: Option<ScriptId>,
    pub health_check: HealthCheck,
    /// The server that holds the link.
    pub node_id: Option<ServerId>,
    pub space_urls: BTreeMap<String, String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub stopped_at: Option<Timestamp>,
    pub deleted_at: Option<Timestamp>,
}

impl SpaceRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let Json(health_check) = row.get("health_check")?;
        let Json(space_urls) = row.get("space_urls")?;
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            owner_id: row.get("owner_id")?,
            state: row.get("state")?,
            stop_reason: row.get("stop_reason")?,
            health: row.get("health")?,
            runtime: row.get("runtime")?,
            template_id: row.get("template_id")?,
            startup_script_id: row.get("startup_script_id")?,
            health_check,
            node_id: row.get("node_id")?,
            space_urls,
            created_at: row.get("created_at")?,
            started_at: row.get("started_at")?,
            stopped_at: row.get("stopped_at")?,
            deleted_at: row.get("deleted_at")?,
        })
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, owner_id, state, stop_reason, health, runtime, template_id, ",
            "startup_script_id, health_check, node_id, space_urls, created_at, started_at, ",
            "stopped_at, deleted_at FROM spaces ",
            $rest
        )
    };
}

pub fn insert(tx: &mut Tx<'_>, space: &SpaceRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO spaces (id, name, owner_id, state, stop_reason, health, runtime, template_id,
             startup_script_id, health_check, node_id, space_urls, created_at, started_at,
             stopped_at, deleted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        values![
            space.id,
            &space.name,
            space.owner_id,
            space.state,
            space.stop_reason,
            space.health,
            space.runtime,
            space.template_id,
            space.startup_script_id,
            Json(&space.health_check),
            space.node_id,
            Json(&space.space_urls),
            space.created_at,
            space.started_at,
            space.stopped_at,
            space.deleted_at
        ],
    )?;
    Ok(())
}

/// A space in any state, also if it is deleted.
pub fn find(tx: &mut Tx<'_>, id: SpaceId) -> Result<Option<SpaceRow>, StoreError> {
    tx.find(select!("WHERE id = ?1"), values![id], SpaceRow::read)
}

/// A space that is not deleted.
pub fn get(tx: &mut Tx<'_>, id: SpaceId) -> Result<SpaceRow, StoreError> {
    find(tx, id)?
        .filter(|space| space.state != State::Deleted)
        .ok_or_else(|| StoreError::missing("space", id))
}

/// The owner's space of this name that is not deleted.
pub fn find_by_name(
    tx: &mut Tx<'_>,
    owner: UserId,
    name: &str,
) -> Result<Option<SpaceRow>, StoreError> {
    tx.find(
        select!("WHERE owner_id = ?1 AND name = ?2 AND state <> 'deleted'"),
        values![owner, name],
        SpaceRow::read,
    )
}

/// Spaces of one owner or of all owners, except deleted ones.
pub fn list(
    tx: &mut Tx<'_>,
    owner: Option<UserId>,
    page: PageRequest,
) -> Result<Page<SpaceRow>, StoreError> {
    let sizes = match owner {
        Some(owner) => tx.query(
            "SELECT id, octet_length(health_check) + octet_length(space_urls) AS bytes FROM spaces
             WHERE owner_id = ?1 AND id > ?2 AND state <> 'deleted' ORDER BY id LIMIT ?3",
            values![owner, page.after(), page.limit()],
        )?,
        None => tx.query(
            "SELECT id, octet_length(health_check) + octet_length(space_urls) AS bytes FROM spaces
             WHERE id > ?1 AND state <> 'deleted' ORDER BY id LIMIT ?2",
            values![page.after(), page.limit()],
        )?,
    };
    page.read(tx, &sizes, select!(""), SpaceRow::read)
}

/// The number of spaces in each state, of one owner or of all owners.
pub fn count_by_state(tx: &mut Tx<'_>, owner: Option<UserId>) -> Result<SpaceCounts, StoreError> {
    let rows = match owner {
        Some(owner) => tx.query(
            "SELECT state, COUNT(*) AS spaces FROM spaces WHERE owner_id = ?1 GROUP BY state",
            values![owner],
        )?,
        None => tx.query(
            "SELECT state, COUNT(*) AS spaces FROM spaces GROUP BY state",
            &[],
        )?,
    };
    let mut counts = SpaceCounts::default();
    for row in rows {
        let count = row.get("spaces")?;
        match row.get("state")? {
            State::Created => counts.created = count,
            State::Deployed => counts.deployed = count,
            State::Stopped => counts.stopped = count,
            State::Deleted => {}
        }
    }
    Ok(counts)
}

/// All spaces in one state: for the start of a server.
pub fn list_in_state(tx: &mut Tx<'_>, state: State) -> Result<Vec<SpaceRow>, StoreError> {
    tx.list(
        select!("WHERE state = ?1 ORDER BY id"),
        values![state],
        SpaceRow::read,
    )
}

/// Spaces whose agents were linked when the server last ran.
pub fn list_deployed(tx: &mut Tx<'_>) -> Result<Vec<SpaceRow>, StoreError> {
    list_in_state(tx, State::Deployed)
}

/// Spaces whose server is unknown, or was last seen before a time.
pub fn list_orphans(
    tx: &mut Tx<'_>,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<SpaceId>, StoreError> {
    tx.list(
        "SELECT id FROM spaces WHERE state = 'deployed' AND node_id IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM servers v
                 WHERE v.id = spaces.node_id AND v.seen_at >= ?1)
         ORDER BY id LIMIT ?2",
        values![before, limit],
        |row| row.get("id"),
    )
}
