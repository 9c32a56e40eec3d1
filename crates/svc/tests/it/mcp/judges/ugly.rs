//! Unusual but legal methods: schemas that clients are known to fail on.

use serde_json::{Map, Value, json};

/// Name, `params_schema` and `result_schema`; `null` means no schema.
pub fn schemas() -> Vec<(&'static str, Value, Value)> {
    let mut all = roots();
    all.extend(references());
    all.extend(words());
    all.extend(patterns());
    all.extend(sizes());
    all.extend(headers());
    all
}

/// Unusual root schemas.
fn roots() -> Vec<(&'static str, Value, Value)> {
    let alternatives = json!([{"required": ["a"]}, {"type": "object"}, {"not": {}}, true]);
    let booleans = json!({
        "type": "object",
        "properties": {"a": true, "b": false, "c": {"items": true}},
        "patternProperties": {"^x": false},
        "additionalProperties": true,
        "propertyNames": true,
        "unevaluatedProperties": false,
    });
    vec![
        ("no_schemas", json!(null), json!(null)),
        ("empty", json!({}), json!({})),
        (
            "no_root_type",
            json!({"properties": {"a": {"type": "string"}}}),
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        (
            "alternatives",
            json!({"type": "object", "anyOf": alternatives, "oneOf": alternatives, "not": false}),
            json!({"anyOf": [{"type": "object"}, {"type": "null"}]}),
        ),
        ("booleans", booleans.clone(), booleans),
        (
            "result_array",
            json!({"type": "object"}),
            json!({"type": "array", "items": {"type": "object"}}),
        ),
        ("result_string", json!(null), json!({"type": "string"})),
        ("result_null", json!(null), json!({"type": "null"})),
        (
            "result_two_types",
            json!(null),
            json!({"type": ["object", "null"], "properties": {}}),
        ),
        ("result_const", json!(null), json!({"const": null})),
        ("result_never", json!(null), json!({"not": {}})),
    ]
}

/// References and identifiers.
fn references() -> Vec<(&'static str, Value, Value)> {
    let tree = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}, "self": {"$ref": "#"}},
        "$defs": {"tree": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        }},
    });
    let circle = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    });
    let escaped = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a%20b~1c~0d", "type": "string", "title": "x"}},
        "$defs": {"a b/c~d": {"minLength": 1}},
    });
    let anchored = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$dynamicAnchor": "node",
        "properties": {
            "next": {"$dynamicRef": "#node"},
            "here": {"$ref": "#here"},
        },
        "$defs": {"x": {"$anchor": "here", "type": "integer"}},
    });
    let same_id = |kind: &str| {
        json!({
            "$id": "https://example.com/same",
            "type": "object",
            "properties": {"a": {"type": kind}},
        })
    };
    let old = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "http://example.com/old#",
        "type": "object",
        "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": true}},
        "definitions": {"x": {"type": "string"}},
        "dependencies": {"n": ["m"]},
    });
    let seventh = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "string"}, true]}},
        "dependencies": {"a": {"required": ["b"]}},
    });
    vec![
        ("tree", tree.clone(), tree),
        ("circle", circle.clone(), circle),
        ("escaped", escaped.clone(), escaped),
        ("anchored", anchored.clone(), anchored),
        ("same_id_1", same_id("string"), same_id("string")),
        ("same_id_2", same_id("integer"), same_id("integer")),
        ("draft_4", old.clone(), old),
        ("draft_7", seventh.clone(), seventh),
        (
            "result_reference",
            json!(null),
            json!({"$ref": "#/$defs/r", "$defs": {"r": {"type": "object"}}}),
        ),
    ]
}

/// Names with a special meaning in some languages, unknown keywords, unusual values.
fn words() -> Vec<(&'static str, Value, Value)> {
    let names = [
        "__proto__",
        "constructor",
        "prototype",
        "toString",
        "hasOwnProperty",
        "then",
        "toJSON",
        "$",
        "",
        " ",
        "a.b",
        "a/b~c",
        "a\"b\\c",
        "\n\t\u{7f}",
        "ключ",
        "\u{1f980}",
        "e\u{301}",
        "\u{202e}drawkcab",
        "$ref",
        "type",
        "properties",
        "self",
        "class",
        "model_config",
        "_meta",
    ];
    let properties: Map<String, Value> = names
        .iter()
        .map(|&name| (name.to_owned(), json!({"type": "string", "title": name})))
        .collect();
    let named = json!({"type": "object", "properties": properties, "required": names});
    let unknown = json!({
        "type": "object",
        "nullable": true,
        "$async": true,
        "discriminator": {"propertyName": "kind"},
        "errorMessage": "no",
        "no such keyword": {"$ref": "#/nowhere"},
        "properties": {"a": {
            "type": ["string", "number"],
            "format": "no-such-format",
            "minimum": 3,
            "if": true,
            "transform": ["trim"],
            "formatMinimum": "x",
            "$data": "1/b",
        }},
        "required": ["never_defined"],
    });
    let values = json!({
        "type": "object",
        "title": "\u{0}\u{1}",
        "default": null,
        "examples": [null, {"__proto__": 1}],
        "properties": {
            "a": {"const": null, "default": {"$ref": "#/nowhere"}},
            "b": {"enum": [null, 1, "1", {"a": [{}]}, [], 1.5e300]},
            "c": {"multipleOf": 1e-300, "maximum": 1.7e308, "minimum": -9007199254740993_i64},
        },
    });
    vec![
        ("names", named.clone(), named),
        ("unknown", unknown.clone(), unknown),
        ("values", values.clone(), values),
    ]
}

/// Regular expressions that not every engine supports, or that are slow.
fn patterns() -> Vec<(&'static str, Value, Value)> {
    let schema = |patterns: &[&str]| {
        let properties: Map<String, Value> = patterns
            .iter()
            .enumerate()
            .map(|(n, pattern)| {
                (
                    format!("p{n}"),
                    json!({"type": "string", "pattern": pattern}),
                )
            })
            .collect();
        let by_pattern: Map<String, Value> = patterns
            .iter()
            .map(|&pattern| (pattern.to_owned(), json!({})))
            .collect();
        json!({"type": "object", "properties": properties, "patternProperties": by_pattern})
    };
    let look = schema(&[r"^(?=.*\d)(?!a).{3,}$", r"(?<!x)y", r"(a+)\1"]);
    let foreign = schema(&[
        r"\A[a-z]+\z",
        "(?i)abc",
        "(?P<name>a)",
        "[[:alpha:]]",
        r"\x{41}",
        r"\p{Greek}",
        r"[a-z&&[^b]]",
        r"\-\_",
    ]);
    let slow = schema(&["^(a+)+$", "(x{1,1000}){1,1000}"]);
    vec![
        ("look_around", look.clone(), look),
        ("foreign_patterns", foreign.clone(), foreign),
        ("slow_patterns", slow.clone(), slow),
    ]
}

/// Large schemas.
fn sizes() -> Vec<(&'static str, Value, Value)> {
    let choices: Vec<String> = (0..5_000).map(|n| format!("choice number {n}")).collect();
    let huge = json!({"type": "object", "properties": {"a": {"enum": choices}}});
    let mut deep = json!({"type": "string"});
    for level in 0..29 {
        deep = match level % 2 {
            0 => json!({"type": "object", "properties": {"a": deep}}),
            _ => json!({"type": "array", "items": deep}),
        };
    }
    let deep = json!({"type": "object", "properties": {"deep": deep}});
    let properties: Map<String, Value> = (0..2_000)
        .map(|n| (format!("p{n}"), json!({"type": "integer"})))
        .collect();
    let wide = json!({"type": "object", "properties": properties});
    vec![
        ("huge", huge.clone(), huge),
        ("deep", deep.clone(), deep),
        ("wide", wide.clone(), wide),
    ]
}

/// Invalid `x-mcp-header` annotations, which ask clients for headers.
fn headers() -> Vec<(&'static str, Value, Value)> {
    let header = |name: Value| json!({"type": "string", "x-mcp-header": name});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    vec![
        (
            "header_twice",
            object(json!({"a": header(json!("Same")), "b": header(json!("same"))})),
            json!(null),
        ),
        (
            "header_injected",
            object(json!({"a": header(json!("A\r\nAuthorization: x"))})),
            json!(null),
        ),
        (
            "header_empty",
            object(json!({"a": header(json!(""))})),
            json!(null),
        ),
        (
            "header_number",
            object(json!({"a": header(json!(7))})),
            json!(null),
        ),
        (
            "header_misplaced",
            object(json!({
                "a": {"type": "array", "items": header(json!("Item"))},
                "b": {"type": "object", "x-mcp-header": "Whole"},
                "c": {"oneOf": [header(json!("One"))]},
            })),
            object(json!({"a": header(json!("Result"))})),
        ),
    ]
}
