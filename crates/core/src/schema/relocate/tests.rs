use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::check;

const PLACE: &str = "/components/schemas/a.b";

fn moved(schema: &Value) -> Value {
    assert_eq!(check(schema), Ok(()), "{schema}");
    relocate(schema, PLACE).schema
}

#[test]
fn references_become_pointers_from_the_root() {
    let check = |schema: Value, expected: Value| assert_eq!(moved(&schema), expected, "{schema}");
    check(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}}),
        json!({"$ref": "#/components/schemas/a.b/$defs/a",
               "$defs": {"a": {"$ref": "#/components/schemas/a.b"}}}),
    );
    check(
        json!({"$ref": "#/$defs/a%20b~1c~0d", "$defs": {"a b/c~d": {}}}),
        json!({"$ref": "#/components/schemas/a.b/$defs/a%20b~1c~0d", "$defs": {"a b/c~d": {}}}),
    );
    check(
        json!({"$id": "https://a.example/x", "$ref": "#here", "$defs": {"a": {"$anchor": "here"}}}),
        json!({"$ref": "#/components/schemas/a.b/$defs/a", "$defs": {"a": {}}}),
    );
    check(
        json!({"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}),
        json!({"items": {"$ref": "#/components/schemas/a.b"}}),
    );
    check(
        json!({"$defs": {"a": {"$id": "inner", "$ref": "#/$defs/b", "$defs": {"b": {}}}},
               "$ref": "inner#/$defs/b"}),
        json!({"$defs": {"a": {"$ref": "#/components/schemas/a.b/$defs/a/$defs/b",
                               "$defs": {"b": {}}}},
               "$ref": "#/components/schemas/a.b/$defs/a/$defs/b"}),
    );
    check(
        json!({"$ref": "#/x-parts/a", "x-parts": {"a": {"$ref": "#/x-parts/b"}, "b": true}}),
        json!({"x-parts": {"a": {"$ref": "#/components/schemas/a.b/x-parts/b"}, "b": true},
               "$ref": "#/components/schemas/a.b/x-parts/a"}),
    );
}

#[test]
fn in_older_drafts_an_id_that_begins_with_a_hash_is_an_anchor() {
    let dialect = "http://json-schema.org/draft-07/schema#";
    let here = json!({"$ref": "#/components/schemas/a.b/definitions/a"});
    for id in ["#here", "#h"] {
        let schema = json!({"$schema": dialect, "items": {"$ref": id},
                            "definitions": {"a": {"$id": id}}});
        assert_eq!(
            moved(&schema),
            json!({"items": here, "definitions": {"a": {}}})
        );
    }
    // `#` alone is the id of the schema around it.
    let schema =
        json!({"$schema": dialect, "definitions": {"a": {"$id": "#", "not": {"$ref": "#"}}}});
    let root = json!({"$ref": "#/components/schemas/a.b"});
    assert_eq!(moved(&schema), json!({"definitions": {"a": {"not": root}}}));
}

#[test]
fn a_ref_has_precedence_over_other_references() {
    for other in ["$dynamicRef", "$recursiveRef"] {
        let defs = json!({"a": {}, "b": {}});
        let mut schema = json!({"$defs": defs, "$ref": "#/$defs/a"});
        schema[other] = json!("#/$defs/b");
        if other == "$recursiveRef" {
            schema["$schema"] = json!("https://json-schema.org/draft/2019-09/schema");
            schema[other] = json!("#");
        }
        assert_eq!(
            moved(&schema),
            json!({"$defs": defs, "$ref": "#/components/schemas/a.b/$defs/a"})
        );
    }
}

#[test]
fn data_that_looks_like_a_reference_is_removed_with_the_references_into_it() {
    let check = |schema: Value, expected: Value| assert_eq!(moved(&schema), expected, "{schema}");
    for data in [
        json!({"$ref": "#/nowhere"}),
        json!([1, {"$ref": "#/nowhere"}]),
        json!({"a": [{"b": {"$ref": "#/nowhere"}}]}),
    ] {
        check(
            json!({"title": "t", "default": data}),
            json!({"title": "t"}),
        );
    }
    let harmless = json!({"default": {"$ref": 5, "a": ["$ref"]}});
    check(harmless.clone(), harmless);
    check(
        json!({"title": "t", "$ref": "#/default/a", "default": {"a": {}, "b": {"$ref": "x"}}}),
        json!({"title": "t"}),
    );
}

#[test]
fn a_reference_of_the_moved_schema_resolves_to_its_target() {
    let schema = json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}});
    let relocated = relocate(&schema, PLACE);
    assert!(relocated.has_references);
    let resolve = |reference: &str| relocated.resolve(reference).cloned();
    assert_eq!(
        resolve("#/components/schemas/a.b/$defs/a%20b"),
        Some(json!({"type": "string"}))
    );
    assert_eq!(
        resolve("#/components/schemas/a.b"),
        Some(relocated.schema.clone())
    );
    for unknown in ["#/components/schemas/a.b/$defs/c", "#/$defs/a%20b", "x"] {
        assert_eq!(resolve(unknown), None, "{unknown}");
    }
    let plain = json!({"type": "string", "default": "$ref"});
    assert!(!relocate(&plain, PLACE).has_references);
}

#[test]
fn other_drafts_are_rewritten_for_draft_7() {
    let check = |schema: Value, expected: Value| assert_eq!(moved(&schema), expected, "{schema}");
    check(
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://a.example",
               "minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false}),
        json!({"maximum": 2, "exclusiveMinimum": 1}),
    );
    check(
        json!({"additionalItems": 5, "enum": [], "default": {"$ref": "#/nowhere"}, "x": 1}),
        json!({"x": 1}),
    );
}

/// Data, some of which looks like a reference.
fn data() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!("#"),
        json!([]),
        json!([1, 1]),
        json!({}),
        json!({"$ref": "#/nowhere"}),
        json!([{"a": {"$ref": "x"}}]),
        json!({"a": {"type": "string"}}),
    ])
}

/// A keyword with a value that is legal in most drafts.
fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (&'static str, Value)> {
    let targets = vec![
        "#",
        "#/$defs/a",
        "#/$defs/b%20c",
        "#here",
        "inner",
        "inner#/items",
        "#/x-parts/p",
    ];
    let reference = prop::sample::select(vec!["$ref", "$dynamicRef", "$recursiveRef"]);
    let words = prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "minLength"]);
    let one = prop::sample::select(vec![
        "items",
        "not",
        "if",
        "contains",
        "additionalProperties",
    ]);
    let lists = prop::sample::select(vec!["allOf", "anyOf", "prefixItems", "items"]);
    let maps = prop::sample::select(vec!["properties", "definitions", "dependencies"]);
    let names = prop::sample::select(vec!["a", "b/c", "$ref", "", "é"]);
    let free = vec![
        "const",
        "default",
        "x-more",
        "additionalItems",
        "enum",
        "examples",
        "id",
    ];
    prop_oneof![
        (reference, prop::sample::select(targets)).prop_map(|(key, to)| (key, json!(to))),
        (words, 0..3_u8).prop_map(|(key, n)| (key, json!(n))),
        (one, inner.clone()),
        (lists, prop::collection::vec(inner.clone(), 1..3)).prop_map(|(key, v)| (key, json!(v))),
        (maps, prop::collection::btree_map(names, inner, 0..3)).prop_map(|(k, v)| (k, json!(v))),
        (prop::sample::select(free), data()),
        Just(("exclusiveMaximum", json!(true))),
        Just(("type", json!(["object", "null"]))),
        Just(("required", json!(["a"]))),
        Just(("$anchor", json!("there"))),
        Just(("$id", json!("https://example.com/x"))),
    ]
}

/// A subschema.
fn part() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![any::<bool>().prop_map(Value::from), Just(json!({}))];
    leaf.prop_recursive(3, 20, 3, |inner| {
        let keywords = prop::collection::vec(keyword(inner.boxed()), 0..4);
        keywords.prop_map(|keywords| {
            let keywords = keywords.into_iter();
            Value::Object(keywords.map(|(key, v)| (key.to_owned(), v)).collect())
        })
    })
}

/// A schema that contains the targets of the references above.
fn schema() -> impl Strategy<Value = Value> {
    let dialects = prop::sample::select(vec![
        None,
        None,
        Some("http://json-schema.org/draft-04/schema#"),
        Some("http://json-schema.org/draft-06/schema#"),
        Some("http://json-schema.org/draft-07/schema"),
        Some("https://json-schema.org/draft/2019-09/schema"),
        Some("https://json-schema.org/draft/2020-12/schema"),
    ]);
    let parts = (part(), part(), part(), part());
    (dialects, parts, part()).prop_map(|(dialect, (a, b, inner, p), mut root)| {
        if let Some(root) = root.as_object_mut() {
            let defs = json!({
                "a": a, "b c": b, "i": {"$id": "inner", "items": inner}, "h": {"$anchor": "here"},
            });
            root.insert("$defs".to_owned(), defs);
            root.insert("x-parts".to_owned(), json!({"p": p}));
            root.extend(dialect.map(|dialect| ("$schema".to_owned(), json!(dialect))));
        }
        root
    })
}

/// Every member named `$ref` that is a string, wherever it is.
fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(list) => list.iter().flat_map(references).collect(),
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str);
            own.into_iter()
                .chain(map.values().flat_map(references))
                .collect()
        }
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_global_rejects: 100_000, ..ProptestConfig::default() })]
    #[test]
    fn every_legal_schema_becomes_a_valid_part_of_a_document(schema in schema()) {
        prop_assume!(check(&schema).is_ok());
        let relocated = relocate(&schema, PLACE);
        let document = json!({"components": {"schemas": {"a.b": relocated.schema}}});
        for reference in references(&document) {
            prop_assert!(relocated.resolve(reference).is_some(), "{} in {}", reference, document);
        }
        let valid = jsonschema::draft7::meta::validate(&relocated.schema);
        prop_assert!(valid.is_ok(), "{:?} in {}", valid.err(), relocated.schema);
    }
}
