use proptest::prelude::*;
use serde_json::json;

use super::{super::check, *};

fn made(schema: Value, expected: Value) {
    assert_eq!(example(&schema), Some(expected), "{schema}");
}

#[test]
fn an_example_has_the_required_members_and_one_element_for_each_array() {
    made(
        json!({
            "type": "object",
            "required": ["customer", "items"],
            "additionalProperties": false,
            "properties": {
                "note": {"type": "string"},
                "customer": {"$ref": "#/$defs/customer"},
                "items": {"type": "array", "minItems": 1, "items": {
                    "type": "object",
                    "required": ["sku", "quantity"],
                    "properties": {
                        "sku": {"type": "string", "minLength": 3, "description": "d"},
                        "quantity": {"type": "integer", "minimum": 2},
                    },
                }},
            },
            "$defs": {"customer": {
                "type": "object",
                "required": ["name", "email"],
                "properties": {
                    "name": {"type": ["string", "null"], "examples": ["Ada"]},
                    "email": {"type": "string", "format": "email"},
                },
            }},
        }),
        json!({
            "customer": {"name": "Ada", "email": "ada@example.com"},
            "items": [{"sku": "………", "quantity": 2}],
        }),
    );
}

#[test]
fn an_example_fits_the_bounds_of_its_schema() {
    made(json!({}), json!("…"));
    made(json!({"type": "object"}), json!({}));
    made(
        json!({"properties": {"a": {}}, "minProperties": 1}),
        json!({"a": "…"}),
    );
    made(json!({"type": "array", "maxItems": 0}), json!([]));
    made(json!({"type": "array", "items": false}), json!([]));
    made(json!({"type": "string", "maxLength": 0}), json!(""));
    made(json!({"type": "string", "default": "x"}), json!("x"));
    made(json!({"type": "integer", "default": "x"}), json!(1));
    made(json!({"type": "integer", "exclusiveMinimum": 4}), json!(5));
    made(json!({"type": "integer", "maximum": -3}), json!(-3));
    made(
        json!({"type": "integer", "multipleOf": 7, "minimum": 1}),
        json!(7),
    );
    made(
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}),
        json!(0.5),
    );
    made(json!({"enum": [1, "a"], "type": "string"}), json!("a"));
    made(json!({"const": {"a": 1}}), json!({"a": 1}));
    made(json!({"allOf": [{"type": "boolean"}]}), json!(true));
    made(
        json!({"anyOf": [{"not": {}}, {"type": "null"}]}),
        json!(null),
    );
}

#[test]
fn an_example_of_one_branch_is_rejected_by_the_others() {
    let tagged = |tag: &str| {
        json!({"type": "object", "required": ["kind"],
               "properties": {"kind": {"const": tag}}})
    };
    made(
        json!({"oneOf": [tagged("a"), tagged("b")]}),
        json!({"kind": "a"}),
    );
    made(
        json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
        json!("…"),
    );
    let overlapping = json!({"oneOf": [{"type": "string"}, {"minLength": 1}]});
    assert_eq!(example(&overlapping), None);
}

#[test]
fn there_is_no_example_if_it_might_be_wrong() {
    for schema in [
        json!(false),
        json!({"type": "string", "pattern": "^a+$"}),
        json!({"not": {"type": "string"}}),
        json!({"type": "object", "required": ["a"], "additionalProperties": false}),
        json!({"type": "object", "required": ["a"], "patternProperties": {"a": false}}),
        json!({"type": "array", "contains": {"const": 1}}),
        json!({"type": "array", "minItems": 1_000}),
        json!({"type": "integer", "minimum": 2, "maximum": 1}),
        json!({"type": "string", "const": 1}),
        json!({"allOf": [{"type": "string"}, {"minLength": 2}]}),
        json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"}),
    ] {
        assert_eq!(example(&schema), None, "{schema}");
    }
}

#[test]
fn an_example_is_made_from_a_limited_number_of_schemas() {
    // Each level refers to the next one twice.
    let mut definitions = Map::new();
    for level in 0..14 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let two = json!({"type": "object", "required": ["a", "b"],
                         "properties": {"a": next, "b": next}});
        definitions.insert(format!("d{level}"), two);
    }
    definitions.insert("d14".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert_eq!(example(&schema), None);
}

fn leaf() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-3..4_i64).prop_map(Value::from),
        Just(json!(0.5)),
        Just(json!(1.0))
    ];
    let scalar = prop_oneof![
        number.clone(),
        Just(json!("a")),
        Just(json!(null)),
        Just(json!(true)),
    ];
    let kind = prop::sample::select(vec![
        "object", "array", "string", "integer", "number", "boolean", "null",
    ]);
    prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        kind.clone().prop_map(|kind| json!({"type": kind})),
        (kind.clone(), kind).prop_filter_map("different", |(a, b)| {
            (a != b).then(|| json!({"type": [a, b]}))
        }),
        scalar.clone().prop_map(|value| json!({"const": value})),
        prop::collection::vec(scalar.clone(), 1..3).prop_map(|values| json!({"enum": values})),
        (number.clone(), number.clone())
            .prop_map(|(low, high)| { json!({"minimum": low, "exclusiveMaximum": high}) }),
        (number.clone(), 1..5_i64).prop_map(|(high, factor)| {
            json!({"type": "integer", "maximum": high, "multipleOf": factor})
        }),
        (0..4_u64, 0..4_u64, scalar).prop_map(|(least, most, default)| {
            json!({"type": "string", "minLength": least, "maxLength": most, "default": default})
        }),
        prop::sample::select(vec!["date", "email", "uuid", "regex", "ipv6", "own"])
            .prop_map(|format| json!({"type": "string", "format": format})),
        Just(json!({"$ref": "#/$defs/a"})),
    ]
}

fn schemas() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 3, |inner| {
        let names = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (
                names.clone(),
                names,
                some.clone(),
                prop::option::of(inner.clone()),
                0..4_u64
            )
                .prop_map(|(required, declared, schemas, others, least)| {
                    let properties: Map<String, Value> = declared
                        .into_iter()
                        .map(str::to_owned)
                        .zip(schemas)
                        .collect();
                    let mut object = json!({"properties": properties, "required": required});
                    if let Some(others) = others {
                        object["additionalProperties"] = others;
                    }
                    object["minProperties"] = least.into();
                    object
                }),
            (inner.clone(), 0..3_u64, 0..3_u64, any::<bool>()).prop_map(
                |(items, least, most, unique)| {
                    json!({"items": items, "minItems": least, "maxItems": most,
                           "uniqueItems": unique})
                }
            ),
            some.clone().prop_map(|list| json!({"anyOf": list})),
            some.clone()
                .prop_map(|list| json!({"oneOf": list, "type": "object"})),
            some.clone().prop_map(|list| json!({"oneOf": list})),
            some.prop_map(|list| json!({"allOf": list})),
            inner.prop_map(|not| json!({"not": not, "type": "string"})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn a_schema_accepts_its_example(
            schema in schemas(),
            shared in leaf().prop_filter("no loop", |leaf| leaf.get("$ref").is_none()),
        ) {
        let mut root = json!({"allOf": [schema], "$defs": {"a": shared}});
        prop_assume!(check(&root).is_ok());
        for dialect in [
            "https://json-schema.org/draft/2020-12/schema",
            "http://json-schema.org/draft-07/schema#",
        ] {
            root["$schema"] = dialect.into();
            let Some(value) = example(&root) else {
                continue;
            };
            let validator = jsonschema::options()
                .should_validate_formats(true)
                .build(&root);
            let validator = validator.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert!(validator.is_valid(&value), "{}: {}", root, value);
        }
    }
}
