//! The event as a sink's script sees it.

use std::collections::BTreeMap;

use serde::Serialize;
use svc_core::{
    EventId, Timestamp,
    event::{Actor, Event, EventSpace},
    json_text::JsonText,
};

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
