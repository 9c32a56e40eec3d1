//! The schemas of the OpenAPI document. A type may have two schemas: in requests, members with
//! defaults are optional; in answers, they are always present.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The path of the schemas of answers, and of all schemas in the finished document.
pub const COMPONENTS: &str = "/components/schemas";
/// References in schemas of requests have this path until [`add`] replaces them.
pub const OF_REQUESTS: &str = "/components/requests";

/// Adds the schemas to the document. A schema of requests that differs from the schema of answers
/// of the same name is called `<name>Input`.
pub fn add(document: &mut Value, requests: Map<String, Value>, answers: Map<String, Value>) {
    let mut renamed = BTreeSet::new();
    loop {
        let differs = |(name, schema): &(&String, &Value)| {
            let mut schema = (*schema).clone();
            resolve(&mut schema, &renamed);
            !renamed.contains(*name) && answers.get(*name).is_some_and(|other| *other != schema)
        };
        // Repeated, because a schema that refers to a renamed schema differs too.
        match requests.iter().find(differs) {
            Some((name, _)) => renamed.insert(name.clone()),
            None => break,
        };
    }
    let mut schemas = answers;
    for (name, mut schema) in requests {
        resolve(&mut schema, &renamed);
        schemas.insert(final_name(&name, &renamed), schema);
    }
    schemas.sort_keys();
    resolve(document, &renamed);
    document["components"]["schemas"] = Value::Object(schemas);
}

fn final_name(name: &str, renamed: &BTreeSet<String>) -> String {
    let suffix = if renamed.contains(name) { "Input" } else { "" };
    format!("{name}{suffix}")
}

/// Replaces the references of requests by references to the final names.
fn resolve(value: &mut Value, renamed: &BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(name) = reference.strip_prefix(&format!("#{OF_REQUESTS}/"))
            {
                *reference = format!("#{COMPONENTS}/{}", final_name(name, renamed));
            }
            for member in members.values_mut() {
                resolve(member, renamed);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, renamed)),
        _ => {}
    }
}
