//! Bodies. A refused body names the member. `PATCH` is a merge patch (RFC 7396): members that are left
//! out stay, and `null` resets a member or is refused.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    kinds::Kind,
    world::{World, body_members, body_schema, id_of, without},
};

/// A value of a type that no member of a `PATCH` body has.
const WRONG: u8 = 17;

fn members(document: &Value, kind: &Kind) -> Vec<String> {
    body_members(document, "patch", &format!("{}/{{id}}", kind.path))
}

/// Whether a message names a member: "`payload`" or "the payload".
fn names(message: &str, member: &str) -> bool {
    let quoted = format!("`{member}`");
    message.contains(&quoted) || message.contains(&format!("the {member} "))
}

#[tokio::test]
async fn a_patch_changes_the_members_that_it_has_and_no_others() {
    let world = World::new().await;
    for (kind, patch) in Kind::patched() {
        let before = world.create(kind, "one").await;
        let id = id_of(&before);
        let change = patch.change();
        let answer = world.manager(kind).patch(&kind.path_of(id), &change).await;
        let after = answer.expect(200).json();
        let changed: Vec<_> = change.as_object().unwrap().keys().collect();
        for member in &changed {
            let member = member.as_str();
            assert_ne!(after[member], before[member], "{} {member}", kind.path);
        }
        let mut left_out = [kind.shown_once, patch.moving].concat();
        left_out.extend(changed.iter().map(|member| member.as_str()));
        let kept = without(&before, &left_out);
        assert_eq!(without(&after, &left_out), kept, "{}", kind.path);
        assert_eq!(world.find(kind, id).await, Some(after), "{}", kind.path);
    }
}

#[tokio::test]
async fn a_patch_without_effect_changes_nothing_and_writes_no_audit_entry() {
    let world = World::new().await;
    let document = world.document().await;
    for (kind, _) in Kind::patched() {
        let created = world.create(kind, "one").await;
        let path = kind.path_of(id_of(&created));
        let record = without(&created, kind.shown_once);
        let mut patches = vec![json!({})];
        for member in members(&document, kind) {
            let value = &record[member.as_str()];
            if !value.is_null() {
                patches.push(json!({member: value}));
            }
        }
        let audit = world.audit().await.len();
        for patch in patches {
            let answer = world.manager(kind).patch(&path, &patch).await;
            assert_eq!(answer.status, 200, "{path} {patch}: {}", answer.text());
            assert_eq!(answer.json(), record, "{path} {patch}");
            let entries = world.audit().await;
            assert_eq!(entries.len(), audit, "{path} {patch}: {}", entries[0]);
        }
        assert_eq!(world.find(kind, id_of(&created)).await, Some(record));
    }
}

#[tokio::test]
async fn null_resets_some_members_and_is_refused_for_all_others() {
    let world = World::new().await;
    let document = world.document().await;
    for (kind, patch) in Kind::patched() {
        let manager = world.manager(kind);
        let created = world.create(kind, "one").await;
        let path = kind.path_of(id_of(&created));
        let changed = manager.patch(&path, patch.change()).await.expect(200);
        let changed = changed.json();
        let members: BTreeSet<_> = members(&document, kind).into_iter().collect();
        for member in patch.nullable {
            assert!(members.contains(*member), "{path} has no `{member}`");
        }
        for member in &members {
            let member = member.as_str();
            let answer = manager.patch(&path, json!({member: null})).await;
            if patch.nullable.contains(&member) {
                let reset = answer.expect(200).json();
                assert_eq!(reset[member], created[member], "{path} {member}");
            } else {
                let refused = answer.expect(400);
                let text = refused.text();
                assert!(names(&text, member), "{path} {member}: {text}");
                let found = world.find(kind, id_of(&created)).await.unwrap();
                assert_eq!(found[member], changed[member], "{path} {member}");
            }
        }
    }
}

#[tokio::test]
async fn an_unknown_member_of_a_body_is_refused_by_its_name() {
    let world = World::new().await;
    for (kind, body) in Kind::posted() {
        let mut body = body("one");
        body["colour"] = json!("red");
        let refused = world.manager(kind).post(kind.path, body).await.expect(400);
        assert_eq!(refused.code(), "invalid_body", "{}", kind.path);
        let text = refused.text();
        assert!(
            text.contains("unknown field `colour`"),
            "{}: {text}",
            kind.path
        );
    }
    for (kind, patch) in Kind::patched() {
        let created = world.create(kind, "one").await;
        let path = kind.path_of(id_of(&created));
        let mut body = patch.change();
        body["colour"] = json!("red");
        let refused = world.manager(kind).patch(&path, body).await.expect(400);
        assert_eq!(refused.code(), "invalid_body", "{path}");
        let text = refused.text();
        assert!(text.contains("unknown field `colour`"), "{path}: {text}");
        let kept = without(&created, kind.shown_once);
        assert_eq!(world.find(kind, id_of(&created)).await, Some(kept));
    }
}

#[tokio::test]
async fn a_required_member_that_is_missing_is_refused_by_its_name() {
    let world = World::new().await;
    let document = world.document().await;
    for (kind, body) in Kind::posted() {
        let required = &body_schema(&document, "post", kind.path)["required"];
        for member in required.as_array().unwrap() {
            let member = member.as_str().unwrap();
            let body = without(&body("one"), &[member]);
            let refused = world.manager(kind).post(kind.path, body).await.expect(400);
            assert_eq!(refused.code(), "invalid_body", "{}", kind.path);
            let expected = format!("missing field `{member}`");
            let text = refused.text();
            assert!(text.contains(&expected), "{}: {text}", kind.path);
        }
    }
}

#[tokio::test]
async fn a_member_of_a_wrong_type_is_refused_by_its_name() {
    let world = World::new().await;
    let document = world.document().await;
    let refused = |path: &str, member: &str, answer: svc_testkit::Answer| {
        let text = answer.text();
        assert_eq!(answer.status, 400, "{path} {member}: {text}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(names(&detail, member), "{path} {member}: {detail}");
    };
    for (kind, body) in Kind::posted() {
        for member in body_members(&document, "post", kind.path) {
            let mut body = body("one");
            body[member.as_str()] = match member.as_str() {
                // The only number.
                "expires_in_days" => json!("soon"),
                _ => json!(WRONG),
            };
            let answer = world.manager(kind).post(kind.path, body).await;
            refused(kind.path, &member, answer);
        }
    }
    for (kind, _) in Kind::patched() {
        let created = world.create(kind, "one").await;
        let path = kind.path_of(id_of(&created));
        for member in members(&document, kind) {
            let body = json!({member.as_str(): WRONG});
            let answer = world.manager(kind).patch(&path, body).await;
            refused(&path, &member, answer);
        }
        let kept = without(&created, kind.shown_once);
        assert_eq!(world.find(kind, id_of(&created)).await, Some(kept));
    }
}

/// Members of records that are objects: the path of the kind, the member, two patches one after the
/// other, and the member then.
const OBJECTS: [(&str, &str, &str, &str, &str); 8] = [
    (
        "/api/users",
        "quotas",
        r#"{"sinks": 5, "spaces": 7}"#,
        r#"{"sinks": null, "tokens": 9}"#,
        r#"{"spaces": 7, "tokens": 9}"#,
    ),
    (
        "/api/templates",
        "custom_fields",
        r#"{"a": "1", "b": "2"}"#,
        r#"{"a": null, "c": "3"}"#,
        r#"{"b": "2", "c": "3"}"#,
    ),
    (
        "/api/scripts",
        "annotations",
        r#"{"read_only": true, "idempotent": true}"#,
        r#"{"read_only": null, "open_world": false}"#,
        r#"{"idempotent": true, "open_world": false}"#,
    ),
    (
        "/api/sources",
        "event_type",
        r#"{"header": "X-Kind"}"#,
        r#"{"header": null, "fixed": "push"}"#,
        r#"{"fixed": "push"}"#,
    ),
    // Replaced as a whole.
    (
        "/api/schedules",
        "payload",
        r#"{"a": 1}"#,
        r#"{"b": null}"#,
        r#"{"b": null}"#,
    ),
    (
        "/api/oidc/providers",
        "required_claims",
        r#"{"a": ["1"]}"#,
        r#"{"b": ["2"]}"#,
        r#"{"b": ["2"]}"#,
    ),
    (
        "/api/spaces",
        "health_check",
        r#"{"type": "tcp", "port": 1, "interval_seconds": 60}"#,
        r#"{"type": "tcp", "port": 2}"#,
        r#"{"type": "tcp", "port": 2, "interval_seconds": 10, "timeout_seconds": 5, "failures": 3}"#,
    ),
    (
        "/api/templates",
        "health_check",
        r#"{"type": "tcp", "port": 1, "interval_seconds": 60}"#,
        r#"{"type": "tcp", "port": 2}"#,
        r#"{"type": "tcp", "port": 2, "interval_seconds": 10, "timeout_seconds": 5, "failures": 3}"#,
    ),
];

#[tokio::test]
async fn an_object_is_merged_member_by_member_or_replaced_as_a_whole() {
    let world = World::new().await;
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    for (n, (path, member, first, second, expected)) in OBJECTS.into_iter().enumerate() {
        let (kind, _) = Kind::patched().find(|(kind, _)| kind.path == path).unwrap();
        let created = world.create(kind, &format!("n{n}")).await;
        let path = kind.path_of(id_of(&created));
        let mut after = Value::Null;
        for value in [first, second] {
            let patch = json!({member: json(value)});
            let answer = world.manager(kind).patch(&path, patch).await;
            after = answer.expect(200).json();
        }
        assert_eq!(after[member], json(expected), "{path} {member}");
    }
}
