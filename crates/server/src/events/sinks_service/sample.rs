//! Events that never happened, to try a template or a receiver with.

use serde_json::{Value, json};
use svc_core::{
    EventId, SpaceId, UserId,
    event::{Actor, ActorKind, EmitError, Event, check_payload},
    pattern::is_event_type,
};
use uuid::Uuid;

use crate::{clock, identity::User};

const TYPE: &str = "custom.test";

/// An event nobody emitted.
pub fn made_up() -> Event {
    Event {
        id: EventId(Uuid::now_v7()),
        r#type: TYPE.to_owned(),
        ts: clock::now(),
        owner_id: UserId::NIL,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: json!({}),
    }
}

/// An event as if a user had emitted it; the type as given, so that system events can be tried.
pub fn made_up_by(
    user: &User,
    event_type: Option<String>,
    data: Option<Value>,
) -> Result<Event, EmitError> {
    let event_type = event_type.unwrap_or_else(|| TYPE.to_owned());
    // Stored types are longer than emitted ones by the prefix.
    let bare = event_type.strip_prefix("custom.").unwrap_or(&event_type);
    if !is_event_type(bare) {
        return Err(EmitError::Type(event_type.chars().take(128).collect()));
    }
    let data = data.unwrap_or_else(|| json!({"message": "a test of this sink"}));
    check_payload(&data)?;
    Ok(Event {
        r#type: event_type,
        owner_id: user.id,
        actor: Actor {
            id: Some(user.id),
            username: user.name.to_string(),
            kind: ActorKind::User,
        },
        data,
        ..made_up()
    })
}
