//! Well-formedness of JSON Schemas at registration (spec 2.1, "Schema rules").
//!
//! Params and results of calls are never validated here: that is up to the method server.

use std::collections::BTreeSet;

use serde_json::Value;
use thiserror::Error;

/// Deepest nesting of a schema. No schema written by a person is that deep.
const DEPTH_MAX: usize = 64;
/// Largest schema, in bytes of JSON.
pub const SCHEMA_BYTES_MAX: usize = 256 * 1024;

/// Keywords whose value is one schema.
pub const ONE_SCHEMA: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
pub const SCHEMA_LIST: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value is a map from names to schemas.
pub const SCHEMA_MAP: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    #[error("a schema must be an object, not {0}")]
    NotAnObject(&'static str),
    #[error("schema is nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    #[error("schema has {0} bytes; at most {SCHEMA_BYTES_MAX} are allowed")]
    TooLarge(usize),
    #[error("`{0}` refers outside the schema; references must stay inside it, such as `#/$defs/x`")]
    RemoteReference(String),
    #[error("`{0}` refers to nothing in the schema")]
    DanglingReference(String),
    #[error(
        "`{found}` is not a type; the types are object, array, string, integer, number, boolean and null"
    )]
    UnknownType { at: String, found: String },
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Pattern { pattern: String, reason: String },
    #[error("{message}")]
    Malformed { at: String, message: String },
    #[error(
        "the root type must be `object` for a method with `mcp_tool`, because a tool takes named arguments"
    )]
    ToolRootNotObject,
}

impl SchemaError {
    /// The path to the invalid value: keys and indexes.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        let at = match self {
            Self::Malformed { at, .. } | Self::UnknownType { at, .. } => at.as_str(),
            _ => "",
        };
        at.split('/').filter(|step| !step.is_empty())
    }
}

/// Checks one `params_schema` or `result_schema`.
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    if !schema.is_object() {
        return Err(SchemaError::NotAnObject(type_name(schema)));
    }
    if depth_exceeds(schema, DEPTH_MAX) {
        return Err(SchemaError::TooDeep);
    }
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES_MAX {
        return Err(SchemaError::TooLarge(bytes));
    }
    let mut found = SchemaScan::default();
    collect(schema, &mut found);
    check_references(schema, &found)?;
    found
        .patterns
        .iter()
        .try_for_each(|pattern| check_pattern(pattern))?;
    jsonschema::meta::validate(schema).map_err(malformed)?;
    Ok(())
}

/// Checks the additional rule for the `params_schema` of an MCP tool.
pub fn check_tool_root(params_schema: &Value) -> Result<(), SchemaError> {
    match params_schema.get("type") {
        None => Ok(()),
        Some(Value::String(root)) if root == "object" => Ok(()),
        Some(_) => Err(SchemaError::ToolRootNotObject),
    }
}

fn malformed(error: jsonschema::ValidationError<'_>) -> SchemaError {
    let at = error.instance_path().to_string();
    let mut message = error.to_string();
    if message.len() > 300 {
        message = message.chars().take(300).collect::<String>() + "…";
    }
    let found = error.instance();
    if at.ends_with("/type") && (found.is_string() || found.is_array()) {
        let found = found
            .as_str()
            .map_or_else(|| found.to_string(), str::to_owned);
        return SchemaError::UnknownType { at, found };
    }
    SchemaError::Malformed { at, message }
}

/// Checks a regular expression's syntax without compiling it: an expression of a few bytes can
/// compile to gigabytes. Look-around and back-references are accepted, because JSON Schema uses the
/// syntax of ECMA 262.
fn check_pattern(pattern: &str) -> Result<(), SchemaError> {
    use regex_syntax::{
        Error,
        ast::{ErrorKind, parse::Parser},
    };
    match Parser::new().parse(pattern).map_err(Error::from) {
        Err(Error::Parse(error))
            if !matches!(
                error.kind(),
                ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference
            ) =>
        {
            let pattern = pattern.chars().take(100).collect();
            Err(SchemaError::Pattern {
                pattern,
                reason: error.kind().to_string(),
            })
        }
        _ => Ok(()),
    }
}

fn check_references(root: &Value, found: &SchemaScan) -> Result<(), SchemaError> {
    for reference in &found.references {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !base.is_empty() {
            if found.ids.contains(base) {
                continue;
            }
            return Err(SchemaError::RemoteReference(reference.clone()));
        }
        let resolves = match fragment {
            "" => true,
            pointer if pointer.starts_with('/') => root.pointer(&percent_decode(pointer)).is_some(),
            anchor => found.anchors.contains(anchor),
        };
        // Inside a subschema with its own `$id`, a pointer is relative to that subschema. Such
        // references are left to the validator.
        if !resolves && found.ids.is_empty() {
            return Err(SchemaError::DanglingReference(reference.clone()));
        }
    }
    Ok(())
}

#[derive(Default)]
struct SchemaScan {
    references: BTreeSet<String>,
    ids: BTreeSet<String>,
    anchors: BTreeSet<String>,
    patterns: BTreeSet<String>,
}

/// Visits subschemas only: in `enum`, `const`, `default` and `examples` a `$ref` is data.
fn collect(schema: &Value, found: &mut SchemaScan) {
    let Value::Object(object) = schema else {
        return;
    };
    for (key, value) in object {
        match (key.as_str(), value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                found.references.insert(reference.clone());
            }
            ("$id" | "id", Value::String(id)) => {
                found.ids.insert(id.trim_end_matches('#').to_owned());
            }
            ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                found.anchors.insert(anchor.clone());
            }
            ("pattern", Value::String(pattern)) => {
                found.patterns.insert(pattern.clone());
            }
            (key, Value::Object(map)) if SCHEMA_MAP.contains(&key) => {
                if key == "patternProperties" {
                    found.patterns.extend(map.keys().cloned());
                }
                map.values().for_each(|schema| collect(schema, found));
            }
            (key, Value::Array(list)) if SCHEMA_LIST.contains(&key) => {
                list.iter().for_each(|schema| collect(schema, found));
            }
            (key, schema) if ONE_SCHEMA.contains(&key) => collect(schema, found),
            _ => {}
        }
    }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn depth_exceeds(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(list) => left == 0 || list.iter().any(|v| depth_exceeds(v, left - 1)),
        Value::Object(map) => left == 0 || map.values().any(|v| depth_exceeds(v, left - 1)),
        _ => false,
    }
}

/// The type of a JSON value, for messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn s2_1_well_formed_schemas_pass() {
        for schema in [
            json!({}),
            json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}),
            json!({"type": ["string", "null"]}),
            json!({"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a"}),
            json!({"$defs": {"a b": {"type": "integer"}}, "$ref": "#/$defs/a%20b"}),
            json!({"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"}),
            json!({"properties": {"$ref": {"type": "string"}}}),
            json!({"enum": [{"$ref": "https://example.com/x"}]}),
            json!({"pattern": "^(?!x)(a+)\\1\\/[\\w.-]{2,5000}$"}),
            json!({"enum": ["("], "properties": {"pattern": {"type": "string"}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
        ] {
            assert_eq!(check(&schema), Ok(()), "{schema}");
        }
    }

    #[test]
    fn s2_1_s7_malformed_schemas_are_refused() {
        for schema in [
            json!([]),
            json!("string"),
            json!(true),
            json!({"type": "text"}),
            json!({"type": "any"}),
            json!({"type": "object", "properties": []}),
            json!({"required": "q"}),
            json!({"minLength": -1}),
            json!({"pattern": "("}),
            json!({"patternProperties": {"[": {}}}),
            json!({"$schema": "https://example.com/my-own"}),
            json!({"$ref": "https://example.com/x.json"}),
            json!({"properties": {"a": {"$ref": "other.json#/x"}}}),
            json!({"allOf": [{"$ref": "file:///etc/passwd"}]}),
            json!({"$ref": "#/$defs/missing"}),
        ] {
            assert!(check(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn s2_1_deep_and_large_schemas_are_refused() {
        let mut deep = json!({"type": "string"});
        for _ in 0..70 {
            deep = json!({"not": deep});
        }
        assert_eq!(check(&deep), Err(SchemaError::TooDeep));
        let large = json!({"description": "x".repeat(SCHEMA_BYTES_MAX)});
        assert!(matches!(check(&large), Err(SchemaError::TooLarge(_))));
    }

    #[test]
    fn s2_1_schema_errors_name_the_position() {
        let error = check(&json!({"properties": {"q": {"type": "text"}}})).expect_err("bad type");
        assert_eq!(
            error.steps().collect::<Vec<_>>(),
            ["properties", "q", "type"]
        );
        assert!(
            error.to_string().starts_with("`text` is not a type"),
            "{error}"
        );
    }

    #[test]
    fn s4_1_tools_take_objects() {
        assert_eq!(check_tool_root(&json!({"type": "object"})), Ok(()));
        assert_eq!(check_tool_root(&json!({"properties": {}})), Ok(()));
        for root in [
            json!({"type": "array"}),
            json!({"type": ["object", "null"]}),
        ] {
            assert_eq!(check_tool_root(&root), Err(SchemaError::ToolRootNotObject));
        }
    }
}
