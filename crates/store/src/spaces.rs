//! Spaces. Which state may follow which is decided elsewhere; a deleted space never changes.

use std::collections::BTreeMap;

use svc_core::{
    ScriptId, ServerId, SpaceId, SpaceName, TemplateId, Timestamp, UserId,
    space::{Health, HealthCheck, Runtime, State, StopReason},
};
use svc_protocol::api::SpaceCounts;

use super::{
    agent_tokens,
    error::StoreError,
    page::{Page, PageRequest, read_sizes, rows_by_id},
    sql::{Row, Tx, values},
    value::Json,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceRow {
    pub id: SpaceId,
    pub name: SpaceName,
    pub owner_id: UserId,
    pub state: State,
    /// Why it is stopped; `None` in any other state, and after a request to start.
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

/// A space in any state, including deleted ones.
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

/// Spaces that are not deleted: one owner's, or everyone's.
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
    let fitting = page.page_within_bytes(read_sizes(&sizes)?);
    let rows = rows_by_id(tx, select!(""), &fitting.items)?;
    Ok(Page {
        items: rows.iter().map(SpaceRow::read).collect::<Result<_, _>>()?,
        next_cursor: fitting.next_cursor,
    })
}

/// How many are in which state: one owner's, or everyone's.
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

/// A new state of a space, with the values it records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewState {
    Deployed { node_id: ServerId },
    Stopped { reason: StopReason },
}

/// Sets the state of a space, and its health to unknown. False if the space is deleted or does not
/// exist.
pub fn set_state(
    tx: &mut Tx<'_>,
    id: SpaceId,
    state: NewState,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let changed = match state {
        NewState::Deployed { node_id } => tx.execute(
            "UPDATE spaces SET state = ?2, stop_reason = NULL, node_id = ?3, started_at = ?4,
                 health = ?5
             WHERE id = ?1 AND state <> 'deleted'",
            values![id, State::Deployed, node_id, at, Health::Unknown],
        )?,
        NewState::Stopped { reason } => tx.execute(
            "UPDATE spaces SET state = ?2, stop_reason = ?3, node_id = NULL, stopped_at = ?4,
                 health = ?5
             WHERE id = ?1 AND state <> 'deleted'",
            values![id, State::Stopped, reason, at, Health::Unknown],
        )?,
    };
    Ok(changed > 0)
}

/// Sets why a space is stopped; `None` admits its agent again.
pub fn set_stop_reason(
    tx: &mut Tx<'_>,
    id: SpaceId,
    reason: Option<StopReason>,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE spaces SET stop_reason = ?2 WHERE id = ?1 AND state <> 'deleted'",
        values![id, reason],
    )?;
    Ok(changed > 0)
}

pub fn set_node(tx: &mut Tx<'_>, id: SpaceId, node: ServerId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE spaces SET node_id = ?2 WHERE id = ?1 AND state <> 'deleted'",
        values![id, node],
    )?;
    Ok(changed > 0)
}

/// Records which agent process is linked.
pub fn set_link_instance(tx: &mut Tx<'_>, id: SpaceId, instance: &str) -> Result<(), StoreError> {
    tx.send(
        "UPDATE spaces SET link_instance = ?2 WHERE id = ?1",
        values![id, instance],
    )
}

/// The agent process that was linked last.
pub fn find_link_instance(tx: &mut Tx<'_>, id: SpaceId) -> Result<Option<String>, StoreError> {
    let row = tx.query_opt(
        "SELECT link_instance FROM spaces WHERE id = ?1",
        values![id],
    )?;
    Ok(row
        .map(|row| row.get::<Option<String>>("link_instance"))
        .transpose()?
        .flatten())
}

pub fn set_health(tx: &mut Tx<'_>, id: SpaceId, health: Health) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE spaces SET health = ?2 WHERE id = ?1 AND state <> 'deleted'",
        values![id, health],
    )?;
    Ok(changed > 0)
}

pub fn update_health_check(
    tx: &mut Tx<'_>,
    id: SpaceId,
    check: &HealthCheck,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE spaces SET health_check = ?2 WHERE id = ?1 AND state <> 'deleted'",
        values![id, Json(check)],
    )?;
    Ok(changed > 0)
}

/// Records the user who set the health check, if that is not the owner.
pub fn set_health_check_by(
    tx: &mut Tx<'_>,
    id: SpaceId,
    user: Option<UserId>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE spaces SET health_check_by = ?2 WHERE id = ?1",
        values![id, user],
    )?;
    Ok(())
}

/// An agent token or health check of a space that a user other than its owner set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetByAnother {
    pub space: SpaceId,
    pub owner: UserId,
    pub by: UserId,
}

impl SetByAnother {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            space: row.get("space_id")?,
            owner: row.get("owner_id")?,
            by: row.get("made_by")?,
        })
    }
}

pub fn list_health_checks_by_others(tx: &mut Tx<'_>) -> Result<Vec<SetByAnother>, StoreError> {
    tx.list(
        "SELECT id AS space_id, owner_id, health_check_by AS made_by FROM spaces
         WHERE health_check_by IS NOT NULL AND state <> 'deleted' ORDER BY id",
        &[],
        SetByAnother::read,
    )
}

/// Removes the health check of a space.
pub fn end_health_check(tx: &mut Tx<'_>, id: SpaceId) -> Result<(), StoreError> {
    update_health_check(tx, id, &HealthCheck::default())?;
    set_health_check_by(tx, id, None)?;
    set_health(tx, id, Health::Unknown)?;
    Ok(())
}

pub fn update_startup_script(
    tx: &mut Tx<'_>,
    id: SpaceId,
    script: Option<ScriptId>,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE spaces SET startup_script_id = ?2 WHERE id = ?1 AND state <> 'deleted'",
        values![id, script],
    )?;
    Ok(changed > 0)
}

/// Removes the records of deleted spaces of the owner of a space, except the newest `keep`.
pub fn prune_deleted(tx: &mut Tx<'_>, of: SpaceId, keep: u32) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM spaces
         WHERE owner_id = (SELECT owner_id FROM spaces WHERE id = ?1) AND state = 'deleted'
             AND deleted_at < (SELECT deleted_at FROM spaces
                 WHERE owner_id = (SELECT owner_id FROM spaces WHERE id = ?1)
                     AND state = 'deleted'
                 ORDER BY deleted_at DESC LIMIT 1 OFFSET ?2)",
        values![of, keep - 1],
    )?;
    Ok(())
}

/// Keeps the record, frees the name, revokes the agent tokens.
pub fn mark_deleted(tx: &mut Tx<'_>, id: SpaceId, at: Timestamp) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE spaces SET state = ?2, stop_reason = NULL, node_id = NULL, health = ?3,
             deleted_at = ?4
         WHERE id = ?1 AND state <> 'deleted'",
        values![id, State::Deleted, Health::Unknown, at],
    )?;
    agent_tokens::delete_of_space(tx, id)?;
    Ok(changed > 0)
}
