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

    const USER: UserId = UserId(uuid::Uuid::from_u128(1));
    const ID: EventId = EventId(uuid::Uuid::from_u128(2));

    fn sample(event_type: Option<&str>, data: Option<&str>) -> Result<Event, EmitError> {
        let event_type = event_type.map(ToOwned::to_owned);
        let data = data.map(|text| RawValue::from_string(text.to_owned()).expect("JSON"));
        event_by(USER, "ann", event_type, data.as_deref(), ID, AT)
    }

    #[test]
    fn a_sample_without_a_type_is_a_custom_event_of_its_user() {
        let event = sample(None, None).expect("valid");
        assert_eq!(
            event,
            Event {
                id: ID,
                r#type: "custom.test".to_owned(),
                ts: AT,
                owner_id: USER,
                space_id: SpaceId::NIL,
                actor: Actor {
                    id: Some(USER),
                    username: "ann".to_owned(),
                    kind: ActorKind::User,
                },
                data: JsonText::from(&json!({"message": "a test of this sink"})),
                trace: None,
            }
        );
    }

    #[test]
    fn a_sample_without_an_owner_is_an_empty_event_of_the_system() {
        let event = event(ID, AT);
        assert_eq!((event.id, event.ts), (ID, AT));
        assert_eq!(event.r#type, "custom.test");
        assert_eq!(event.owner_id, UserId::NIL);
        assert_eq!(event.actor, Actor::system());
        assert_eq!(event.data.as_str(), "{}");
    }

    #[test]
    fn a_sample_keeps_the_type_and_the_data_that_the_user_gives() {
        for event_type in ["custom.build.done", "build.done", "space.created"] {
            let event = sample(Some(event_type), Some(r#"{"a":1}"#)).expect("valid");
            assert_eq!(event.r#type, event_type);
            assert_eq!(event.data.as_str(), r#"{"a":1}"#);
        }
        let system = sample(Some("space.stopped"), None).expect("valid");
        assert_eq!(
            serde_json::from_str::<Value>(system.data.as_str()).expect("JSON"),
            json!({"space_name": "lab", "space_id": SpaceId::NIL, "stopped_at": AT})
        );
    }

    #[test]
    fn samples_follow_the_rules_for_types_and_payloads() {
        let longest = "x".repeat(128);
        for valid in [longest.clone(), format!("custom.{longest}")] {
            assert_eq!(sample(Some(&valid), None).expect("valid").r#type, valid);
        }
        for (bad, shown) in [
            ("a b", "a b"),
            ("custom.", "custom."),
            (&format!("{longest}x"), &*longest),
        ] {
            assert_eq!(
                sample(Some(bad), None),
                Err(EmitError::Type(shown.to_owned()))
            );
        }
        assert_eq!(
            sample(None, Some("[]")),
            Err(EmitError::NotAnObject("an array"))
        );
    }

    #[test]
    fn only_samples_of_system_events_have_a_space_with_a_name() {
        for (event_type, name) in [("space.healthy", "lab"), ("custom.test", "")] {
            let event = sample(Some(event_type), None).expect("valid");
            let expected = EventSpace {
                id: SpaceId::NIL,
                name: name.to_owned(),
                urls: BTreeMap::new(),
            };
            assert_eq!(space_of(&event), expected, "{event_type}");
        }
    }
}
