//! An event's receivers, whoever they belong to: what was queued for them, and what was dropped.

use svc_core::{LaneId, Timestamp, event::Event};
use svc_protocol::api::{Delivery, EventReceiver, SinkOwner};

use super::{
    deliveries,
    error::StoreError,
    events::first_id_at,
    sinks::{self, GLOBAL},
    sql::{Row, Tx, values},
    value::Json,
};

/// How many deliveries of one event are shown.
const DELIVERIES_MAX: u32 = 500;
/// An entry of the audit log is written at most this long after its event was made.
const AUDIT_AFTER_MS: i64 = 10 * 60 * 1_000;

/// One receiver of an event.
pub struct Received {
    pub receiver: EventReceiver,
    /// `None` if it was dropped.
    pub delivery: Option<Delivery>,
}

/// In the order of the receivers; a receiver that had the event again stands there again.
pub fn list(tx: &mut Tx<'_>, event: &Event) -> Result<Vec<Received>, StoreError> {
    let rows = tx.query(
        "SELECT d.lane_id AS lane_id, d.n AS n, l.owner_key AS owner_key, l.owner_id AS owner_id,
                l.method AS method, l.sink_id AS sink_id, s.name AS name
         FROM deliveries d JOIN lanes l ON l.id = d.lane_id
         LEFT JOIN event_sinks s ON s.id = l.sink_id
         WHERE d.event_id = ?1 ORDER BY d.lane_id, d.n LIMIT ?2",
        values![event.id, DELIVERIES_MAX],
    )?;
    let mut received = Vec::new();
    for row in &rows {
        let lane: LaneId = row.get("lane_id")?;
        received.push(Received {
            receiver: receiver(row)?,
            delivery: deliveries::find(tx, lane, row.get("n")?)?,
        });
    }
    received.extend(list_dropped(tx, event)?);
    Ok(received)
}

fn receiver(row: &Row) -> Result<EventReceiver, StoreError> {
    let owner_id = row.get("owner_id")?;
    Ok(match row.get("method")? {
        Some(name) => EventReceiver::Method { name, owner_id },
        None => EventReceiver::Sink {
            id: row.get("sink_id")?,
            name: row.get("name")?,
            owner: owner(&row.get::<String>("owner_key")?),
            owner_id,
        },
    })
}

fn owner(owner_key: &str) -> SinkOwner {
    match owner_key {
        GLOBAL => SinkOwner::Global,
        _ => SinkOwner::User,
    }
}

/// A full queue leaves nothing but an entry in the audit log, written with the event.
fn list_dropped(tx: &mut Tx<'_>, event: &Event) -> Result<Vec<Received>, StoreError> {
    let until = Timestamp(event.ts.0.saturating_add(AUDIT_AFTER_MS));
    let rows = tx.query(
        "SELECT target_type, target_id, detail FROM audit
         WHERE action = 'event_sink.dropped' AND id >= ?1 AND id < ?2 AND at = ?3
         ORDER BY id LIMIT ?4",
        values![
            first_id_at(event.ts),
            first_id_at(until),
            event.ts,
            DELIVERIES_MAX
        ],
    )?;
    let event_id = event.id.to_string();
    let mut dropped = Vec::new();
    for row in &rows {
        let Json::<serde_json::Value>(detail) = row.get("detail")?;
        if detail["event_id"] != event_id.as_str() {
            continue;
        }
        let target: String = row.get("target_id")?;
        let receiver = match row.get::<String>("target_type")?.as_str() {
            "event_sink" => dropped_at_sink(tx, &target)?,
            _ => Some(EventReceiver::Method {
                name: target,
                owner_id: event.owner_id,
            }),
        };
        dropped.extend(receiver.map(|receiver| Received {
            receiver,
            delivery: None,
        }));
    }
    Ok(dropped)
}

/// `None` for a sink that is gone.
fn dropped_at_sink(tx: &mut Tx<'_>, id: &str) -> Result<Option<EventReceiver>, StoreError> {
    let Ok(id) = id.parse() else { return Ok(None) };
    let sink = sinks::find(tx, id)?;
    Ok(sink.map(|sink| EventReceiver::Sink {
        id: sink.id,
        owner: owner(&sink.owner_key),
        name: sink.name,
        owner_id: sink.owner_id,
    }))
}
