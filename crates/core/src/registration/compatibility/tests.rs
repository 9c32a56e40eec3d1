use serde_json::json;

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
        &["`params` accepts fewer values"],
    );
    check("params", old.clone(), json!(true), &[]);
    check(
        "params",
        old.clone(),
        json!(false),
        &["`params` accepts fewer values"],
    );
    check("params", object(both.clone(), &["a"]), old.clone(), &[]);
    let mut closed = old;
    closed["additionalProperties"] = json!(false);
    check(
        "params",
        object(both, &["a"]),
        closed,
        &["`params.b` is not accepted any more"],
    );
}

#[test]
fn a_param_must_not_accept_fewer_values() {
    let of = |schema: Value| object(json!({"a": schema}), &[]);
    let narrower = &["`params.a` accepts fewer values"][..];
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
        &["`params.a[]` accepts fewer values"],
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
    let narrower = &["`params.value` accepts fewer values"];
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
fn schemas_are_compared_down_to_32_levels() {
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
        let change = format!("`params{}` accepts fewer values", step.repeat(31));
        check("params", old(31), new(31), &[&change]);
        check("params", old(32), new(32), &[]);
    }
}

#[test]
fn at_most_50_changes_are_reported() {
    let members = |kind: &str| {
        let members = (0..60).map(|i| (format!("a{i:02}"), json!({"type": kind})));
        object(Value::Object(members.collect()), &[])
    };
    let narrower = |i: usize| format!("`params.a{i:02}` accepts fewer values");
    let expected: Vec<_> = (0..50).map(narrower).collect();
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    check("params", members("string"), members("number"), &expected);
}

#[test]
fn at_most_10_000_pairs_of_schemas_are_compared() {
    // The root is the first pair, so only the first 9,999 members are compared.
    let members = |changed: usize, kind: &str| {
        let member = |i| match i == changed {
            true => json!({"type": kind}),
            false => json!(true),
        };
        let members = (0..10_001).map(|i| (format!("a{i:05}"), member(i)));
        object(Value::Object(members.collect()), &[])
    };
    for (changed, expected) in [
        (9_998, &["`params.a09998` accepts fewer values"][..]),
        (9_999, &[]),
    ] {
        let (old, new) = (members(changed, "string"), members(changed, "number"));
        check("params", old, new, expected);
    }
}
