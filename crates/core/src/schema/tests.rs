use serde_json::json;

use super::*;

mod depth;

#[test]
fn s2_1_well_formed_schemas_pass() {
    for schema in [
        json!({}),
        json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}),
        json!({"type": ["string", "null"]}),
        json!({"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a"}),
        json!({"$defs": {"a b": {"type": "integer"}}, "$ref": "#/$defs/a%20b"}),
        json!({"$defs": {"%+5": {"type": "integer"}}, "$ref": "#/$defs/%+5"}),
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
        json!({"$defs": {"\u{5}": {"type": "integer"}}, "$ref": "#/$defs/%+5"}),
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
fn s2_1_messages_lead_to_the_fault_inside_nested_schemas() {
    let check = |mut schema: Value, at: &str, expected: &str| {
        for dialect in [
            "http://json-schema.org/draft-07/schema",
            "https://json-schema.org/draft/2019-09/schema#",
        ] {
            schema["$schema"] = json!(dialect);
            let error = check(&schema).expect_err(expected);
            assert_eq!(error.to_string(), expected, "{schema}");
            assert_eq!(error.steps().collect::<Vec<_>>().join("."), at, "{schema}");
        }
    };
    let count = "`minLength` must be a whole number of at least 0, not -1";
    let wrong = json!({"minLength": -1});
    check(json!({"not": wrong}), "not.minLength", count);
    check(json!({"items": wrong}), "items.minLength", count);
    check(json!({"items": [true, wrong]}), "items.1.minLength", count);
    check(
        json!({"items": {"items": [wrong]}}),
        "items.items.0.minLength",
        count,
    );
    check(
        json!({"dependencies": {"a": wrong}}),
        "dependencies.a.minLength",
        count,
    );
    check(
        json!({"items": {"type": "text"}}),
        "items.type",
        "`text` is not a type; the types are object, array, string, integer, number, boolean and null",
    );
    check(json!({"anyOf": [true, wrong]}), "anyOf.1.minLength", count);
    check(
        json!({"definitions": {"a~/b": wrong}}),
        "definitions.a~/b.minLength",
        count,
    );
    check(
        json!({"allOf": [{}, "x"]}),
        "allOf.1",
        "a schema must be an object, true or false, not `x`",
    );
    check(
        json!({"properties": {"q": []}}),
        "properties.q",
        "a schema must be an object, true or false, not []",
    );
    check(
        json!({"dependencies": {"a": ["b", "b"]}}),
        "dependencies",
        r#"`dependencies` must be an object whose values are schemas or arrays of names, not {"a":["b","b"]}"#,
    );
    check(
        json!({"dependencies": {"a": 5}}),
        "dependencies.a",
        "a schema must be an object, true or false, not 5",
    );
    check(
        json!({"required": ["a", "b", "a"]}),
        "required",
        "`required` has `a` twice",
    );
    check(
        json!({"title": ["x".repeat(98)]}),
        "title",
        &format!("`title` must be a string, not [\"{}…", "x".repeat(98)),
    );
    check(
        json!({"title": ["x".repeat(96)]}),
        "title",
        &format!("`title` must be a string, not [\"{}\"]", "x".repeat(96)),
    );
}

#[test]
fn s2_1_a_value_may_be_right_in_one_draft_and_wrong_in_another() {
    let check = |draft: &str, keyword: &str, value: Value, expected: Option<&str>| {
        let schema = json!({"$schema": draft, keyword: value});
        let error = check(&schema).err();
        let message = error.as_ref().map(ToString::to_string);
        assert_eq!(message.as_deref(), expected, "{schema}");
        if let Some(error) = error {
            assert_eq!(error.steps().collect::<Vec<_>>(), [keyword]);
        }
    };
    let (draft_4, newest) = (
        "http://json-schema.org/draft-04/schema",
        "https://json-schema.org/draft/2020-12/schema",
    );
    let (draft_7, draft_2019) = (
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
    );
    let list = json!([true, {}]);
    check(draft_7, "items", list.clone(), None);
    check(
        newest,
        "items",
        list,
        Some("`items` must be a schema: an object, true or false, not [true,{}]"),
    );
    let name = "`$anchor` must be a name such as `item-1`, not `a:b`";
    check(draft_7, "$anchor", json!(5), None);
    check(draft_2019, "$anchor", json!("a:b"), None);
    check(newest, "$anchor", json!("a:b"), Some(name));
    check(draft_7, "$recursiveAnchor", json!(5), None);
    check(draft_2019, "$recursiveAnchor", json!(true), None);
    check(newest, "$recursiveAnchor", json!("a"), None);
    check(newest, "not", json!(true), None);
    check(
        draft_4,
        "not",
        json!(true),
        Some("a schema must be an object, not true"),
    );
    check(draft_4, "additionalItems", json!(true), None);
    check(newest, "required", json!([]), None);
    let names = "`required` must be an array of different strings, not []";
    check(draft_4, "required", json!([]), Some(names));
}

#[test]
fn s2_1_in_draft_4_an_exclusive_bound_needs_the_bound() {
    let dialect = "http://json-schema.org/draft-04/schema#";
    let exclusive = json!({"exclusiveMinimum": true});
    let error = check(&json!({"$schema": dialect, "not": exclusive})).expect_err("no `minimum`");
    assert_eq!(
        error.to_string(),
        "`exclusiveMinimum` needs `minimum` in draft 4"
    );
    assert_eq!(error.steps().collect::<Vec<_>>(), ["not"]);
}

#[test]
fn s2_1_a_schema_is_an_object() {
    for (schema, found) in [
        (json!(null), "null"),
        (json!(true), "a boolean"),
        (json!(5), "a number"),
        (json!("string"), "a string"),
        (json!([]), "an array"),
    ] {
        let error = check(&schema).expect_err(found);
        assert_eq!(
            error.to_string(),
            format!("a schema must be an object, not {found}")
        );
    }
    assert_eq!(type_name(&json!({})), "an object");
}

#[test]
fn s2_1_the_total_length_of_resolved_references_is_limited_to_1_mib() {
    // Each reference resolves to `/$defs/` and the name of the definition.
    let check = |count: usize, bytes_of_each: usize| {
        let name = "x".repeat(bytes_of_each - "/$defs/".len());
        let references = vec![json!({"$ref": "#"}); count];
        check(&json!({"$defs": {name: {"$id": "y", "allOf": references}}}))
    };
    assert_eq!(check(16, 65_536), Ok(()));
    assert_eq!(check(16, 65_537), Err(SchemaError::TooManyReferences));
    assert_eq!(check(5_000, 100_000), Err(SchemaError::TooManyReferences));
}

#[test]
fn s2_1_schemas_have_at_most_64_levels() {
    let nested = |levels: usize, key: &str, in_list: bool| {
        (1..levels).fold(json!({}), |inner, _| match in_list {
            true => json!({key: [inner]}),
            false => json!({key: inner}),
        })
    };
    assert_eq!(check(&nested(64, "not", false)), Ok(()));
    assert_eq!(check(&nested(65, "not", false)), Err(SchemaError::TooDeep));
    // Each list is a level too.
    assert_eq!(check(&nested(32, "allOf", true)), Ok(()));
    assert_eq!(check(&nested(33, "allOf", true)), Err(SchemaError::TooDeep));
    let lists = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    assert_eq!(check(&json!({"default": lists(63)})), Ok(()));
    assert_eq!(
        check(&json!({"default": lists(64)})),
        Err(SchemaError::TooDeep)
    );
}

#[test]
fn s2_1_schemas_have_at_most_256_kib() {
    let of_size = |bytes: usize| {
        let around = json!({"description": ""}).to_string().len();
        check(&json!({"description": "x".repeat(bytes - around)}))
    };
    assert_eq!(of_size(262_144), Ok(()));
    assert_eq!(of_size(262_145), Err(SchemaError::TooLarge(262_145)));
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
