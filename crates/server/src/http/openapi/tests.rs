//! Compares the OpenAPI document with the route table and with the types that it describes.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_protocol::problem;

use super::{
    super::{failures, router::routes},
    Document, texts,
};

fn document() -> Value {
    Document::new().build()
}

/// Every operation, with its name.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().expect("operations");
        operations
            .iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    operations.collect()
}

#[test]
fn every_route_has_a_summary_and_every_summary_has_a_route() {
    let routes: Vec<_> = routes()
        .into_iter()
        .filter(|route| route.describe.is_some())
        .collect();
    for route in &routes {
        let text = texts::find(&route.method, route.path);
        assert!(text.is_some(), "{} {}", route.method, route.path);
    }
    assert_eq!(
        texts::count(),
        routes.len(),
        "texts of routes that do not exist"
    );
}

#[test]
fn every_operation_has_answers_with_schemas_and_bodies_with_examples() {
    let document = document();
    for (name, operation) in operations(&document) {
        let responses = operation["responses"].as_object().expect("responses");
        let success = |status: &String| status.starts_with(['1', '2']);
        assert!(responses.keys().any(success), "{name} has no answer");
        for (status, response) in responses {
            let media = response["content"].as_object().into_iter().flatten();
            for (media, content) in media {
                let at = format!("{name} {status} {media}");
                assert!(content["schema"].is_object(), "{at} has no schema");
                assert!(
                    !media.ends_with("json") || content.get("example").is_some(),
                    "{at}"
                );
            }
        }
        let Some(body) = operation.get("requestBody") else {
            continue;
        };
        let mut schema = &body["content"]["application/json"]["schema"];
        while let Some(name) = super::name_of(schema) {
            schema = &document["components"]["schemas"][name];
        }
        assert!(schema["examples"][0].is_object(), "{name}: {schema}");
    }
}

/// Codes of the routes that the document does not describe.
const UNDESCRIBED: [&str; 1] = ["verification_failed"];

#[test]
fn every_code_is_an_answer_of_an_operation() {
    let document = document();
    let mut described = BTreeSet::new();
    for (_, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let schema = &response["content"][problem::CONTENT_TYPE]["schema"];
            let codes = schema["properties"]["code"]["enum"].as_array();
            for code in codes.into_iter().flatten() {
                described.insert((status.clone(), code.as_str().expect("a text").to_owned()));
            }
        }
    }
    let all = failures::ALL.iter();
    let expected: BTreeSet<_> = all
        .filter(|(_, code, _)| !UNDESCRIBED.contains(code))
        .map(|(status, code, _)| (status.to_string(), (*code).to_owned()))
        .collect();
    assert_eq!(described, expected);
}

/// Every `$ref` points to a schema, and every schema is used.
#[test]
fn references_resolve() {
    fn collect(value: &Value, references: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                references.extend(
                    members
                        .get("$ref")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                members
                    .values()
                    .for_each(|value| collect(value, references));
            }
            Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
            _ => {}
        }
    }
    let document = document();
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    let schemas = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    let defined: BTreeSet<_> = schemas
        .keys()
        .map(|name| format!("#/components/schemas/{name}"))
        .collect();
    assert_eq!(references, defined);
}

#[test]
fn examples_are_valid() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let mut invalid = Vec::new();
    let mut check = |at: String, content: &Value| {
        let Some(example) = content.get("example") else {
            return;
        };
        let mut schema = content["schema"].clone();
        schema["components"]["schemas"] = schemas.clone();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap_or_else(|error| panic!("{at}: {error}"));
        let errors: Vec<_> = validator
            .iter_errors(example)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        if !errors.is_empty() {
            invalid.push(format!("{at}: {errors:#?}\n{example}"));
        }
    };
    for (name, operation) in operations(&document) {
        let body = operation["requestBody"]["content"].as_object();
        for (media, content) in body.into_iter().flatten() {
            check(format!("{name} {media}"), content);
        }
        let responses = operation["responses"].as_object().expect("responses");
        for (status, response) in responses {
            let content = response["content"].as_object();
            for (media, content) in content.into_iter().flatten() {
                check(format!("{name} {status} {media}"), content);
            }
        }
    }
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
}

#[test]
fn s5_permissions_scopes_and_agent_rules_agree_with_the_route_table() {
    let document = document();
    let call = &document["paths"]["/api/methods/call"]["post"];
    assert_eq!(call["x-scopes"], serde_json::json!(["methods"]));
    assert_eq!(call["x-agent-token"], "as_owner");
    let create = &document["paths"]["/api/users"]["post"];
    assert_eq!(create["x-permissions"], serde_json::json!(["manage_users"]));
    assert_eq!(create["x-scopes"], serde_json::json!([]));
    assert_eq!(create["x-agent-token"], "never");
    let text = create["description"].as_str().expect("a text");
    assert!(text.contains("`manage_users`"), "{text}");
}

/// The schemas agree with the JSON that serde accepts and writes.
#[test]
fn schemas_agree_with_the_types_of_the_handlers() {
    let document = document();
    let schema = |name: &str| &document["components"]["schemas"][name];
    let patch = schema("UserPatch");
    assert_eq!(patch["additionalProperties"], false);
    assert_eq!(
        patch["properties"]["active"]["type"], "boolean",
        "null is rejected"
    );
    assert!(patch.get("required").is_none());
    let new = schema("NewUser");
    assert_eq!(new["required"], serde_json::json!(["username", "password"]));
    assert_eq!(schema("UserName")["maxLength"], 20);
    // In an answer, `headers` and `body_template` are always present. In a request they may be
    // absent.
    let required = |name: &str| schema(name)["required"].as_array().map(Vec::len);
    assert_eq!(required("WebhookConfigInput"), Some(1));
    assert_eq!(required("WebhookConfig"), Some(3));
    let test = "/api/event-sinks/{id}/test";
    assert_eq!(
        document["paths"][test]["post"]["requestBody"]["required"],
        false
    );
    assert_eq!(
        document["paths"]["/api/users"]["post"]["requestBody"]["required"],
        true
    );
}
