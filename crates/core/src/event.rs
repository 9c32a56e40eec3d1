//! Events: rules for the types and payloads that users emit, the owner and the actor, the default
//! body.

pub mod sample;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::{
    id::{EventId, SpaceId, UserId},
    json_text::{JsonText, JsonTextError},
    pattern::{EVENT_TYPE_MAX, is_event_type},
    timestamp::Timestamp,
    trace::TraceContext,
};

/// Largest payload, in bytes of JSON.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// Prefix of every type that a user emits, so that no user can fake a system event (spec 6.2).
const CUSTOM_PREFIX: &str = "custom.";

/// Prefix of the types of events about sinks.
pub const SINK_EVENTS: &str = "sink.";

/// An event as it is stored and delivered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    pub id: EventId,
    pub r#type: String,
    pub ts: Timestamp,
    /// The user whose sinks and methods receive the event; global sinks receive it too.
    pub owner_id: UserId,
    /// The nil id for an event without a space.
    pub space_id: SpaceId,
    pub actor: Actor,
    pub data: JsonText,
    /// The trace of the emit. Deliveries continue this trace.
    #[serde(skip)]
    pub trace: Option<Box<TraceContext>>,
}

/// The cause of an event: a user, an agent or the server itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    pub id: Option<UserId>,
    pub username: String,
    pub kind: ActorKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    User,
    Agent,
    System,
}

impl Actor {
    /// The actor of events that no user or agent caused.
    pub fn system() -> Self {
        Self {
            id: None,
            username: "system".to_owned(),
            kind: ActorKind::System,
        }
    }
}

/// The space of an event, as templates and scripts see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EventSpace {
    pub id: SpaceId,
    pub name: String,
    pub urls: BTreeMap<String, String>,
}

impl EventSpace {
    /// A space without a record: the space was removed, or the event has no space (the nil id).
    pub fn without_record(id: SpaceId) -> Self {
        Self {
            id,
            name: String::new(),
            urls: BTreeMap::new(),
        }
    }
}

impl Event {
    /// The default body of webhooks and the default params of subscribed methods (spec 2.2).
    pub fn default_body(&self) -> String {
        default_body(self.id, &self.r#type, self.ts, &self.data)
    }
}

/// The maximum size of a default body without its type and its payload, in bytes.
const BODY_EXTRA_BYTES: usize = 160;

pub fn default_body(id: EventId, r#type: &str, ts: Timestamp, data: &JsonText) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        event_id: EventId,
        event_type: &'a str,
        event_ts: Timestamp,
        data: &'a JsonText,
    }
    let body = Body {
        event_id: id,
        event_type: r#type,
        event_ts: ts,
        data,
    };
    // The size is reserved at once: a buffer that grows could end at twice the size of the payload.
    let mut text = Vec::with_capacity(data.as_str().len() + r#type.len() + BODY_EXTRA_BYTES);
    serde_json::to_writer(&mut text, &body).expect("an event is always JSON");
    String::from_utf8(text).expect("JSON is UTF-8")
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EmitError {
    #[error(
        "event type `{0}` must be segments of letters, digits, `_` or `-` joined by single dots, at most {EVENT_TYPE_MAX} characters"
    )]
    Type(String),
    #[error("the payload must be a JSON object, not {0}")]
    NotAnObject(&'static str),
    #[error("the payload has {0} bytes; at most {PAYLOAD_BYTES_MAX} are allowed")]
    TooLarge(usize),
    #[error("payload: {0}")]
    Json(#[from] JsonTextError),
}

/// The stored type of an event that a user emits: `custom.` is always prepended (spec 6.2).
pub fn custom_type(given: &str) -> Result<String, EmitError> {
    if !is_event_type(given) {
        return Err(EmitError::Type(
            given.chars().take(EVENT_TYPE_MAX).collect(),
        ));
    }
    Ok(format!("{CUSTOM_PREFIX}{given}"))
}

/// Checks the payload of an event that a user emits.
pub fn check_payload(payload: &RawValue) -> Result<JsonText, EmitError> {
    let payload = JsonText::parse(payload.get())?;
    check_data(&payload)?;
    Ok(payload)
}

/// Checks the data of an event.
pub fn check_data(payload: &JsonText) -> Result<(), EmitError> {
    if !payload.is_object() {
        return Err(EmitError::NotAnObject(payload.type_name()));
    }
    let bytes = payload.as_str().len();
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(EmitError::TooLarge(bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;

    #[test]
    fn s6_2_custom_is_always_prepended() {
        let check = |given, expected: &str| assert_eq!(custom_type(given).as_deref(), Ok(expected));
        check("build.done", "custom.build.done");
        check("space.created", "custom.space.created");
        check("custom.x", "custom.custom.x");
        for bad in ["", "a b", "a..b", "*"] {
            assert_eq!(custom_type(bad), Err(EmitError::Type(bad.to_owned())));
        }
        let longest = "x".repeat(128);
        check(&longest, &format!("custom.{longest}"));
        assert_eq!(
            custom_type(&"x".repeat(129)),
            Err(EmitError::Type(longest)),
            "the message shows the first 128 characters"
        );
    }

    #[test]
    fn s6_2_payloads_are_objects_of_limited_size() {
        let check = |payload: Value| check_payload(&to_raw_value(&payload).expect("JSON"));
        assert_eq!(check(json!({})).expect("an object").as_str(), "{}");
        for (bad, found) in [
            (json!([]), "an array"),
            (json!(1), "a number"),
            (json!(null), "null"),
            (json!("x"), "a string"),
        ] {
            assert_eq!(check(bad).err(), Some(EmitError::NotAnObject(found)));
        }
        let of_size = |bytes: usize| json!({"x": "y".repeat(bytes - r#"{"x":""}"#.len())});
        let largest = check(of_size(262_144)).expect("256 KiB are allowed");
        assert_eq!(largest.as_str().len(), 262_144);
        assert_eq!(
            check(of_size(262_145)).err().map(|error| error.to_string()),
            Some("the payload has 262145 bytes; at most 262144 are allowed".to_owned())
        );
    }

    #[test]
    fn s2_2_the_default_body_has_exactly_these_fields() {
        let event = Event {
            id: EventId::NIL,
            r#type: "custom.x".into(),
            ts: Timestamp(0),
            owner_id: UserId::NIL,
            space_id: SpaceId::NIL,
            actor: Actor::system(),
            data: JsonText::parse(r#"{"a": 18446744073709551616}"#).expect("JSON"),
            trace: None,
        };
        let body = event.default_body();
        assert_eq!(
            body,
            r#"{"event_id":"00000000-0000-0000-0000-000000000000","event_type":"custom.x","event_ts":"1970-01-01T00:00:00.000Z","data":{"a":18446744073709551616}}"#
        );
    }

    #[test]
    fn the_actor_system_has_no_id() {
        assert_eq!(
            serde_json::to_value(Actor::system()).expect("JSON"),
            json!({"id": null, "username": "system", "kind": "system"})
        );
    }

    #[test]
    fn a_space_without_a_record_has_an_id_but_no_name_and_no_urls() {
        assert_eq!(
            serde_json::to_value(EventSpace::without_record(SpaceId::NIL)).expect("JSON"),
            json!({"id": SpaceId::NIL, "name": "", "urls": {}})
        );
    }
}
