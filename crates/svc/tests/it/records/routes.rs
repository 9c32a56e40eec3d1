//! The routes of the kinds: which exist, and what their queries may have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    kinds::{Creation, KINDS, Kind},
    world::{World, id_of},
};

/// Lists of pages that are no list of records which users create, change or delete.
const OTHER_LISTS: [&str; 8] = [
    "/api/audit",
    "/api/calls",
    "/api/event-sinks/{id}/deliveries",
    "/api/events",
    "/api/events/{id}/deliveries",
    "/api/methods",
    "/api/permissions",
    "/api/spaces/{id}/logs",
];

/// The operations of a kind: method, whether it is about one record, and whether the kind has it.
fn operations(kind: &Kind) -> [(&'static str, bool, bool); 5] {
    let creates = matches!(kind.creation, Creation::Post(_) | Creation::Passkey);
    [
        ("POST", false, creates),
        ("GET", false, kind.list.is_some()),
        ("GET", true, kind.get),
        ("PATCH", true, kind.patch.is_some()),
        ("DELETE", true, kind.delete),
    ]
}

fn template_of(kind: &Kind, is_about_one: bool) -> String {
    match is_about_one {
        true => format!("{}/{{id}}", kind.path),
        false => kind.path.to_owned(),
    }
}

#[tokio::test]
async fn the_rows_have_the_operations_of_the_document() {
    let world = World::new().await;
    let document = world.document().await;
    for kind in KINDS {
        for (method, is_about_one, has) in operations(kind) {
            let path = template_of(kind, is_about_one);
            let documented = &document["paths"][&path][method.to_lowercase()];
            assert_eq!(documented.is_object(), has, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn an_operation_that_a_kind_lacks_is_refused() {
    let world = World::new().await;
    for kind in KINDS {
        let created = world.create(kind, "one").await;
        for (method, is_about_one, has) in operations(kind) {
            if has {
                continue;
            }
            let path = template_of(kind, is_about_one).replace("{id}", id_of(&created));
            let body = (method != "GET").then(|| "{}".to_owned());
            let refused = world.manager(kind).send(method, &path, body).await;
            let code = refused.code();
            let expected = (405, "method_not_allowed");
            assert_eq!((refused.status, &*code), expected, "{method} {path}");
        }
        assert!(world.find(kind, id_of(&created)).await.is_some());
    }
}

/// A new kind of records needs a row.
#[tokio::test]
async fn every_list_of_records_has_a_row() {
    let world = World::new().await;
    let document = world.document().await;
    let mut lists = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let content = &operations["get"]["responses"]["200"]["content"];
        let mut schema = &content["application/json"]["schema"];
        while let Some(name) = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next()) {
            schema = &document["components"]["schemas"][name];
        }
        if schema["properties"]["next_cursor"] != Value::Null {
            lists.insert(path.as_str());
        }
    }
    let known = Kind::listed().map(|(kind, _)| kind.path);
    let known: BTreeSet<_> = known.chain(OTHER_LISTS).collect();
    assert_eq!(lists, known);
}

#[tokio::test]
async fn an_unknown_query_parameter_is_refused_by_its_name() {
    let world = World::new().await;
    for kind in KINDS {
        let created = world.create(kind, "one").await;
        let manager = world.manager(kind);
        for (method, is_about_one, has) in operations(kind) {
            if !has {
                continue;
            }
            let path = template_of(kind, is_about_one).replace("{id}", id_of(&created));
            let path = format!("{path}?verbose=1");
            let body = match (method, kind.creation, &kind.patch) {
                ("POST", Creation::Post(body), _) => Some(body("two").to_string()),
                ("POST", ..) => Some("{}".to_owned()),
                ("PATCH", _, Some(patch)) => Some(patch.change().to_string()),
                _ => None,
            };
            let refused = manager.send(method, &path, body).await.expect(400);
            assert_eq!(refused.code(), "invalid_query", "{method} {path}");
            let text = refused.text();
            assert!(text.contains("unknown parameter `verbose`"), "{text}");
        }
        let kept = super::world::without(&created, kind.shown_once);
        assert_eq!(world.find(kind, id_of(&created)).await, Some(kept));
    }
}
