//! Compares [`check_values`] with the meta-schemas of an independent validator.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Keywords of every draft, and one of none.
const NAMES: [&str; 62] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$vocabulary",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "id",
    "if",
    "items",
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
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];

/// Values that are right for some keywords. All texts are URI references and regular expressions,
/// because [`check_values`] does not check formats.
fn values() -> Vec<Value> {
    let texts = [
        "", "a", "_a", "1a", "a:b", "a.-1", "a#", "#a", "string", "null",
    ]
    .map(Value::from);
    let others = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(2.0),
        json!(-0.0),
        json!(0.5),
        json!(u64::MAX),
        json!([]),
        json!(["a"]),
        json!(["a", "b"]),
        json!(["a", "a"]),
        json!(["string", "null"]),
        json!(["string", "string"]),
        json!(["string", 5]),
        json!([1, 1]),
        json!([{}]),
        json!([true, {"type": "text"}]),
        json!([{}, 5]),
        json!({}),
        json!({"a": true}),
        json!({"a": {}, "b": true}),
        json!({"a": []}),
        json!({"a": ["b"]}),
        json!({"a": ["b", "b"]}),
        json!({"a": "b"}),
        json!({"type": 5}),
    ];
    [&texts[..], &others].concat()
}

/// Compares a schema in each draft. Returns whether a draft accepts the schema.
fn compare(mut schema: Value) -> Result<bool, TestCaseError> {
    let mut accepted = 0;
    for (dialect, draft) in DIALECTS {
        schema["$schema"] = dialect.into();
        let expected = jsonschema::meta::validate(&schema);
        let found = check_values(&schema, draft);
        prop_assert_eq!(
            found.is_empty(),
            expected.is_ok(),
            "{}: {:?}, but {:?}",
            schema,
            found,
            expected
        );
        accepted += usize::from(found.is_empty());
    }
    Ok(accepted > 0)
}

#[test]
fn s2_1_each_value_of_each_keyword_is_accepted_as_by_the_meta_schemas() {
    let mut accepted = 0;
    for name in NAMES {
        for value in values() {
            for schema in [
                json!({name: value, "maximum": 2}),
                json!({"not": {name: value}}),
            ] {
                let result = compare(schema);
                accepted += usize::from(result.unwrap_or_else(|error| panic!("{error}")));
            }
        }
    }
    // Both kinds of schemas occur often.
    assert!((1_000..4_000).contains(&accepted), "{accepted}");
}

/// A schema, or data that is no schema.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(values());
    leaf.prop_recursive(4, 40, 4, |inner| {
        let name = || prop::sample::select(NAMES.to_vec());
        let members = prop::collection::vec((name(), inner.clone()), 0..4);
        let members = members.prop_map(|members| {
            let members = members.into_iter();
            Value::Object(members.map(|(name, v)| (name.to_owned(), v)).collect())
        });
        let named = prop::collection::btree_map("[ab]", inner.clone(), 1..3);
        let list = prop::collection::vec(inner, 0..3);
        prop_oneof![
            4 => members,
            1 => named.prop_map(|named| json!(named)),
            1 => list.prop_map(Value::Array),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn s2_1_nested_schemas_are_accepted_as_by_the_meta_schemas(schema in schema()) {
        compare(json!({"not": schema}))?;
    }
}
