//! Functions for serde: members of merge patches, and defaults.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A part of a merge patch that is merged member by member.
pub type Members = Map<String, Value>;

pub(super) fn yes() -> bool {
    true
}

/// Reads a member of a merge patch that cannot be removed: `null` is rejected.
pub(super) fn set<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// Reads a member of a merge patch that can be removed: `Some(None)` for `null`, `None` if absent.
pub(super) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::api::{NewSource, NewTemplate, Schedule, SchedulePatch, Template, TemplatePatch};

    #[test]
    fn a_derived_patch_changes_the_members_that_it_has() {
        let schedule = json!({
            "id": "01a1dd5c-7e2f-7c3a-9b61-2f6d5a0c4e11", "name": "a", "description": "text",
            "owner_id": "01a1dd5c-7e2f-7c3a-9b61-2f6d5a0c4e12", "cron": "0 2 * * *", "timezone": "UTC",
            "payload": {"x": 1}, "missed": "once", "active": true, "next_at": null, "last_at": null,
            "last_event_id": null, "failure": null, "created_at": "2026-01-01T00:00:00.000Z",
        });
        let before: Schedule = serde_json::from_value(schedule).expect("a schedule");
        let patch = |body| serde_json::from_value::<SchedulePatch>(body);
        let mut after = before.clone();
        patch(json!({})).expect("empty").apply(&mut after);
        assert_eq!(after, before);
        let whole = json!({
            "name": "b", "description": "", "cron": "1 2 * * *", "timezone": "Europe/Berlin",
            "payload": {"y": 2}, "missed": "all", "active": false,
        });
        patch(whole.clone()).expect("whole").apply(&mut after);
        let after = serde_json::to_value(&after).expect("JSON");
        for (name, value) in whole.as_object().expect("an object") {
            assert_eq!(&after[name], value);
            let refused = patch(json!({name: null}));
            // A payload is any JSON here. The service refuses values other than objects.
            assert!(refused.is_err() || name == "payload", "{name}: {refused:?}");
        }
        assert!(patch(json!({"next_at": null})).is_err());
        let sent = serde_json::to_value(SchedulePatch {
            active: Some(true),
            ..SchedulePatch::default()
        });
        assert_eq!(sent.expect("JSON"), json!({"active": true}));
    }

    #[test]
    fn a_derived_patch_merges_and_resets_members() {
        let template = json!({
            "id": "01a1dd5c-7e2f-7c3a-9b61-2f6d5a0c4e11", "name": "a",
            "ports": [{"name": "http", "port": 80}], "startup_script_id": null, "health_check": null,
            "custom_fields": {"a": "1", "b": "2"}, "created_at": "2026-01-01T00:00:00.000Z",
        });
        for (patch, member, expected) in [
            (
                json!({"custom_fields": {"a": null, "c": "3\0"}}),
                "custom_fields",
                json!({"b": "2", "c": "3\0"}),
            ),
            (json!({"custom_fields": null}), "custom_fields", json!({})),
            (json!({"ports": null}), "ports", json!([])),
            (json!({"ports": []}), "ports", json!([])),
        ] {
            let mut record: Template =
                serde_json::from_value(template.clone()).expect("a template");
            let read: TemplatePatch = serde_json::from_value(patch.clone()).expect("a patch");
            read.apply(&mut record).expect("merged");
            let mut expected_record = template.clone();
            expected_record[member] = expected;
            assert_eq!(
                serde_json::to_value(&record).expect("JSON"),
                expected_record,
                "{patch}"
            );
        }
    }

    #[test]
    fn the_members_of_a_body_are_those_of_its_json() {
        let members = [
            "name",
            "ports",
            "startup_script_id",
            "health_check",
            "custom_fields",
        ];
        assert_eq!(NewTemplate::MEMBERS, members);
        let members = [
            "name",
            "description",
            "verify",
            "event_type",
            "headers",
            "active",
        ];
        assert_eq!(NewSource::MEMBERS, members);
    }
}
