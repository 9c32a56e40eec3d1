//! What happened to spaces, in order. Written in the same transaction as the change itself; later
//! read by whatever announces it.

use serde_json::Value as JsonValue;
use svc_core::{Id, SpaceId, Timestamp, UserId};

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
    value::Json,
};

#[derive(Clone, PartialEq, Debug)]
pub struct TransitionRow {
    pub id: Id,
    pub space_id: SpaceId,
    pub owner_id: UserId,
    /// `space.started` and its kin (spec 6.1).
    pub event_type: String,
    pub payload: JsonValue,
    pub at: Timestamp,
}

impl TransitionRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let Json(payload) = row.get("payload")?;
        Ok(Self {
            id: row.get("id")?,
            space_id: row.get("space_id")?,
            owner_id: row.get("owner_id")?,
            event_type: row.get("event_type")?,
            payload,
            at: row.get("at")?,
        })
    }
}

pub fn insert(tx: &mut Tx<'_>, transition: &TransitionRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO space_transitions (id, space_id, owner_id, event_type, payload, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            transition.id,
            transition.space_id,
            transition.owner_id,
            &transition.event_type,
            Json(&transition.payload),
            transition.at
        ],
    )?;
    Ok(())
}

/// A space's history, oldest first.
pub fn list(
    tx: &mut Tx<'_>,
    space: SpaceId,
    page: PageRequest,
) -> Result<Page<TransitionRow>, StoreError> {
    let rows = tx.query(
        "SELECT id, space_id, owner_id, event_type, payload, at FROM space_transitions
         WHERE space_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        values![space, page.after(), page.limit()],
    )?;
    let transitions = rows
        .iter()
        .map(TransitionRow::read)
        .collect::<Result<_, _>>()?;
    Ok(page.page(transitions, |transition: &TransitionRow| transition.id.0))
}
