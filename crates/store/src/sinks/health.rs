//! The health of sinks, for an overview: their number, and those whose deliveries fail.

#[cfg(test)]
mod tests;

use svc_core::{LaneId, lane::SinkHealth};
use svc_protocol::api::{DeliveryState, FailingSink, SinkCounts};

use super::{SinkRow, SinkStatus, row::owner_of};
use crate::{
    conditions::Conditions,
    deliveries,
    error::StoreError,
    lanes::HEALTH_WINDOW,
    sql::{FromRow, Row, Tx, values},
};

/// Counts the sinks of these owners, or of all; `failing` is left empty.
pub fn counts(tx: &mut Tx<'_>, owner_keys: Option<&Vec<String>>) -> Result<SinkCounts, StoreError> {
    let mut conditions = Conditions::default();
    if let Some(keys) = owner_keys {
        conditions.add_in("s.owner_key", keys);
    }
    tx.get(
        &format!(
            "SELECT COUNT(*) AS total, COUNT(s.paused) AS paused,
                    CAST(COALESCE(SUM(s.active), 0) AS BIGINT) AS active,
                    CAST(COALESCE(SUM(l.depth), 0) AS BIGINT) AS queued,
                    CAST(COALESCE(SUM(l.dropped), 0) AS BIGINT) AS dropped,
                    CAST(COALESCE(SUM(l.dropped - l.recovered), 0) AS BIGINT) AS lost
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
            paused: row.get("paused")?,
            queued: row.get("queued")?,
            dropped: row.get("dropped")?,
            lost: row.get("lost")?,
            failing: Vec::new(),
            failing_total: 0,
        })
    }
}

impl SinkStatus {
    /// Whether a person must look at the sink.
    pub fn needs_attention(&self, sink: &SinkRow) -> bool {
        let last = self.last_delivery.as_ref();
        let dead = last.filter(|last| last.state == DeliveryState::Dead);
        SinkHealth {
            active: sink.active,
            paused: sink.paused.is_some(),
            retrying: self.failures > 0,
            undelivered: self.lost > 0 || self.dead > 0,
            died_at: dead.map(|dead| dead.at),
            resending_since: self.feed_progress.iter().map(|feed| feed.since).min(),
        }
        .needs_attention()
    }
}

/// [`SinkHealth::needs_attention`] as a condition, because an overview counts the sinks of many
/// owners. A test compares both.
fn needs_attention() -> String {
    let unsent = unsent();
    format!(
        "(s.paused IS NOT NULL OR s.active = 1 AND (l.keyed = 0 AND l.failures > 0
           OR l.feeds = 0 AND (l.dropped > l.recovered OR {unsent} > 0)
           OR (l.keyed = 1 AND EXISTS (SELECT 1 FROM deliveries d
                WHERE d.lane_id = l.id AND d.state = 'pending' AND d.failures > 0))
           OR 1 = (SELECT CASE WHEN d.state <> 'dead' THEN 0 WHEN l.feeds = 0 THEN 1
                     WHEN d.finished_at > (SELECT COALESCE(MIN(f.started_at), 0)
                          FROM lane_feeds f WHERE f.lane_id = l.id) THEN 1
                     ELSE 0 END
                FROM deliveries d
                WHERE d.lane_id = l.id AND d.finished_at IS NOT NULL ORDER BY d.n DESC LIMIT 1)))"
    )
}

/// The number of dead deliveries of a lane that were not sent again, as `lanes::find_by_sink` counts
/// them.
fn unsent() -> String {
    format!(
        "(SELECT COUNT(*) FROM deliveries d WHERE d.lane_id = l.id
          AND d.n > l.tail - {HEALTH_WINDOW} AND d.state = 'dead' AND d.resent_as IS NULL)"
    )
}

/// The sinks of these owners that need attention, and their number. At most `limit` are listed, those that the
/// service paused first.
pub fn list_failing(
    tx: &mut Tx<'_>,
    owner_keys: &[String],
    limit: u32,
) -> Result<(Vec<FailingSink>, u64), StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_in("s.owner_key", owner_keys);
    let (owners, failing, unsent) = (&conditions.sql, needs_attention(), unsent());
    let rows = tx.query(
        &format!(
            "SELECT s.id AS id, s.name AS name, s.owner_key AS owner_key, s.paused AS paused,
                    l.id AS lane_id, l.depth AS depth, l.dropped - l.recovered AS lost,
                    CASE WHEN l.refill_from IS NULL THEN 0 ELSE 1 END AS held, {unsent} AS dead
             FROM event_sinks s JOIN lanes l ON l.sink_id = s.id
             WHERE {owners} AND {failing}
             ORDER BY CASE WHEN s.paused IS NULL THEN 1 ELSE 0 END, s.id LIMIT {limit}"
        ),
        &conditions.values,
    )?;
    let mut listed = Vec::new();
    for row in &rows {
        listed.push(find_failing(tx, row)?);
    }
    let mut total = listed.len() as u64;
    if rows.len() >= limit as usize {
        total = tx.get(
            &format!(
                "SELECT COUNT(*) FROM event_sinks s JOIN lanes l ON l.sink_id = s.id
                 WHERE {owners} AND {failing}"
            ),
            &conditions.values,
        )?;
    }
    Ok((listed, total))
}

/// A failing sink, with the delivery that is retried or its newest finished delivery.
fn find_failing(tx: &mut Tx<'_>, row: &Row) -> Result<FailingSink, StoreError> {
    let lane: LaneId = row.get("lane_id")?;
    let retried = match find_retried(tx, lane)? {
        Some(n) => deliveries::find(tx, lane, n)?,
        None => None,
    };
    let retried = retried.and_then(|delivery| {
        let attempt = delivery.attempts.into_iter().last()?;
        Some((delivery.event_type, attempt))
    });
    let (state, event_type, at, error) = match (retried, deliveries::last(tx, lane)?) {
        (Some((event_type, attempt)), _) => {
            let at = Some(attempt.at);
            (DeliveryState::Pending, event_type, at, attempt.error)
        }
        (None, Some(last)) => (last.state, last.event_type, Some(last.at), last.error),
        (None, None) => (DeliveryState::Pending, String::new(), None, None),
    };
    Ok(FailingSink {
        id: row.get("id")?,
        name: row.get("name")?,
        owner: owner_of(&row.get::<String>("owner_key")?),
        state,
        event_type,
        error,
        at,
        dead: row.get("dead")?,
        lost: row.get("lost")?,
        paused: row.get("paused")?,
        queue_depth: row.get("depth")?,
        held: row.get("held")?,
    })
}

/// The number of the delivery that may have failed: with `ordering = "key"`, the oldest one that has
/// failed, which need not be the head of the queue; else the head.
fn find_retried(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<u64>, StoreError> {
    let failed = tx.find(
        "SELECT n FROM deliveries
         WHERE lane_id = ?1 AND state = 'pending' AND failures > 0 ORDER BY n LIMIT 1",
        values![lane],
    )?;
    match failed {
        Some(n) => Ok(Some(n)),
        None => Ok(deliveries::find_head(tx, lane)?.map(|head| head.n)),
    }
}
