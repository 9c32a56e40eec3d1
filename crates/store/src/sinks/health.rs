//! The health of sinks, for an overview: their number, and those whose deliveries fail.

use svc_core::LaneId;
use svc_protocol::api::{DeliveryState, FailingSink, SinkCounts, SinkOwner};

use super::GLOBAL;
use crate::{
    conditions::Conditions,
    deliveries,
    error::StoreError,
    sql::{FromRow, Row, Tx},
};

/// Counts the sinks of these owners, or of all; `failing` is left empty.
pub fn counts(tx: &mut Tx<'_>, owner_keys: Option<&Vec<String>>) -> Result<SinkCounts, StoreError> {
    let mut conditions = Conditions::default();
    if let Some(keys) = owner_keys {
        conditions.add_in("s.owner_key", keys);
    }
    tx.get(
        &format!(
            "SELECT COUNT(*) AS total,
                    CAST(COALESCE(SUM(s.active), 0) AS BIGINT) AS active,
                    CAST(COALESCE(SUM(l.depth), 0) AS BIGINT) AS queued,
                    CAST(COALESCE(SUM(l.dropped), 0) AS BIGINT) AS dropped
             FROM event_sinks s LEFT JOIN lanes l ON l.sink_id = s.id {}",
            conditions.where_clause()
        ),
        &conditions.values,
    )
}

impl FromRow for SinkCounts {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            total: row.get("total")?,
            active: row.get("active")?,
            queued: row.get("queued")?,
            dropped: row.get("dropped")?,
            failing: Vec::new(),
        })
    }
}

/// The active sinks of these owners whose newest finished delivery is dead, or whose next delivery
/// has failed at least once.
pub fn list_failing(
    tx: &mut Tx<'_>,
    owner_keys: &[String],
) -> Result<Vec<FailingSink>, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_in("s.owner_key", owner_keys);
    let rows = tx.query(
        &format!(
            "SELECT s.id AS id, s.name AS name, s.owner_key AS owner_key, l.id AS lane_id,
                    l.failures AS failures
             FROM event_sinks s JOIN lanes l ON l.sink_id = s.id
             WHERE {} AND s.active = 1
               AND (l.failures > 0 OR 'dead' = (
                   SELECT d.state FROM deliveries d
                   WHERE d.lane_id = l.id AND d.finished_at IS NOT NULL
                   ORDER BY d.n DESC LIMIT 1))
             ORDER BY s.id",
            conditions.sql
        ),
        &conditions.values,
    )?;
    let mut failing = Vec::new();
    for row in &rows {
        failing.extend(find_failing(tx, row)?);
    }
    Ok(failing)
}

/// The failing delivery of a sink, as `list_failing` found it.
fn find_failing(tx: &mut Tx<'_>, row: &Row) -> Result<Option<FailingSink>, StoreError> {
    let lane: LaneId = row.get("lane_id")?;
    let is_retried = row.get::<u32>("failures")? > 0;
    let waiting = if is_retried {
        deliveries::find_head(tx, lane)?
    } else {
        None
    };
    let (state, event_type, at, error) = match waiting {
        Some(head) => {
            let delivery = deliveries::find(tx, lane, head.n)?;
            let attempt = delivery.and_then(|delivery| delivery.attempts.into_iter().last());
            let (at, error) = attempt.map(|attempt| (attempt.at, attempt.error)).unzip();
            (DeliveryState::Pending, head.event_type, at, error.flatten())
        }
        None => match deliveries::last(tx, lane)? {
            Some(last) if last.state == DeliveryState::Dead => {
                (last.state, last.event_type, Some(last.at), last.error)
            }
            _ => return Ok(None),
        },
    };
    let owner = match row.get::<String>("owner_key")?.as_str() {
        GLOBAL => SinkOwner::Global,
        _ => SinkOwner::User,
    };
    Ok(Some(FailingSink {
        id: row.get("id")?,
        name: row.get("name")?,
        owner,
        state,
        event_type,
        error,
        at,
    }))
}
