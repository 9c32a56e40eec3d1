//! The event as a sink's script sees it, and sample events for trials.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use svc_core::{
    EventId, Timestamp,
    event::{Actor, Event, EventSpace, sample},
    json_text::JsonText,
};
use uuid::Uuid;

use crate::{identity::Caller, records::RecordError};

/// An event by the caller that is not stored. Without `event_type` or `data`, it has those of a
/// typical event.
pub fn sample_event(
    caller: &Caller,
    event_type: Option<String>,
    data: Option<&RawValue>,
) -> Result<Event, RecordError> {
    let (user, id, now) = (&caller.user, EventId(Uuid::now_v7()), svc_clock::now());
    sample::event_by(user.id, user.name.as_str(), event_type, data, id, now)
        .map_err(|error| RecordError::new("invalid_event", error.to_string()))
}

/// The JSON of `svc.event` in a sink's script.
pub fn event_json(event: &Event, space: &EventSpace, custom: &BTreeMap<String, String>) -> String {
    #[derive(Serialize)]
    struct ScriptEvent<'a> {
        id: EventId,
        r#type: &'a str,
        ts: Timestamp,
        data: &'a JsonText,
        space: &'a EventSpace,
        actor: &'a Actor,
        custom: &'a BTreeMap<String, String>,
    }
    let event = ScriptEvent {
        id: event.id,
        r#type: &event.r#type,
        ts: event.ts,
        data: &event.data,
        space,
        actor: &event.actor,
        custom,
    };
    serde_json::to_string(&event).expect("an event is always JSON")
}
