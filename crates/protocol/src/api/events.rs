//! Bodies of `/api/events`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use svc_core::{
    EventId, SinkId, SpaceId, Timestamp, UserId,
    event::{Actor, Event},
    json_text::JsonText,
    pattern::{EVENT_TYPE_MAX, EVENT_TYPE_PATTERN},
};

use super::{Attempt, DeliveryState, SinkOwner};

/// `POST /api/events/emit`, and the agent's `POST /event`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"type": "backup.done", "payload": {"files": 3}}))]
pub struct Emit {
    /// Segments joined by dots. The server prepends `custom.`.
    #[schemars(length(min = 1, max = EVENT_TYPE_MAX), regex(pattern = EVENT_TYPE_PATTERN))]
    pub r#type: String,
    /// At most 256 KiB of JSON.
    #[serde(default = "empty_object")]
    #[schemars(with = "Map<String, Value>")]
    pub payload: Box<RawValue>,
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an object is JSON")
}

/// Answer to [`Emit`], with status 202.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EmittedEvent {
    pub event_id: EventId,
    pub event_type: String,
}

/// `GET /api/events`, newest first; filters: [`EventQuery`]. With `actor` or `text`, a page may
/// have few or no events and still a cursor, because one request reads a limited number of events.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    pub events: Vec<EventRecord>,
    pub next_cursor: Option<String>,
}

/// An event in the history and in the stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    pub event_id: EventId,
    pub event_type: String,
    pub event_ts: Timestamp,
    pub owner_id: UserId,
    /// The nil UUID for an event without a space.
    pub space_id: SpaceId,
    pub actor: Actor,
    #[schemars(with = "Map<String, Value>")]
    pub data: JsonText,
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

/// `GET /api/events/{id}/deliveries`: the deliveries of an event to the receivers that the caller
/// manages; with `view_audit`, to all receivers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventDeliveries {
    pub deliveries: Vec<EventDelivery>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventDelivery {
    pub receiver: EventReceiver,
    /// Number of the delivery, counted per receiver; null for an event that was dropped.
    pub n: Option<u64>,
    pub state: EventDeliveryState,
    /// Null if the caller does not manage the receiver. Null for a global sink also if the caller
    /// lacks a permission of the user who created the sink.
    pub attempts: Option<Vec<Attempt>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum EventReceiver {
    Sink {
        id: SinkId,
        name: String,
        owner: SinkOwner,
        owner_id: UserId,
    },
    /// `name` is the canonical name.
    Method { name: String, owner_id: UserId },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventDeliveryState {
    Pending,
    Delivered,
    Dead,
    /// The receiver's queue was full.
    Dropped,
}

impl From<DeliveryState> for EventDeliveryState {
    fn from(state: DeliveryState) -> Self {
        match state {
            DeliveryState::Pending => Self::Pending,
            DeliveryState::Delivered => Self::Delivered,
            DeliveryState::Dead => Self::Dead,
        }
    }
}

/// `GET /api/events/histogram`: the number of events in each of the equal parts of a time span.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventHistogram {
    /// The start of the first part. Without `since` in the query: the time of the oldest counted event.
    pub since: Timestamp,
    pub until: Timestamp,
    /// Oldest first.
    pub counts: Vec<u64>,
    pub total: u64,
    /// Events before this time are not counted, because there are too many; null if all are counted.
    pub counted_since: Option<Timestamp>,
}

/// Query parameters of `GET /api/events`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct EventQuery {
    /// Patterns, separated by commas.
    pub r#type: Option<String>,
    pub space_id: Option<SpaceId>,
    /// Only events that were stored at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only events that were stored at this time or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The name of the user who emitted the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// A text that the JSON text of the payload contains. Upper and lower case are not
    /// distinguished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = SEARCH_TEXT_MAX))]
    pub text: Option<String>,
}

/// The maximum length of a text to search for, in bytes.
pub const SEARCH_TEXT_MAX: usize = 200;
