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
fn s2_1_messages_say_what_to_write_and_do_not_quote_the_library() {
    let check = |schema: Value, at: &str, expected: &str| {
        let error = check(&schema).expect_err(expected);
        assert_eq!(error.to_string(), expected, "{schema}");
        assert_eq!(error.steps().collect::<Vec<_>>().join("."), at, "{schema}");
    };
    check(
        json!({"type": ["string", "string"]}),
        "type",
        "`type` has `string` twice",
    );
    check(
        json!({"properties": {"a/b": {"type": ["string", "text"]}}}),
        "properties.a/b.type",
        "`text` is not a type; the types are object, array, string, integer, number, boolean and null",
    );
    check(
        json!({"items": {"minLength": -1}}),
        "items.minLength",
        "`minLength` must be a whole number of at least 0, not -1",
    );
    check(
        json!({"required": "q"}),
        "required",
        "`required` must be an array of different strings, not `q`",
    );
    check(
        json!({"properties": {"q": 5}}),
        "properties.q",
        "a schema must be an object, true or false, not 5",
    );
    check(
        json!({"anyOf": []}),
        "anyOf",
        "`anyOf` must be an array of schemas, at least one, not []",
    );
    check(
        json!({"$schema": "https://example.com/my-own"}),
        "$schema",
        "`https://example.com/my-own` is not a dialect of JSON Schema that svc supports; write `https://json-schema.org/draft/2020-12/schema`, or omit `$schema`",
    );
    check(
        json!({"properties": {"a": {"pattern": "("}}}),
        "properties.a.pattern",
        "`(` is not a regular expression: a group is not closed; write `\\(` for a parenthesis",
    );
    check(
        json!({"properties": {"a": {"$ref": "#/$defs/b"}}}),
        "properties.a.$ref",
        "`#/$defs/b` refers to no schema inside this schema; define one, such as `$defs.x` for `#/$defs/x`",
    );
    check(
        json!({"$id": "https://example.com/x", "items": {"$ref": "#/$defs/b"}}),
        "items.$ref",
        "`#/$defs/b` refers to no schema inside this schema; define one, such as `$defs.x` for `#/$defs/x`",
    );
}

#[test]
fn s2_1_the_total_length_of_resolved_references_is_limited() {
    let references = vec![json!({"$ref": "#"}); 5_000];
    let schema = json!({"$defs": {"x".repeat(100_000): {"$id": "y", "allOf": references}}});
    assert_eq!(check(&schema), Err(SchemaError::TooManyReferences));
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
fn s4_1_a_tool_whose_root_type_is_not_object_is_rejected() {
    assert_eq!(check_tool_root(&json!({"type": "object"})), Ok(()));
    assert_eq!(check_tool_root(&json!({"properties": {}})), Ok(()));
    for root in [
        json!({"type": "array"}),
        json!({"type": ["object", "null"]}),
    ] {
        assert_eq!(check_tool_root(&root), Err(SchemaError::ToolRootNotObject));
    }
}
