//! Spaces. `svc_core::space` decides which state may follow another. A deleted space never changes.

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
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    records::{self, kept},
    sql::{Tx, values},
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

record! {
    SpaceRow in "spaces": id, name, owner_id, state, stop_reason, health, runtime, template_id,
    startup_script_id, health_check, node_id, space_urls, created_at, started_at, stopped_at,
    deleted_at
}

kept! {
    SpaceRow "space": SpaceId, fixed [],
    size "octet_length(health_check) + octet_length(space_urls)"
}

/// A space that is not deleted.
pub fn get(tx: &mut Tx<'_>, id: SpaceId) -> Result<SpaceRow, StoreError> {
    records::find(tx, id)?
        .filter(|space: &SpaceRow| space.state != State::Deleted)
        .ok_or_else(|| StoreError::missing("space", id))
}

/// The owner's space of this name that is not deleted.
pub fn find_by_name(
    tx: &mut Tx<'_>,
    owner: UserId,
    name: &str,
) -> Result<Option<SpaceRow>, StoreError> {
    tx.find_record(
        "WHERE owner_id = ?1 AND name = ?2 AND state <> 'deleted'",
        values![owner, name],
    )
}

/// Spaces of one owner or of all owners, except deleted ones.
pub fn list(
    tx: &mut Tx<'_>,
    owner: Option<UserId>,
    page: PageRequest,
) -> Result<Page<SpaceRow>, StoreError> {
    page.records(tx, present(owner))
}

/// Selects the spaces that are not deleted. Partial indexes have only these, so deleted spaces are
/// not read.
pub(crate) fn present(owner: Option<UserId>) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.add_some("owner_id = ?", owner);
    conditions.and("state <> 'deleted'");
    conditions
}

/// The number of spaces in each state, of one owner or of all owners.
pub fn count_by_state(tx: &mut Tx<'_>, owner: Option<UserId>) -> Result<SpaceCounts, StoreError> {
    let conditions = present(owner);
    let sql = format!(
        "SELECT state, COUNT(*) FROM spaces {} GROUP BY state",
        conditions.where_clause()
    );
    let mut counts = SpaceCounts::default();
    for (state, count) in tx.list(&sql, &conditions.values)? {
        match state {
            State::Created => counts.created = count,
            State::Deployed => counts.deployed = count,
            State::Stopped => counts.stopped = count,
            State::Deleted => {}
        }
    }
    Ok(counts)
}

/// Spaces, of one owner or of all owners, that may fail according to their records, and the spaces of
/// `others`; at most `limit`, in the order of their names.
pub fn list_suspects(
    tx: &mut Tx<'_>,
    owner: Option<UserId>,
    others: &[SpaceId],
    limit: u32,
) -> Result<Vec<SpaceRow>, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_in_padded("id", others);
    let others = match others {
        [] => String::new(),
        _ => format!("OR {}", conditions.sql),
    };
    let mut conditions = Conditions {
        sql: format!(
            "(state = 'deployed' AND health = 'unhealthy'
              OR state = 'stopped' AND stop_reason = 'link_lost' {others})"
        ),
        ..conditions
    };
    conditions.add_some("owner_id = ?", owner);
    conditions.and("state <> 'deleted'");
    let limit = conditions.placeholder(limit);
    let sql = format!("WHERE {} ORDER BY name, id LIMIT {limit}", conditions.sql);
    tx.list_records(&sql, &conditions.values)
}

/// All spaces in one state: for the start of a server.
pub fn list_in_state(tx: &mut Tx<'_>, state: State) -> Result<Vec<SpaceRow>, StoreError> {
    tx.list_records("WHERE state = ?1 ORDER BY id", values![state])
}

/// Deployed spaces whose server has no record, or was last seen before a time.
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
    )
}
