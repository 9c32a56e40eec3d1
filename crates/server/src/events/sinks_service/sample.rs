//! Events that never happened, to try a template or a receiver with.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use svc_core::{
    EventId, ServerId, SpaceId, UserId,
    event::{Actor, ActorKind, EmitError, Event, check_payload},
    pattern::is_event_type,
    space::{Health, Subject, Transition},
};
use uuid::Uuid;

use crate::{events::template::SpaceScope, identity::User};

const TYPE: &str = "custom.test";
const SPACE_NAME: &str = "lab";

/// An event nobody emitted.
pub fn made_up() -> Event {
    Event {
        id: EventId(Uuid::now_v7()),
        r#type: TYPE.to_owned(),
        ts: svc_clock::now(),
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
    let data = data.or_else(|| system_data(&event_type));
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

/// The space that a made-up system event is about. Every one that happened is of a real space.
pub fn space_of(event: &Event) -> Option<SpaceScope> {
    system_data(&event.r#type).map(|_| SpaceScope {
        id: SpaceId::NIL,
        name: SPACE_NAME.to_owned(),
        urls: BTreeMap::new(),
    })
}

/// What a system event of this type carries (spec 6.1).
fn system_data(event_type: &str) -> Option<Value> {
    let at = svc_clock::now();
    let health = |previous, current| Transition::HealthChanged {
        previous,
        current,
        consecutive_failures: 3,
        at,
    };
    let transitions = [
        Transition::Created {
            template_id: None,
            startup_script_id: None,
        },
        Transition::Started {
            node_id: ServerId::NIL,
            at,
        },
        Transition::Stopped { at },
        Transition::Deleted { at },
        health(Health::Unhealthy, Health::Healthy),
        health(Health::Healthy, Health::Unhealthy),
    ];
    let subject = Subject {
        id: SpaceId::NIL,
        name: SPACE_NAME,
        urls: &BTreeMap::new(),
    };
    transitions
        .iter()
        .find(|transition| transition.event_type() == event_type)
        .map(|transition| transition.payload(&subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_events_are_made_up_with_their_fields() {
        let data = system_data("space.unhealthy").expect("a system event");
        assert_eq!(data["consecutive_failures"], 3);
        let data = system_data("space.created").expect("a system event");
        assert!(data.get("startup_script_id").is_some_and(Value::is_null));
        assert_eq!(system_data("custom.space.created"), None);
    }
}
