//! Changes to spaces. A deleted space never changes.

use svc_core::{
    ScriptId, ServerId, SpaceId, Timestamp, UserId,
    space::{Health, HealthCheck, State, StopReason},
};

use crate::{
    agent_tokens,
    error::StoreError,
    sql::{Row, Tx, values},
    value::Json,
};

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

/// Sets why a space is stopped. With `None`, the server accepts its agent again.
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
pub struct ForeignSetting {
    pub space: SpaceId,
    pub owner: UserId,
    pub by: UserId,
}

impl ForeignSetting {
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            space: row.get("space_id")?,
            owner: row.get("owner_id")?,
            by: row.get("made_by")?,
        })
    }
}

pub fn list_health_checks_by_others(tx: &mut Tx<'_>) -> Result<Vec<ForeignSetting>, StoreError> {
    tx.list(
        "SELECT id AS space_id, owner_id, health_check_by AS made_by FROM spaces
         WHERE health_check_by IS NOT NULL AND state <> 'deleted' ORDER BY id",
        &[],
        ForeignSetting::read,
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

/// Marks a space as deleted: keeps the record, frees the name, revokes the agent tokens.
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
