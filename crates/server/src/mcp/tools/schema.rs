//! Makes schemas safe for MCP clients: some clients reject the whole list of tools because of one
//! schema.
//!
//! Many clients accept only a restricted form of `inputSchema`, and compile each `outputSchema`
//! with their own validator while they read the list.

mod pattern;
mod references;

use serde_json::{Value, json};
use svc_core::schema::schemas_in;

use self::{pattern::is_portable_pattern, references::references_end};

/// Dialects in which the keywords below mean the same to all common validators.
const DIALECTS: [&str; 3] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
];

/// Keywords that contain no subschema and that every validator accepts.
const PLAIN_KEYWORDS: &[&str] = &[
    "$comment",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

/// Gives the root the form that every client requires: its type is `object`, and the schema of each
/// property is an object.
pub fn make_object_root(schema: &mut Value) {
    let Value::Object(root) = schema else {
        *schema = json!({"type": "object"});
        return;
    };
    root.insert("type".to_owned(), json!("object"));
    let Some(Value::Object(properties)) = root.get_mut("properties") else {
        return;
    };
    for property in properties.values_mut() {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({"not": {}}),
            _ => {}
        }
    }
}

/// The schema of a result, if every validator can compile it. Otherwise `None`: the tool is listed
/// without an output schema, which MCP allows.
pub fn portable_output(schema: &Value) -> Option<Value> {
    let mut root = schema.as_object()?.clone();
    if let Some(dialect) = root.remove("$schema") {
        let dialect = dialect.as_str()?.trim_end_matches('#');
        if !DIALECTS.contains(&dialect) {
            return None;
        }
    }
    let mut schema = Value::Object(root);
    if !accepts(&schema) || !references_end(&schema) {
        return None;
    }
    if schema.get("type") == Some(&json!("object")) {
        make_object_root(&mut schema);
    }
    Some(schema)
}

/// Whether every validator can compile a schema and reads it in the same way. Does not check the
/// targets of references.
fn accepts(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(object) => object
            .iter()
            .all(|(key, value)| accepts_keyword(key, value)),
        _ => false,
    }
}

fn accepts_keyword(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("enum", Value::Array(values)) => !values.is_empty(),
        ("$ref", Value::String(reference)) => is_portable_reference(reference),
        ("pattern", Value::String(pattern)) => is_portable_pattern(pattern),
        ("patternProperties", Value::Object(schemas)) => schemas
            .iter()
            .all(|(pattern, schema)| is_portable_pattern(pattern) && accepts(schema)),
        // Newer dialects do not have this keyword.
        ("dependencies", _) => false,
        (key, value) => match schemas_in(key, value) {
            Some(mut schemas) => schemas.all(accepts),
            None => PLAIN_KEYWORDS.contains(&key) || key.starts_with("x-"),
        },
    }
}

/// A reference must stay within the schema and use plain names.
fn is_portable_reference(reference: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-.$".contains(c);
    reference
        .strip_prefix('#')
        .is_some_and(|pointer| pointer.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_root_is_an_object_whose_properties_are_objects() {
        let check = |mut schema: Value, expected: Value| {
            make_object_root(&mut schema);
            assert_eq!(schema, expected);
        };
        check(json!({}), json!({"type": "object"}));
        check(
            json!({"properties": {"a": true, "b": false, "c": {"type": "string"}}}),
            json!({
                "type": "object",
                "properties": {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}
            }),
        );
    }

    #[test]
    fn an_output_schema_is_shown_only_if_every_validator_accepts_it() {
        let check = |schema: Value, is_shown: bool| {
            assert_eq!(portable_output(&schema).is_some(), is_shown, "{schema}");
        };
        check(json!({"type": "object"}), true);
        check(json!({"type": "array", "items": {"type": "integer"}}), true);
        check(
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"pattern": "^[a-z]{1,3}\\d+$"}},
                "$defs": {"a": {"anyOf": [{"type": "null"}, {"enum": [1]}]}},
                "x-order": [1]
            }),
            true,
        );
        check(
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            false,
        );
        check(json!({"type": "object", "$id": "urn:x"}), false);
        check(json!({"properties": {"a": {"$anchor": "x"}}}), false);
        check(json!({"properties": {"a": {"nullable": true}}}), false);
        check(json!({"$async": true}), false);
        check(json!({"enum": []}), false);
        check(
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            false,
        );
        check(json!({"properties": {"next": {"$ref": "#"}}}), true);
        check(json!({"$ref": "#"}), false);
        check(
            json!({"properties": {"a": {"$ref": "#/x-a"}}, "x-a": {"$id": "urn:x"}}),
            false,
        );
        check(json!({"allOf": [{"pattern": "(?P<x>a)"}]}), false);
    }
}
