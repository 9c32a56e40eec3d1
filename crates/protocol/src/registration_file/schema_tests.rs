//! The JSON Schema of the registration file agrees with the parser.

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use svc_core::{
    SpaceName, UserName,
    registration::{Registration, file_schema},
};

use crate::document::{read_toml, read_value};

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft7::new(&file_schema()).expect("a schema"));

fn is_accepted(value: Value) -> bool {
    let space = SpaceName::parse("lab").expect("valid");
    let owner = UserName::parse("ann").expect("valid");
    let registration = read_value::<Registration>(value);
    registration.is_ok_and(|registration| registration.check(&space, &owner).is_ok())
}

/// A registration with every field.
fn full() -> Value {
    json!({
        "version": 1,
        "server": {
            "type": "stdio", "command": "x", "args": ["a"], "timeout": 30, "mode": "concurrent",
            "max_in_flight": 2, "trace": true, "env": {"A": "1"},
        },
        "methods": [{
            "name": "{{space}}.a", "local_name": "a", "description": "d", "keywords": ["k"],
            "scope": "shared", "groups": ["ops"], "mcp_tool": false,
            "params_schema": {"type": "object", "properties": {"q": {"type": ["string", "null"]}}},
            "result_schema": {"items": {"minLength": 1}}, "events": ["custom.*", "*"],
            "event_sinks": ["short"], "event_overflow": "hold",
            "journal": "payloads", "journal_redact": ["/a/*/b~1c"],
        }],
    })
}

#[test]
fn s2_1_the_schema_accepts_the_examples() {
    for text in [
        include_str!("../../../../examples/node-tasks/methods.toml"),
        include_str!("../../../../examples/notes/methods.toml"),
        include_str!("../../../../examples/python-notes/methods.toml"),
        include_str!("../../../svc/tests/judges/fixture/methods.toml"),
    ] {
        let value: Value = read_toml(text)
            .map_err(|error| error.message)
            .expect("TOML");
        let errors: Vec<_> = VALIDATOR
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert!(is_accepted(value));
    }
    assert!(VALIDATOR.is_valid(&full()));
    assert!(is_accepted(full()));
}

#[test]
fn s2_1_the_schema_describes_every_field_for_editors() {
    let schema = file_schema();
    let written = json!(read_value::<Registration>(full()).expect("valid"));
    let described = |definition: &Value, fields: &Value| {
        for field in fields.as_object().expect("an object").keys() {
            let text = &definition["properties"][field];
            let text = text["description"].as_str();
            assert!(
                text.is_some_and(|text| text.len() > 10),
                "{field}: {definition:#}"
            );
        }
    };
    described(
        &schema["definitions"]["ServerDefinition"],
        &written["server"],
    );
    described(
        &schema["definitions"]["MethodDefinition"],
        &written["methods"][0],
    );
}

/// Values that may replace a part of a registration.
fn values() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(4_000),
        json!(5_000_000_000_u64),
        json!(""),
        json!(" "),
        json!("x"),
        json!("rpc.x"),
        json!("a b"),
        json!("$/x"),
        json!("$x"),
        json!("serial"),
        json!("private"),
        json!("space.*"),
        json!("payloads"),
        json!("/a/*"),
        json!("/a~2"),
        json!("*.x"),
        json!("x".repeat(5_000)),
        json!([]),
        json!(["x"]),
        json!([""]),
        json!([1]),
        json!({}),
        json!({"type": "string"}),
        json!({"type": "text"}),
        json!({"x": "y"}),
        json!({"properties": {"a": 1}}),
    ])
}

/// Every position in a registration: pointers to all values, and a pointer to an unknown key in
/// each table.
fn places() -> Vec<String> {
    fn collect(value: &Value, at: &str, places: &mut Vec<String>) {
        places.push(at.to_owned());
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    collect(member, &format!("{at}/{key}"), places);
                }
                places.push(format!("{at}/unknown"));
            }
            Value::Array(list) => {
                for (index, item) in list.iter().enumerate() {
                    collect(item, &format!("{at}/{index}"), places);
                }
            }
            _ => {}
        }
    }
    let mut places = Vec::new();
    collect(&full(), "", &mut places);
    places
}

fn set(document: &mut Value, place: &str, value: Option<Value>) {
    let Some((parent, key)) = place.rsplit_once('/') else {
        if let Some(value) = value {
            *document = value;
        }
        return;
    };
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            match value {
                Some(value) => members.insert(key.to_owned(), value),
                None => members.shift_remove(key),
            };
        }
        Some(Value::Array(list)) => {
            // An earlier change may have made the list shorter.
            let item = key
                .parse()
                .ok()
                .and_then(|index: usize| list.get_mut(index));
            if let (Some(item), Some(value)) = (item, value) {
                *item = value;
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn s2_1_the_schema_and_the_parser_agree(
        changes in prop::collection::vec(
            (prop::sample::select(places()), prop::option::of(values())), 1..3),
    ) {
        let mut document = full();
        for (place, value) in changes {
            set(&mut document, &place, value);
        }
        let is_valid = VALIDATOR.is_valid(&document);
        // The schema accepts every file that svc accepts, so editors report no error in such a
        // file. A file that the schema accepts has only values of the right types.
        if is_accepted(document.clone()) {
            prop_assert!(is_valid, "{}", document);
        }
        if is_valid {
            let read = read_value::<Registration>(document.clone());
            prop_assert!(read.is_ok(), "{:?}: {}", read.err(), document);
        }
    }
}
