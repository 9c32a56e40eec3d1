//! Sample events, for tests of templates, receivers and scripts. Samples are never stored.

use std::collections::BTreeMap;

use serde_json::{Value, json, value::RawValue};

use super::{Actor, ActorKind, EmitError, Event, EventSpace, check_payload};
use crate::{
    id::{EventId, ServerId, SpaceId, UserId},
    json_text::JsonText,
    pattern::is_event_type,
    space::{Health, Subject, Transition},
    timestamp::Timestamp,
};

const TYPE: &str = "custom.test";
const SPACE_NAME: &str = "lab";

/// A sample event without an owner.
pub fn event(id: EventId, at: Timestamp) -> Event {
    Event {
        id,
        r#type: TYPE.to_owned(),
        ts: at,
        owner_id: UserId::NIL,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&json!({})),
        trace: None,
    }
}

/// A sample event as if `user` had emitted it. No prefix is added to the type, so that users can
/// try system events.
pub fn event_by(
    user: UserId,
    username: &str,
    event_type: Option<String>,
    data: Option<&RawValue>,
    id: EventId,
    at: Timestamp,
) -> Result<Event, EmitError> {
    let event_type = event_type.unwrap_or_else(|| TYPE.to_owned());
    // The length limit applies to the type without its prefix.
    let bare = event_type.strip_prefix("custom.").unwrap_or(&event_type);
    if !is_event_type(bare) {
        return Err(EmitError::Type(event_type.chars().take(128).collect()));
    }
    let data = match data {
        Some(data) => check_payload(data)?,
        None => {
            let data = system_data(&event_type, at);
            JsonText::from(&data.unwrap_or_else(|| json!({"message": "a test of this sink"})))
        }
    };
    Ok(Event {
        r#type: event_type,
        owner_id: user,
        actor: Actor {
            id: Some(user),
            username: username.to_owned(),
            kind: ActorKind::User,
        },
        data,
        ..event(id, at)
    })
}

/// The space of a sample event. It has a name if the sample is a system event.
pub fn space_of(event: &Event) -> EventSpace {
    let mut space = EventSpace::without_record(SpaceId::NIL);
    if system_data(&event.r#type, event.ts).is_some() {
        SPACE_NAME.clone_into(&mut space.name);
    }
    space
}

/// Sample data of a system event (spec 6.1); `None` if `event_type` is not a system event.
fn system_data(event_type: &str, at: Timestamp) -> Option<Value> {
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

    const AT: Timestamp = Timestamp(0);

    #[test]
    fn s6_1_samples_of_system_events_have_their_fields() {
        let data = system_data("space.unhealthy", AT).expect("a system event");
        assert_eq!(data["consecutive_failures"], 3);
        let data = system_data("space.created", AT).expect("a system event");
        assert!(data.get("startup_script_id").is_some_and(Value::is_null));
        assert_eq!(system_data("custom.space.created", AT), None);
    }
}
