//! Compares the fast parser with serde. The fast parser may leave a text to serde, but must never
//! read a text differently.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{DEPTH_MAX, members, value};
use crate::jsonrpc::{nests_deeper_than, present};

const NAMES: [&str; 3] = ["id", "jsonrpc", "params"];

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

fn members_by_serde(json: &[u8]) -> Option<[Option<&str>; 3]> {
    let members: Members<'_> = serde_json::from_slice(json).ok()?;
    if json.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    Some([members.id, members.jsonrpc, members.params].map(|value| value.map(RawValue::get)))
}

fn value_by_serde(json: &[u8]) -> Option<&str> {
    serde_json::from_slice::<&RawValue>(json)
        .ok()
        .map(RawValue::get)
}

/// Checks that the fast parser, if it accepts a text, reads it like serde.
fn compare(json: &[u8]) {
    let shown = String::from_utf8_lossy(json);
    if let Some(found) = members(json, NAMES) {
        assert_eq!(Some(found), members_by_serde(json), "{shown}");
    }
    if let Some(found) = value(json) {
        assert_eq!(Some(found), value_by_serde(json), "{shown}");
        // Callers rely on this bound instead of measuring the depth.
        assert!(!nests_deeper_than(found, DEPTH_MAX), "{shown}");
    }
}

/// JSON values, and texts that are almost JSON values.
const VALUES: [&str; 50] = [
    "null",
    "true",
    "false",
    "nul",
    "True",
    "0",
    "-0",
    "01",
    "00",
    "-",
    "-a",
    "1.",
    ".5",
    "1.5",
    "1e5",
    "1E+5",
    "1e-5",
    "1e",
    "1e+",
    "0e1",
    "0.0e0",
    "1a",
    "1.5.5",
    "+1",
    "1e999",
    "12345678901234567890123",
    "\"\"",
    "\"a\"",
    "\"",
    "\"\\",
    "\"\\\"\"",
    "\"\\u00e9\"",
    "\"\\ud800\"",
    "\"\\u00g0\"",
    "\"\\x\"",
    "\"\\n\\t\\/\\b\\f\\r\\\\\"",
    "\"é😀\"",
    "\"longer than eight bytes\"",
    "\"12345678\\\"1234567\\\\\"",
    "\"tab\there\"",
    "\"\u{7f}\"",
    "{}",
    "[]",
    "{ }",
    "[ ]",
    "[1,]",
    "{\"a\":1,}",
    "{\"a\" : [ 1 , {\"b\":null} ] }",
    "[[[[]]],{}]",
    "[1 2]",
];

#[test]
fn every_kind_of_value_is_read_as_serde_reads_it() {
    for text in VALUES {
        assert_eq!(
            value(text.as_bytes()),
            value_by_serde(text.as_bytes()),
            "{text}"
        );
        for around in [
            format!(" {text}\n"),
            format!("{{\"params\":{text}}}"),
            format!("{{ \"id\" : {text} , \"params\" : {text} }}\r\n"),
            format!("{{\"id\":{text}}} x"),
            format!("[{text},{text}]"),
            format!("{{\"a\":{text}}}"),
        ] {
            compare(around.as_bytes());
        }
    }
}

#[test]
fn the_end_of_a_long_string_is_found_at_every_position() {
    for length in 0..300 {
        for special in ["", "\\n", "é", "\"", "\n", "\u{0}"] {
            for at in (0..=length).filter(|at| at % 7 == 0 || length - at < 9) {
                let (before, after) = ("x".repeat(at), "x".repeat(length - at));
                let text = format!("\"{before}{special}{after}\"");
                assert_eq!(
                    value(text.as_bytes()),
                    value_by_serde(text.as_bytes()),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn the_usual_shapes_are_parsed_without_serde() {
    let usual = br#" {"jsonrpc":"2.0","params":{"a":[1,{"b":"\n"}]},"id":7} "#;
    let expected = [Some("7"), Some("\"2.0\""), Some(r#"{"a":[1,{"b":"\n"}]}"#)];
    assert_eq!(members(usual, NAMES), Some(expected));
    assert_eq!(
        members(br#"{"id":null}"#, NAMES),
        Some([Some("null"), None, None])
    );
}

#[test]
fn unusual_shapes_are_left_to_serde() {
    for unusual in [
        "{}",
        "[]",
        r#"{"id":1,"id":2}"#,
        r#"{"id":1,"other":2}"#,
        r#"{"\u0069d":1}"#,
        r#"{"id":1"#,
        r#"{"id"}"#,
    ] {
        assert_eq!(members(unusual.as_bytes(), NAMES), None, "{unusual}");
    }
    let nested = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(value(nested(64).as_bytes()).is_some());
    assert!(value(nested(65).as_bytes()).is_none());
    let empty_inside = |depth| format!("{}{{}}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(value(empty_inside(64).as_bytes()).is_some());
    assert!(nests_deeper_than(&empty_inside(64), DEPTH_MAX - 1));
    assert!(value(empty_inside(65).as_bytes()).is_none());
    assert_eq!(value(b"\"\xff\""), None);
}

/// Tokens of JSON in random order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let tokens = prop_oneof![
        4 => prop::sample::select(VALUES.to_vec()).prop_map(str::to_owned),
        6 => prop::sample::select(vec!["{", "}", "[", "]", ",", ":", " ", "\n", "\""])
            .prop_map(str::to_owned),
        6 => prop::sample::select(vec!["\"id\":", "\"jsonrpc\":", "\"params\":", "\"i\\u0064\":"])
            .prop_map(str::to_owned),
        1 => Just("\u{0}".to_owned()),
    ];
    prop::collection::vec(tokens, 0..12).prop_map(|tokens| tokens.concat().into_bytes())
}

/// A request with one byte replaced, removed or doubled.
fn mutations() -> impl Strategy<Value = Vec<u8>> {
    let whole =
        r#"{"jsonrpc": "2.0", "params": {"a": [1.5e3, -0, "\u00e9\"é"], "b": {}}, "id": "x7"}"#;
    (0..whole.len(), any::<u8>(), 0..3).prop_map(move |(at, byte, how)| {
        let mut bytes = whole.as_bytes().to_vec();
        match how {
            0 => bytes[at] = byte,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, bytes[at]),
        }
        bytes
    })
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20_000))]

    #[test]
    fn every_text_is_read_like_serde_or_left_to_serde(json in prop_oneof![pieces(), mutations()]) {
        compare(&json);
    }
}
