//! Transitions of a space, and the system event of each (spec 6.1).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Health;
use crate::{
    id::{ServerId, SpaceId, TemplateId},
    timestamp::Timestamp,
};

/// A transition, with the values that its event reports (spec 6.1).
#[derive(Clone, PartialEq, Debug)]
pub enum Transition {
    Created {
        template_id: Option<TemplateId>,
        startup_script_id: Option<String>,
    },
    Started {
        node_id: ServerId,
        at: Timestamp,
    },
    Stopped {
        at: Timestamp,
    },
    Deleted {
        at: Timestamp,
    },
    HealthChanged {
        previous: Health,
        current: Health,
        consecutive_failures: u32,
        at: Timestamp,
    },
}

/// The space of a transition.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    pub id: SpaceId,
    pub name: &'a str,
    pub urls: &'a BTreeMap<String, String>,
}

impl Transition {
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Created { .. } => "space.created",
            Self::Started { .. } => "space.started",
            Self::Stopped { .. } => "space.stopped",
            Self::Deleted { .. } => "space.deleted",
            Self::HealthChanged {
                current: Health::Healthy,
                ..
            } => "space.healthy",
            Self::HealthChanged { .. } => "space.unhealthy",
        }
    }

    pub fn payload(&self, space: &Subject<'_>) -> Value {
        let (name, id, urls) = (space.name, space.id, space.urls);
        match self {
            Self::Created {
                template_id,
                startup_script_id,
            } => json!({
                "space_name": name, "space_id": id, "space_urls": urls,
                "template_id": template_id, "startup_script_id": startup_script_id,
            }),
            Self::Started { node_id, at } => json!({
                "space_name": name, "space_id": id, "space_urls": urls,
                "node_id": node_id, "started_at": at,
            }),
            Self::Stopped { at } => {
                json!({"space_name": name, "space_id": id, "stopped_at": at})
            }
            Self::Deleted { at } => {
                json!({"space_name": name, "space_id": id, "deleted_at": at})
            }
            Self::HealthChanged {
                previous,
                current: Health::Healthy,
                at,
                ..
            } => json!({
                "space_name": name, "space_id": id, "previous": previous,
                "current": Health::Healthy, "checked_at": at,
            }),
            Self::HealthChanged {
                previous,
                current,
                consecutive_failures,
                at,
            } => json!({
                "space_name": name, "space_id": id, "previous": previous, "current": current,
                "consecutive_failures": consecutive_failures, "checked_at": at,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_1_system_events_carry_exactly_their_fields() {
        let urls = BTreeMap::from([("web".to_owned(), "https://x".to_owned())]);
        let space = Subject {
            id: SpaceId::NIL,
            name: "lab",
            urls: &urls,
        };
        let at = Timestamp(0);
        let check = |transition: Transition, event_type: &str, fields: &[&str]| {
            assert_eq!(transition.event_type(), event_type);
            let payload = transition.payload(&space);
            let keys: Vec<_> = payload
                .as_object()
                .expect("object")
                .keys()
                .cloned()
                .collect();
            assert_eq!(keys, fields, "{event_type}");
        };
        check(
            Transition::Created {
                template_id: None,
                startup_script_id: None,
            },
            "space.created",
            &[
                "space_name",
                "space_id",
                "space_urls",
                "template_id",
                "startup_script_id",
            ],
        );
        check(
            Transition::Started {
                node_id: ServerId::NIL,
                at,
            },
            "space.started",
            &[
                "space_name",
                "space_id",
                "space_urls",
                "node_id",
                "started_at",
            ],
        );
        check(
            Transition::Stopped { at },
            "space.stopped",
            &["space_name", "space_id", "stopped_at"],
        );
        check(
            Transition::Deleted { at },
            "space.deleted",
            &["space_name", "space_id", "deleted_at"],
        );
        let health = |previous, current| Transition::HealthChanged {
            previous,
            current,
            consecutive_failures: 3,
            at,
        };
        check(
            health(Health::Unknown, Health::Healthy),
            "space.healthy",
            &[
                "space_name",
                "space_id",
                "previous",
                "current",
                "checked_at",
            ],
        );
        check(
            health(Health::Healthy, Health::Unhealthy),
            "space.unhealthy",
            &[
                "space_name",
                "space_id",
                "previous",
                "current",
                "consecutive_failures",
                "checked_at",
            ],
        );
    }
}
