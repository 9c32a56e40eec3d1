//! Bodies of `/api/events`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_core::{
    EventId, SpaceId, Timestamp, UserId,
    event::{Actor, Event},
};

/// `POST /api/events/emit`, and the agent's `POST /event`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    pub r#type: String,
    #[serde(default = "empty_object")]
    pub payload: Value,
}

fn empty_object() -> Value {
    Value::Object(serde_json::Map::new())
}

/// 202
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Emitted {
    pub event_id: EventId,
    pub event_type: String,
}

/// `GET /api/events`, newest first; filters `?type=` (a pattern), `?space_id=`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Events {
    pub events: Vec<EventRecord>,
    pub next_cursor: Option<String>,
}

/// An event as the history and the stream show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventRecord {
    pub event_id: EventId,
    pub event_type: String,
    pub event_ts: Timestamp,
    pub owner_id: UserId,
    pub space_id: SpaceId,
    pub actor: Actor,
    pub data: Value,
}

impl From<Event> for EventRecord {
    fn from(event: Event) -> Self {
        Self {
            event_id: event.id,
            event_type: event.r#type,
            event_ts: event.ts,
            owner_id: event.owner_id,
            space_id: event.space_id,
            actor: event.actor,
            data: event.data,
        }
    }
}
