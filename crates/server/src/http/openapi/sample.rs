//! Examples in the OpenAPI document. They are built from schemas, and use the examples that a
//! schema contains.

use serde_json::{Map, Value, json};

/// Deeper parts of an example are left out.
const DEPTH_MAX: usize = 12;

/// Adds an example to every JSON body.
pub fn add(document: &mut Value) {
    let schemas = document["components"]["schemas"].take();
    for operations in members_mut(&mut document["paths"]) {
        for operation in members_mut(operations) {
            add_to(&mut operation["requestBody"], &schemas);
            for response in members_mut(&mut operation["responses"]) {
                add_to(response, &schemas);
            }
            if operation["requestBody"].is_null()
                && let Value::Object(operation) = operation
            {
                operation.shift_remove("requestBody");
            }
        }
    }
    document["components"]["schemas"] = schemas;
}

fn members_mut(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_object_mut().into_iter().flat_map(Map::values_mut)
}

fn add_to(body: &mut Value, schemas: &Value) {
    let Some(Value::Object(content)) = body.get_mut("content") else {
        return;
    };
    for (media, content) in content {
        if media.ends_with("json") {
            content["example"] = sample(&content["schema"], schemas, 0);
        }
    }
}

fn sample(schema: &Value, schemas: &Value, depth: usize) -> Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next()) {
        return sample(&schemas[name], schemas, depth + 1);
    }
    let given = [
        &schema["examples"][0],
        &schema["const"],
        &schema["enum"][0],
        &schema["default"],
    ];
    if let Some(given) = given.into_iter().find(|value| !value.is_null()) {
        // A schema may describe a request and an answer, and its example may lack members that the
        // answer must have.
        let mut whole = required(schema, schemas, depth);
        merge(&mut whole, given.clone());
        return if given.is_object() {
            whole
        } else {
            given.clone()
        };
    }
    for choices in ["anyOf", "oneOf"] {
        let choices = schema[choices].as_array().into_iter().flatten();
        // Too deep for an object with its members: use null where the schema allows it.
        if depth >= DEPTH_MAX && choices.clone().any(|choice| choice["type"] == "null") {
            return Value::Null;
        }
        if let Some(choice) = choices.into_iter().find(|choice| choice["type"] != "null") {
            let mut merged = sample(choice, schemas, depth + 1);
            merge(&mut merged, members(schema, schemas, depth));
            return merged;
        }
    }
    match kind(schema) {
        Some("object") => {
            let mut merged = json!({});
            for part in schema["allOf"].as_array().into_iter().flatten() {
                merge(&mut merged, sample(part, schemas, depth + 1));
            }
            merge(&mut merged, members(schema, schemas, depth));
            merged
        }
        Some("array") if depth < DEPTH_MAX => json!([sample(&schema["items"], schemas, depth + 1)]),
        Some("array") => json!([]),
        Some("string") => json!(match schema["format"].as_str() {
            Some("uuid") => "019a8a2c-6f00-7000-8000-000000000001",
            Some("date-time") => "2026-11-15T12:00:00.000Z",
            _ => "text",
        }),
        Some("integer") => schema
            .get("minimum")
            .filter(|least| **least != 0)
            .cloned()
            .unwrap_or(json!(1)),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        _ => Value::Null,
    }
}

/// The first type of a schema other than `null`.
fn kind(schema: &Value) -> Option<&str> {
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
        kind => Some(kind),
    };
    let is_object = schema.get("properties").is_some() || schema.get("allOf").is_some();
    kinds
        .and_then(Value::as_str)
        .or(is_object.then_some("object"))
}

/// The members that a value must have.
fn required(schema: &Value, schemas: &Value, depth: usize) -> Value {
    let mut members = members(schema, schemas, depth);
    let names = schema["required"].as_array();
    if let Value::Object(members) = &mut members {
        members.retain(|name, _| names.is_some_and(|names| names.contains(&json!(name))));
    }
    members
}

fn members(schema: &Value, schemas: &Value, depth: usize) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let members = properties
        .filter(|_| depth < DEPTH_MAX)
        .map(|(name, schema)| (name.clone(), sample(schema, schemas, depth + 1)));
    Value::Object(members.collect())
}

fn merge(target: &mut Value, other: Value) {
    if let (Value::Object(target), Value::Object(other)) = (target, other) {
        target.extend(other);
    }
}
