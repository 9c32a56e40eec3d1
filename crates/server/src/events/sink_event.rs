//! Events about sinks: failing, recovered, paused, dropping.

use serde_json::{Map, Value, json};
use svc_core::{
    EventId, SpaceId, Timestamp,
    event::{Actor, Event, SINK_EVENTS},
    json_text::JsonText,
};
use svc_store::sinks::SinkRow;
use uuid::Uuid;

/// An event about a sink; `detail` adds members to its data.
pub(super) fn sink_event(sink: &SinkRow, state: &str, detail: Value, now: Timestamp) -> Event {
    let mut data = Map::new();
    data.insert("sink_id".into(), json!(sink.id));
    data.insert("name".into(), json!(sink.name));
    data.insert("global".into(), json!(sink.is_global()));
    if let Value::Object(detail) = detail {
        data.extend(detail);
    }
    Event {
        id: EventId(Uuid::now_v7()),
        r#type: format!("{SINK_EVENTS}{state}"),
        ts: now,
        owner_id: sink.owner_id,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&Value::Object(data)),
        trace: None,
    }
}
