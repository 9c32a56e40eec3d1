//! The event as a sink's script sees it.

use std::collections::BTreeMap;

use serde_json::json;
use svc_core::event::{Event, EventSpace};

/// The JSON of `svc.event` in a sink's script.
pub fn event_json(
    event: &Event,
    space: Option<&EventSpace>,
    custom: &BTreeMap<String, String>,
) -> String {
    json!({
        "id": event.id,
        "type": event.r#type,
        "ts": event.ts,
        "data": event.data,
        "space": space,
        "actor": event.actor,
        "custom": custom,
    })
    .to_string()
}
