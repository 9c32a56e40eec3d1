use serde_json::{Map, json};

use super::*;

fn check(side: &str, old: Value, new: Value, expected: &[&str]) {
    let schemas = |schema| match side {
        "params" => MethodSchemas {
            params: Some(schema),
            result: None,
        },
        _ => MethodSchemas {
            params: None,
            result: Some(schema),
        },
    };
    let found = breaking_changes(schemas(&old), schemas(&new));
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    // The keyword in brackets is not compared.
    let found: Vec<_> = found.iter().map(|it| it.split(" (").next()).collect();
    let expected: Vec<_> = expected.iter().map(|it| Some(*it)).collect();
    assert_eq!(found, expected, "from {old} to {new}");
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn a_caller_must_not_have_to_send_more() {
    let text = json!({"type": "string"});
    let both = json!({"a": text, "b": text});
    let old = object(json!({"a": text}), &["a"]);
    check("params", old.clone(), old.clone(), &[]);
    check("params", old.clone(), object(both.clone(), &["a"]), &[]);
    check(
        "params",
        old.clone(),
        object(both.clone(), &["a", "b"]),
        &["`params.b` is required now"],
    );
    check(
        "params",
        json!(true),
        old.clone(),
        &["`params` may accept fewer values"],
    );
    check("params", old.clone(), json!(true), &[]);
    check(
        "params",
        old.clone(),
        json!(false),
        &["`params` may accept fewer values"],
    );
    check("params", object(both.clone(), &["a"]), old.clone(), &[]);
    let mut closed = old;
    closed["additionalProperties"] = json!(false);
    check(
        "params",
        object(both, &["a"]),
        closed,
        &[
            "`params.b` is not accepted any more",
            "`params` may accept fewer values",
        ],
    );
}

#[test]
fn a_param_must_not_accept_fewer_values() {
    let of = |schema: Value| object(json!({"a": schema}), &[]);
    let narrower = &["`params.a` may accept fewer values"][..];
    for (old, new, expected) in [
        (
            json!({"type": "number"}),
            json!({"type": "integer"}),
            narrower,
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "number"}),
            &[][..],
        ),
        (
            json!({"type": ["string", "null"]}),
            json!({"type": "string"}),
            narrower,
        ),
        (
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            &[],
        ),
        (
            json!({"type": "string"}),
            json!({"type": ["number", "null"]}),
            narrower,
        ),
        (json!({"enum": ["a"]}), json!({"type": "string"}), &[]),
        (json!({"enum": [1, 2]}), json!({"enum": [1]}), narrower),
        (json!({"enum": [1]}), json!({"enum": [1, 2]}), &[]),
        (json!({}), json!({"enum": [1]}), narrower),
        (json!({"enum": [1]}), json!({}), &[]),
        (json!({}), json!({"type": "string"}), narrower),
        (
            json!({"description": "x"}),
            json!({"description": "y"}),
            &[],
        ),
    ] {
        check("params", of(old), of(new), expected);
    }
    let list = |item: &str| of(json!({"type": "array", "items": {"type": item}}));
    check(
        "params",
        list("string"),
        list("number"),
        &["`params.a[]` may accept fewer values"],
    );
}

#[test]
fn a_result_must_keep_what_it_promised() {
    let text = json!({"type": "string"});
    let old = object(json!({"a": text, "b": text}), &["a"]);
    check("result", old.clone(), old.clone(), &[]);
    check(
        "result",
        old.clone(),
        object(json!({"a": text}), &["a"]),
        &["`result.b` was removed"],
    );
    check(
        "result",
        old.clone(),
        object(json!({"a": text, "b": text}), &[]),
        &["`result.a` may be missing now"],
    );
    let more = object(json!({"a": text, "b": text, "c": text}), &["a", "c"]);
    check("result", old.clone(), more, &[]);
    let other = object(json!({"a": {"type": "number"}, "b": text}), &["a"]);
    check(
        "result",
        old.clone(),
        other,
        &["`result.a` may have other values now"],
    );
    check(
        "result",
        old.clone(),
        json!({"type": "array"}),
        &["`result` may have other values now"],
    );
    check(
        "result",
        old,
        json!(true),
        &["`result` may have other values now"],
    );
    check("result", json!(true), json!({"type": "string"}), &[]);
}

#[test]
fn local_references_are_followed_and_cycles_end() {
    let tree = |value: &str| {
        json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": object(
                json!({"value": {"type": value}, "next": {"$ref": "#/$defs/node"}}), &["value"],
            )},
        })
    };
    check("params", tree("string"), tree("string"), &[]);
    let narrower = &["`params.value` may accept fewer values"];
    check("params", tree("string"), tree("number"), narrower);
    // Each level has two branches, so each level doubles the number of paths. The check compares
    // each pair of schemas only once.
    let bush = |title: &str| {
        let next = json!({"$ref": "#/$defs/node"});
        json!({
            "title": title,
            "$ref": "#/$defs/node",
            "$defs": {"node": object(json!({"left": next, "right": next}), &[])},
        })
    };
    check("params", bush("a"), bush("b"), &[]);
    let cycle = json!({"$ref": "#"});
    check("params", cycle.clone(), cycle, &[]);
}

#[test]
fn schemas_are_compared_down_to_64_levels() {
    let by_name = |inner: Value| object(json!({"a": inner}), &[]);
    let by_item = |inner: Value| json!({"type": "array", "items": inner});
    let nested = |levels: usize, wrap: &dyn Fn(Value) -> Value, innermost: &str| {
        (0..levels).fold(json!({"type": innermost}), |inner, _| wrap(inner))
    };
    for (step, wrap) in [
        (".a", &by_name as &dyn Fn(Value) -> Value),
        ("[]", &by_item),
    ] {
        let old = |levels| nested(levels, wrap, "string");
        let new = |levels| nested(levels, wrap, "number");
        let change = |levels| format!("`params{}` may accept fewer values", step.repeat(levels));
        check("params", old(63), new(63), &[&change(63)]);
        check("params", old(64), old(64), &[]);
        // A change that is too deep to be compared counts as a break.
        check("params", old(70), new(70), &[&change(64)]);
    }
}

#[test]
fn at_most_50_changes_are_reported() {
    let members = |kind: &str| {
        let members = (0..60).map(|i| (format!("a{i:02}"), json!({"type": kind})));
        object(Value::Object(members.collect()), &[])
    };
    let narrower = |i: usize| format!("`params.a{i:02}` may accept fewer values");
    let expected: Vec<_> = (0..50).map(narrower).collect();
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    check("params", members("string"), members("number"), &expected);
}

#[test]
fn a_schema_that_is_too_large_to_compare_counts_as_a_break() {
    let members = |title: &str, number| {
        let member = |i| (format!("a{i}"), json!({"type": "string"}));
        let members: Map<_, _> = (0..number).map(member).collect();
        json!({"title": title, "properties": members})
    };
    check("params", members("a", 10_000), members("b", 10_000), &[]);
    let found = breaking_changes_of_params(&members("a", 20_050), &members("b", 20_050));
    assert_eq!(found.len(), CHANGES_MAX);
    assert!(found[0].contains("too large to compare"), "{}", found[0]);
}

fn breaking_changes_of_params(old: &Value, new: &Value) -> Vec<String> {
    let [old, new] = [old, new].map(|params| MethodSchemas {
        params: Some(params),
        result: None,
    });
    let found = breaking_changes(old, new);
    found.iter().map(ToString::to_string).collect()
}

/// For each keyword: a schema, schemas that accept more or the same values, and schemas that accept
/// fewer values or that cannot be compared.
fn table() -> Vec<(&'static str, Value, Vec<Value>, Vec<Value>)> {
    let list = |schema: Value| json!({"type": "array", "items": schema});
    vec![
        (
            "type",
            json!({"type": "integer"}),
            vec![
                json!({"type": "number"}),
                json!({"type": ["integer", "null"]}),
                json!({}),
            ],
            vec![json!({"type": "string"}), json!({"type": []}), json!(false)],
        ),
        (
            "enum",
            json!({"enum": [1, "a"]}),
            vec![
                json!({"enum": ["a", 1.0, 2]}),
                json!({"type": ["integer", "string"]}),
            ],
            vec![
                json!({"enum": [1]}),
                json!({"const": 1}),
                json!({"type": "string"}),
            ],
        ),
        (
            "const",
            json!({"const": "a"}),
            vec![
                json!({"const": "a", "type": "string"}),
                json!({"enum": ["a", "b"]}),
            ],
            vec![json!({"const": "b"}), json!({"type": "null"})],
        ),
        (
            "const of a type",
            json!({"type": "string"}),
            vec![json!({"title": "x"})],
            vec![json!({"const": "a"}), json!({"enum": ["a", "b"]})],
        ),
        (
            "minimum",
            json!({"type": "number", "minimum": 5}),
            vec![
                json!({"minimum": 4.5}),
                json!({"minimum": 5.0}),
                json!({"exclusiveMinimum": 4}),
                json!({}),
            ],
            vec![
                json!({"minimum": 6}),
                json!({"exclusiveMinimum": 5}),
                json!({"maximum": 9}),
            ],
        ),
        (
            "exclusiveMinimum",
            json!({"exclusiveMinimum": 5}),
            vec![json!({"minimum": 5}), json!({"exclusiveMinimum": 5})],
            vec![json!({"exclusiveMinimum": 5.5}), json!({"minimum": 6})],
        ),
        (
            "maximum",
            json!({"maximum": 5}),
            vec![json!({"maximum": 6}), json!({"exclusiveMaximum": 6})],
            vec![json!({"maximum": 4}), json!({"exclusiveMaximum": 5})],
        ),
        (
            "exclusiveMaximum",
            json!({"exclusiveMaximum": 5}),
            vec![json!({"maximum": 5})],
            vec![json!({"exclusiveMaximum": 4})],
        ),
        (
            "multipleOf",
            json!({"multipleOf": 10}),
            vec![json!({"multipleOf": 5}), json!({"multipleOf": 10})],
            vec![json!({"multipleOf": 20}), json!({"multipleOf": 3})],
        ),
        (
            "numbers do not limit texts",
            json!({"type": "string"}),
            vec![json!({"minimum": 5, "minItems": 1, "required": ["a"]})],
            vec![],
        ),
        (
            "minLength",
            json!({"minLength": 2}),
            vec![json!({"minLength": 1}), json!({"minLength": 0})],
            vec![json!({"minLength": 3})],
        ),
        (
            "minLength of any",
            json!({}),
            vec![json!({"minLength": 0})],
            vec![json!({"minLength": 1})],
        ),
        (
            "maxLength",
            json!({"maxLength": 9}),
            vec![json!({"maxLength": 10})],
            vec![json!({"maxLength": 3})],
        ),
        (
            "pattern",
            json!({"pattern": "a"}),
            vec![json!({"pattern": "a"}), json!({})],
            vec![json!({"pattern": "b"})],
        ),
        (
            "pattern of any",
            json!({"type": "string"}),
            vec![],
            vec![json!({"type": "string", "pattern": "a"})],
        ),
        (
            "format",
            json!({"format": "date"}),
            vec![json!({})],
            vec![json!({"format": "time"})],
        ),
        (
            "contentEncoding",
            json!({}),
            vec![],
            vec![
                json!({"contentEncoding": "base64"}),
                json!({"contentMediaType": "image/png"}),
            ],
        ),
        (
            "minItems",
            json!({"minItems": 2}),
            vec![json!({"minItems": 1})],
            vec![json!({"minItems": 3})],
        ),
        (
            "maxItems",
            json!({"maxItems": 2}),
            vec![json!({"maxItems": 3})],
            vec![json!({"maxItems": 1})],
        ),
        (
            "uniqueItems",
            json!({}),
            vec![json!({"uniqueItems": false})],
            vec![json!({"uniqueItems": true})],
        ),
        (
            "items",
            list(json!({"type": "integer"})),
            vec![list(json!({"type": "number"})), list(json!(true))],
            vec![
                list(json!({"type": "string"})),
                list(json!(false)),
                list(json!({"type": "integer", "minimum": 1})),
            ],
        ),
        (
            "items of any",
            json!({"type": "array"}),
            vec![],
            vec![list(json!({"type": "string"}))],
        ),
        (
            "prefixItems",
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
            vec![
                json!({"prefixItems": [{}], "items": {"type": "number"}}),
                json!({"prefixItems": [{}, {"type": "number"}]}),
            ],
            vec![
                json!({"prefixItems": [{"type": "string"}, {"type": "string"}]}),
                json!({"items": {"type": "integer"}}),
                json!({"prefixItems": [{}], "items": false}),
            ],
        ),
        (
            "items of older drafts",
            json!({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}),
            vec![json!({"items": [{}], "additionalItems": {"type": "number"}})],
            vec![json!({"items": [{"type": "string"}], "additionalItems": false})],
        ),
        (
            "contains",
            json!({"contains": {"type": "integer"}}),
            vec![
                json!({"contains": {"type": "number"}}),
                json!({"contains": false, "minContains": 0}),
            ],
            vec![
                json!({"contains": {"type": "string"}}),
                json!({"contains": {"type": "integer"}, "minContains": 2}),
                json!({"contains": {"type": "integer"}, "maxContains": 2}),
            ],
        ),
        (
            "minProperties",
            json!({"minProperties": 2}),
            vec![json!({"minProperties": 1})],
            vec![json!({"minProperties": 3})],
        ),
        (
            "maxProperties",
            json!({"maxProperties": 2}),
            vec![json!({"maxProperties": 3})],
            vec![json!({"maxProperties": 1})],
        ),
        (
            "required",
            json!({"required": ["a"]}),
            vec![json!({"required": []})],
            vec![json!({"required": ["a", "b"]})],
        ),
        (
            "dependentRequired",
            json!({"dependentRequired": {"a": ["b"]}}),
            vec![json!({"dependentRequired": {"a": []}})],
            vec![
                json!({"dependentRequired": {"a": ["b", "c"]}}),
                json!({"dependentRequired": {"b": ["a"]}}),
                json!({"dependencies": {"x": ["a"]}}),
            ],
        ),
        (
            "dependentSchemas",
            json!({"dependentSchemas": {"a": {"maxProperties": 3}}}),
            vec![json!({"dependentSchemas": {"a": {"maxProperties": 4}}})],
            vec![
                json!({"dependentSchemas": {"a": {"maxProperties": 2}}}),
                json!({"dependentSchemas": {"b": {"required": ["c"]}}}),
            ],
        ),
        (
            "properties",
            json!({"properties": {"a": {"type": "integer"}}}),
            vec![
                json!({"properties": {"a": {"type": "number"}}}),
                json!({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
            ],
            vec![
                json!({"properties": {"a": {"type": "integer", "minimum": 0}}}),
                json!({"properties": {"a": false}}),
            ],
        ),
        (
            "additionalProperties",
            json!({"additionalProperties": {"type": "integer"}}),
            vec![
                json!({"additionalProperties": {"type": "number"}}),
                json!({"additionalProperties": true}),
            ],
            vec![
                json!({"additionalProperties": false}),
                json!({"additionalProperties": {"type": "string"}}),
                json!({"properties": {"a": {"type": "string"}}}),
            ],
        ),
        (
            "additionalProperties of any",
            json!({"properties": {"a": {"type": "integer"}}}),
            vec![],
            vec![
                json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": false}),
                json!({"additionalProperties": {"type": "string"}}),
            ],
        ),
        (
            "patternProperties",
            json!({"patternProperties": {"^a": {"type": "integer"}}}),
            vec![
                json!({"patternProperties": {"^a": {"type": "number"}}}),
                json!({}),
            ],
            vec![
                json!({"patternProperties": {"^a": {"type": "string"}}}),
                json!({"patternProperties": {"^b": {"type": "integer"}}}),
                json!({"additionalProperties": false}),
            ],
        ),
        (
            "propertyNames",
            json!({"propertyNames": {"maxLength": 9}}),
            vec![
                json!({"propertyNames": {"maxLength": 10}}),
                json!({"propertyNames": true}),
            ],
            vec![
                json!({"propertyNames": {"maxLength": 8}}),
                json!({"propertyNames": {"pattern": "a"}}),
            ],
        ),
        (
            "allOf",
            json!({"type": "string", "maxLength": 5}),
            vec![json!({"allOf": [{"type": "string"}, {"maxLength": 6}]})],
            vec![json!({"allOf": [{"type": "string"}, {"maxLength": 4}]})],
        ),
        (
            "allOf of the old schema",
            json!({"allOf": [{"type": "string"}, {"maxLength": 5}]}),
            vec![json!({"type": "string", "maxLength": 6})],
            vec![json!({"maxLength": 4})],
        ),
        (
            "anyOf",
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            vec![json!({"anyOf": [{"type": "null"}, {"type": "string"}, {"type": "array"}]})],
            vec![
                json!({"anyOf": [{"type": "string"}]}),
                json!({"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]}),
            ],
        ),
        (
            "anyOf of one schema",
            json!({"type": "string"}),
            vec![json!({"anyOf": [{"type": "null"}, {"type": "string"}]})],
            vec![json!({"anyOf": [{"type": "null"}]})],
        ),
        (
            "oneOf",
            json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
            vec![
                json!({"oneOf": [{"type": "string"}, {"type": "null"}, {"type": "array"}]}),
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            ],
            vec![
                json!({"oneOf": [{"type": "string"}]}),
                json!({"oneOf": [{"type": "string"}, {"type": "null"}, {"maxLength": 3}]}),
            ],
        ),
        (
            "not",
            json!({"not": {"type": ["string", "null"]}}),
            vec![json!({"not": {"type": "string"}}), json!({})],
            vec![json!({"not": {"type": "array"}})],
        ),
        (
            "if",
            json!({"if": {"type": "string"}, "then": {"maxLength": 5}}),
            vec![
                json!({"if": {"type": "string"}, "then": {"maxLength": 6}}),
                json!({"if": {"type": "null"}}),
            ],
            vec![
                json!({"if": {"type": "string"}, "then": {"maxLength": 4}}),
                json!({"if": {"type": "null"}, "then": false}),
                json!({"if": {"type": "string"}, "else": {"type": "null"}}),
            ],
        ),
        (
            "unevaluatedProperties",
            json!({"properties": {"a": {}}, "unevaluatedProperties": false}),
            vec![
                json!({"properties": {"a": {}, "b": {}}, "unevaluatedProperties": false}),
                json!({"unevaluatedProperties": true}),
            ],
            vec![
                json!({"properties": {}, "unevaluatedProperties": false}),
                json!({"properties": {"a": {}}, "unevaluatedProperties": false, "anyOf": [{}]}),
            ],
        ),
        (
            "unevaluatedItems",
            json!({}),
            vec![json!({"unevaluatedItems": true})],
            vec![json!({"unevaluatedItems": false})],
        ),
        (
            "an unknown keyword",
            json!({"colour": 1}),
            vec![
                json!({"colour": 1}),
                json!({}),
                json!({"colour": 1, "x-order": 7}),
            ],
            vec![json!({"colour": 2})],
        ),
        (
            "annotations",
            json!({"title": "a"}),
            vec![
                json!({"title": "b", "description": "c", "default": 1, "examples": [2], "deprecated": true, "$comment": "d", "readOnly": true}),
            ],
            vec![],
        ),
        (
            "references",
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
            vec![
                json!({"$ref": "#/definitions/b", "definitions": {"b": {"type": "string"}}}),
                json!({"$ref": "#a", "$defs": {"b": {"$anchor": "a"}}}),
            ],
            vec![
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}),
                json!({"$ref": "#/$defs/a", "maxLength": 5, "$defs": {"a": {"type": "string"}}}),
            ],
        ),
    ]
}

#[test]
fn every_keyword_that_narrows_a_param_or_widens_a_result_is_found() {
    // References begin at the root.
    let object = |schema: &Value| {
        let mut member = schema.clone();
        let mut whole = json!({"type": "object", "required": ["a"]});
        for definitions in ["$defs", "definitions"] {
            let members = member.as_object_mut();
            if let Some(moved) = members.and_then(|it| it.shift_remove(definitions)) {
                whole[definitions] = moved;
            }
        }
        whole["properties"] = json!({"a": member});
        whole
    };
    let breaks = |old: &Value, new: &Value, is_params: bool| {
        let (old, new) = (object(old), object(new));
        let [old, new] = [&old, &new].map(|schema| MethodSchemas {
            params: Some(schema).filter(|_| is_params),
            result: Some(schema).filter(|_| !is_params),
        });
        !breaking_changes(old, new).is_empty()
    };
    for (keyword, schema, wider, narrower) in table() {
        let same = {
            let mut same = object(&schema);
            same["title"] = json!("changed");
            breaking_changes_of_params(&object(&schema), &same)
        };
        assert_eq!(same, [] as [String; 0], "{keyword}: the same schema");
        for wide in wider {
            assert!(
                !breaks(&schema, &wide, true),
                "{keyword}: params {schema} to {wide}"
            );
        }
        for narrow in narrower {
            assert!(
                breaks(&schema, &narrow, true),
                "{keyword}: params {schema} to {narrow}"
            );
            // A member of a result may not be removed, so these rows are about params only.
            if !["properties", "additionalProperties"].contains(&keyword) {
                assert!(
                    breaks(&narrow, &schema, false),
                    "{keyword}: result {narrow} to {schema}"
                );
            }
        }
    }
}
