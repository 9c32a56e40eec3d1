//! Lists the receivers of an event: those that have a delivery of the event, and those that dropped
//! the event.

use std::collections::HashMap;

use svc_core::{LaneId, event::Event};
use svc_protocol::api::{Attempt, DeliveryState, EventReceiver};

use super::{
    error::StoreError,
    sinks::owner_of,
    sql::{FromRow, Row, Tx},
    value::Value,
};

/// The maximum number of listed deliveries of one event, and of listed drops.
const DELIVERIES_MAX: u32 = 500;

/// The maximum number of bytes of receivers' answers (`output`) that are listed with an event.
/// Further attempts are listed without their answers.
const OUTPUT_BYTES_MAX: u32 = 1024 * 1024;

/// Which receivers of an event a user manages, and whether the user also sees the other receivers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Whether the user manages the methods that received the event. All these methods belong to
    /// the owner of the event.
    pub methods: bool,
    /// Owners of the sinks that the user manages: values of
    /// [`sinks::owner_key`](super::sinks::owner_key).
    pub sinks_of: Vec<String>,
    pub sees_all: bool,
}

/// One receiver of an event.
pub struct Received {
    pub receiver: EventReceiver,
    /// Number and state of the delivery; `None` if the event was dropped.
    pub delivery: Option<(u64, DeliveryState)>,
    /// `None` if the user who asks does not manage the receiver.
    pub attempts: Option<Vec<Attempt>>,
}

impl Reach {
    /// The SQL condition for managed receivers. `is_method` is the condition for methods; `s` is
    /// the table of sinks.
    fn managed(&self, is_method: &str, values: &mut Vec<Value>) -> String {
        let mut alternatives = Vec::new();
        if self.methods {
            alternatives.push(is_method.to_owned());
        }
        for key in &self.sinks_of {
            values.push(key.into());
            alternatives.push(format!("s.owner_key = ?{}", values.len()));
        }
        if alternatives.is_empty() {
            return "1 = 0".to_owned();
        }
        format!("({})", alternatives.join(" OR "))
    }

    /// The SQL condition for listed receivers. The condition applies before any limit, so that only
    /// listed receivers count towards the limit.
    fn shown(&self, is_method: &str, values: &mut Vec<Value>) -> String {
        if self.sees_all {
            return "1 = 1".to_owned();
        }
        self.managed(is_method, values)
    }

    fn manages(&self, receiver: &EventReceiver, owner_key: Option<&String>) -> bool {
        match receiver {
            EventReceiver::Method { .. } => self.methods,
            EventReceiver::Sink { .. } => owner_key.is_some_and(|key| self.sinks_of.contains(key)),
        }
    }
}

/// Deliveries in the order of their lanes, then drops. A receiver that got the event several times
/// occurs several times.
pub fn list(tx: &mut Tx<'_>, event: &Event, reach: &Reach) -> Result<Vec<Received>, StoreError> {
    let mut values = vec![event.id.into(), DELIVERIES_MAX.into()];
    let shown = reach.shown(IS_METHOD_LANE, &mut values);
    let rows = tx.query(
        &format!(
            "SELECT d.lane_id AS lane_id, d.n AS n, d.state AS state, l.owner_id AS owner_id,
                    l.method AS method, s.id AS sink_id, s.name AS name, s.owner_key AS owner_key
             {DELIVERIES} AND {shown} ORDER BY d.lane_id, d.n LIMIT ?2"
        ),
        &values,
    )?;
    let mut attempts = list_attempts(tx, event, reach)?;
    let mut received = Vec::new();
    for row in &rows {
        let (receiver, is_managed) = receiver(row, reach)?;
        let delivery = (row.get("lane_id")?, row.get("n")?);
        let made = attempts.remove(&delivery).unwrap_or_default();
        received.push(Received {
            receiver,
            delivery: Some((delivery.1, row.get("state")?)),
            attempts: is_managed.then_some(made),
        });
    }
    received.extend(list_dropped(tx, event, reach)?);
    Ok(received)
}

const DELIVERIES: &str =
    "FROM deliveries d JOIN lanes l ON l.id = d.lane_id AND l.removed_from IS NULL
             LEFT JOIN event_sinks s ON s.id = l.sink_id
             WHERE d.event_id = ?1";
const IS_METHOD_LANE: &str = "l.method IS NOT NULL";

/// The attempts of the managed receivers by lane and number, in one statement.
fn list_attempts(
    tx: &mut Tx<'_>,
    event: &Event,
    reach: &Reach,
) -> Result<HashMap<(LaneId, u64), Vec<Attempt>>, StoreError> {
    let mut values = vec![event.id.into(), DELIVERIES_MAX.into()];
    let managed = reach.managed(IS_METHOD_LANE, &mut values);
    let mut made: HashMap<_, Vec<_>> = HashMap::new();
    for row in tx.query(
        &format!(
            "SELECT a.lane_id AS lane_id, a.n AS n, a.at AS at, a.status AS status, a.ms AS ms,
                    a.error AS error,
                    CASE WHEN sized.bytes <= {OUTPUT_BYTES_MAX} THEN a.output END AS output,
                    a.output_omitted AS output_omitted, CAST(NULL AS TEXT) AS exchange
             FROM (SELECT a.lane_id AS lane_id, a.n AS n, a.attempt AS attempt,
                       SUM(COALESCE(octet_length(a.output), 0))
                           OVER (ORDER BY a.lane_id, a.n, a.attempt) AS bytes
                   FROM (SELECT d.lane_id AS lane_id, d.n AS n {DELIVERIES} AND {managed}
                         ORDER BY d.lane_id, d.n LIMIT ?2) AS m
                   JOIN attempts a ON a.lane_id = m.lane_id AND a.n = m.n) AS sized
             JOIN attempts a ON a.lane_id = sized.lane_id AND a.n = sized.n
                 AND a.attempt = sized.attempt
             ORDER BY a.lane_id, a.n, a.attempt"
        ),
        &values,
    )? {
        let delivery = (row.get("lane_id")?, row.get("n")?);
        made.entry(delivery).or_default().push(Attempt::read(&row)?);
    }
    Ok(made)
}

/// The receiver of a row, and whether the user manages it.
fn receiver(row: &Row, reach: &Reach) -> Result<(EventReceiver, bool), StoreError> {
    let owner_id = row.get("owner_id")?;
    let owner_key: Option<String> = row.get("owner_key")?;
    let receiver = match row.get("method")? {
        Some(name) => EventReceiver::Method { name, owner_id },
        None => EventReceiver::Sink {
            id: row.get("sink_id")?,
            name: row.get("name")?,
            owner: owner_of(owner_key.as_deref().unwrap_or_default()),
            owner_id,
        },
    };
    let is_managed = reach.manages(&receiver, owner_key.as_ref());
    Ok((receiver, is_managed))
}

/// Lists the receivers that dropped an event because their queues were full. Only the audit log
/// records which event was dropped. Deleted sinks are left out.
fn list_dropped(
    tx: &mut Tx<'_>,
    event: &Event,
    reach: &Reach,
) -> Result<Vec<Received>, StoreError> {
    let mut values = vec![
        event.id.into(),
        event.owner_id.into(),
        DELIVERIES_MAX.into(),
    ];
    let shown = reach.shown("a.target_type <> 'event_sink'", &mut values);
    let rows = tx.query(
        &format!("{DROPPED} AND {shown} ORDER BY a.id LIMIT ?3"),
        &values,
    )?;
    let mut dropped = Vec::new();
    for row in &rows {
        let (receiver, is_managed) = receiver(row, reach)?;
        dropped.push(Received {
            receiver,
            delivery: None,
            attempts: is_managed.then(Vec::new),
        });
    }
    Ok(dropped)
}

const DROPPED: &str = "SELECT COALESCE(s.owner_id, ?2) AS owner_id,
            CASE WHEN a.target_type <> 'event_sink' THEN a.target_id END AS method,
            s.id AS sink_id, s.name AS name, s.owner_key AS owner_key
     FROM audit a LEFT JOIN event_sinks s ON a.target_type = 'event_sink' AND s.id = a.target_id
     WHERE a.event_id = ?1 AND (a.target_type <> 'event_sink' OR s.id IS NOT NULL)";

#[cfg(test)]
mod tests;
