//! Changes to spaces. The state, the health and the settings of a deleted space do not change.

use std::num::NonZeroU32;

use svc_core::{
    ScriptId, ServerId, SpaceId, Timestamp, UserId,
    space::{Health, HealthCheck, State, StopReason},
};

use crate::{
    agent_tokens,
    error::StoreError,
    lanes,
    record::row,
    records,
    spaces::SpaceRow,
    sql::{Tx, values},
    value::Value,
};

/// A new state of a space, with the values that are stored with this state.
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
        NewState::Deployed { node_id } => tx.changes(
            "UPDATE spaces SET state = ?2, stop_reason = NULL, node_id = ?3, started_at = ?4,
                 health = ?5
             WHERE id = ?1 AND state <> 'deleted'",
            values![id, State::Deployed, node_id, at, Health::Unknown],
        ),
        NewState::Stopped { reason } => tx.changes(
            "UPDATE spaces SET state = ?2, stop_reason = ?3, node_id = NULL, stopped_at = ?4,
                 health = ?5
             WHERE id = ?1 AND state <> 'deleted'",
            values![id, State::Stopped, reason, at, Health::Unknown],
        ),
    }?;
    lanes::follow_link(tx, id)?;
    Ok(changed)
}

/// Sets one column of a space. False if the space is deleted or does not exist.
fn set(tx: &mut Tx<'_>, id: SpaceId, column: &str, value: Value) -> Result<bool, StoreError> {
    let sql = format!("UPDATE spaces SET {column} = ?2 WHERE id = ?1 AND state <> 'deleted'");
    tx.changes(&sql, values![id, value])
}

/// Sets why a space is stopped. With `None`, the server accepts the agent of the space again.
pub fn set_stop_reason(
    tx: &mut Tx<'_>,
    id: SpaceId,
    reason: Option<StopReason>,
) -> Result<bool, StoreError> {
    set(tx, id, "stop_reason", reason.into())
}

pub fn set_node(tx: &mut Tx<'_>, id: SpaceId, node: ServerId) -> Result<bool, StoreError> {
    let changed = set(tx, id, "node_id", node.into())?;
    lanes::follow_link(tx, id)?;
    Ok(changed)
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
    let sql = "SELECT link_instance FROM spaces WHERE id = ?1";
    Ok(tx.find::<Option<_>>(sql, values![id])?.flatten())
}

pub fn set_health(tx: &mut Tx<'_>, id: SpaceId, health: Health) -> Result<bool, StoreError> {
    set(tx, id, "health", health.into())
}

pub fn update_health_check(
    tx: &mut Tx<'_>,
    id: SpaceId,
    check: &HealthCheck,
) -> Result<bool, StoreError> {
    set(tx, id, "health_check", check.into())
}

/// Records the user who set the health check, if that is not the owner.
pub fn set_health_check_by(
    tx: &mut Tx<'_>,
    id: SpaceId,
    user: Option<UserId>,
) -> Result<(), StoreError> {
    records::set::<SpaceRow>(tx, id, "health_check_by", user)
}

/// An agent token or a health check that was set by a user other than the owner of the space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForeignSetting {
    pub space: SpaceId,
    pub owner: UserId,
    pub by: UserId,
}

row! { ForeignSetting: space as "space_id", owner as "owner_id", by as "made_by" }

pub fn list_health_checks_by_others(tx: &mut Tx<'_>) -> Result<Vec<ForeignSetting>, StoreError> {
    tx.list(
        "SELECT id AS space_id, owner_id, health_check_by AS made_by FROM spaces
         WHERE health_check_by IS NOT NULL AND state <> 'deleted' ORDER BY id",
        &[],
    )
}

/// Removes the health check of a space.
pub fn end_health_check(tx: &mut Tx<'_>, id: SpaceId) -> Result<(), StoreError> {
    update_health_check(tx, id, &HealthCheck::default())?;
    set_health_check_by(tx, id, None)?;
    set_health(tx, id, Health::Unknown).map(drop)
}

pub fn update_startup_script(
    tx: &mut Tx<'_>,
    id: SpaceId,
    script: Option<ScriptId>,
) -> Result<bool, StoreError> {
    set(tx, id, "startup_script_id", script.into())
}

/// For the user who owns the space `of`: removes the records of all deleted spaces except the
/// newest `keep`.
pub fn prune_deleted(tx: &mut Tx<'_>, of: SpaceId, keep: NonZeroU32) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM spaces
         WHERE owner_id = (SELECT owner_id FROM spaces WHERE id = ?1) AND state = 'deleted'
             AND deleted_at < (SELECT deleted_at FROM spaces
                 WHERE owner_id = (SELECT owner_id FROM spaces WHERE id = ?1)
                     AND state = 'deleted'
                 ORDER BY deleted_at DESC LIMIT 1 OFFSET ?2)",
        values![of, keep.get() - 1],
    )
}

/// Marks a space as deleted: keeps the record, frees the name, revokes the agent tokens.
pub fn mark_deleted(tx: &mut Tx<'_>, id: SpaceId, at: Timestamp) -> Result<bool, StoreError> {
    let changed = tx.changes(
        "UPDATE spaces SET state = ?2, stop_reason = NULL, node_id = NULL, health = ?3,
             deleted_at = ?4
         WHERE id = ?1 AND state <> 'deleted'",
        values![id, State::Deleted, Health::Unknown, at],
    )?;
    lanes::follow_link(tx, id)?;
    agent_tokens::delete_of_space(tx, id)?;
    Ok(changed)
}
