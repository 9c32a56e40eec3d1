use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read")]
struct Sample {
    name: String,
    #[serde(default)]
    count: u32,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    raw: Option<Box<RawValue>>,
    #[serde(default)]
    any: Value,
    #[serde(default)]
    inner: Option<Box<Sample>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    One,
    Two,
}

fn json_error(text: &str) -> String {
    let error = read_json::<Sample>(text.as_bytes()).expect_err(text);
    error.to_string()
}

#[test]
fn an_error_names_the_field_the_value_and_what_to_write() {
    let check = |text: &str, expected: &str| assert_eq!(json_error(text), expected, "{text}");
    check("{}", "missing field `name`");
    check(
        r#"{"name": 7}"#,
        "`name`: expected a string, not the number 7",
    );
    check(r#"{"name": null}"#, "`name`: expected a string, not null");
    check(
        r#"{"name": "a", "count": -1}"#,
        "`count`: expected a whole number from 0 to 4294967295, not the number -1",
    );
    check(
        r#"{"name": "a", "count": 1.5}"#,
        "`count`: expected a whole number from 0 to 4294967295, not the number 1.5",
    );
    check(
        r#"{"name": "a", "kind": "three"}"#,
        "`kind`: expected one of `one` or `two`, not the text `three`",
    );
    check(
        r#"{"name": "a", "kind": [1]}"#,
        "`kind`: expected one of `one` or `two`, not an array",
    );
    check(
        r#"{"name": "a", "words": ["b", {}]}"#,
        "`words[1]`: expected a string, not an object",
    );
    check(
        r#"{"name": "a", "inner": {"name": "b", "inner": {"name": true}}}"#,
        "`inner.inner.name`: expected a string, not true",
    );
    check(
        r#"{"name": "a", "inner": {"name": "b", "Count": 1}}"#,
        "`inner`: unknown field `Count`; did you mean `count`?",
    );
    check(
        r#"{"name": "a", "colour": 1}"#,
        "unknown field `colour`; expected one of `name`, `count`, `kind`, `words`, `raw`, `any` or `inner`",
    );
    check(r#"{"name": "a", "name": "b"}"#, "field `name` occurs twice");
    check(
        r#"{"raw": {"a": [1]}, "any": {"a": 1}, "name": {}}"#,
        "`name`: expected a string, not an object",
    );
    check(
        r#"{"raw": 1e999, "name": 7}"#,
        "the value that ends at line 1, column 24 does not have the form that is expected here",
    );
}

#[test]
fn an_array_is_no_object_and_a_field_of_a_record_occurs_once() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Outer {
        inner: Option<Inner>,
        list: Vec<Inner>,
        choice: Option<Choice>,
        converted: Option<Converted>,
        map: std::collections::BTreeMap<String, Inner>,
        any: Value,
        raw: Option<Box<RawValue>>,
    }
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        a: u8,
        b: Option<String>,
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    enum Choice {
        Struct { a: u8 },
        Newtype(Inner),
        Tuple(u8, u8),
    }
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "Inner")]
    struct Converted;
    impl TryFrom<Inner> for Converted {
        type Error = String;
        fn try_from(_: Inner) -> Result<Self, String> {
            Ok(Self)
        }
    }
    for (text, place) in [
        (r#"[null]"#, ""),
        (r#"{"inner": []}"#, "`inner`: "),
        (r#"{"inner": [1, "x"]}"#, "`inner`: "),
        (r#"{"list": [{"a": 1}, [1]]}"#, "`list[1]`: "),
        (r#"{"choice": {"Struct": [1]}}"#, "`choice.Struct`: "),
        (r#"{"choice": {"Newtype": []}}"#, "`choice.Newtype`: "),
        (r#"{"converted": [1]}"#, "`converted`: "),
        (r#"{"map": {"x": [1]}}"#, "`map.x`: "),
        (r#"{"map": [1]}"#, "`map`: "),
    ] {
        let error = read_json::<Outer>(text.as_bytes()).expect_err(text);
        let expected = format!("{place}expected an object, not an array");
        assert_eq!(error.to_string(), expected, "{text}");
        let value = serde_json::from_str(text).expect("JSON");
        assert!(read_value::<Outer>(value).is_err(), "{text}");
    }
    for accepted in [
        r#"{"choice": {"Struct": {"a": 1}}, "raw": {"a": 1, "a": [2]}, "any": [{"x": []}]}"#,
        r#"{"choice": {"Tuple": [1, 2]}, "inner": null, "list": [], "raw": 0.10}"#,
    ] {
        let read = read_record::<Outer>(accepted.as_bytes()).expect(accepted);
        let json = serde_json::from_str::<Value>(accepted).expect("JSON");
        assert_eq!(read.any, json.get("any").cloned().unwrap_or_default());
    }
    for (text, message) in [
        (
            r#"{"any": {"x": 1, "x": 2}}"#,
            "`any`: field `x` occurs twice",
        ),
        (
            r#"{"any": [{"y": {"x": 1, "x": 2}}]}"#,
            "`any[0].y`: field `x` occurs twice",
        ),
        (
            r#"{"map": {"x": {}, "x": {}}}"#,
            "`map`: field `x` occurs twice",
        ),
        (
            r#"{"inner": {"a": 1, "a": 2}}"#,
            "`inner`: field `a` occurs twice",
        ),
    ] {
        let error = read_record::<Outer>(text.as_bytes()).expect_err(text);
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_error_for_invalid_json_shows_the_position_and_the_text() {
    let check = |text: &str, expected: &str| assert_eq!(json_error(text), expected, "{text}");
    check(" ", "there is no JSON: the text is empty");
    check(
        r#"{"name": 'a'}"#,
        "this is not valid JSON at column 10: `'a'}`; write strings in double quotation marks",
    );
    check(
        r#"{"name": "a",}"#,
        "this is not valid JSON at column 14: `}`; remove the comma before it",
    );
    check(
        "{\n  \"é\": 1,\n  \"é\": hello}",
        "this is not valid JSON at line 3, column 8: `hello}`; write strings and names in double quotation marks",
    );
    check(
        r#"{"name": NaN}"#,
        "this is not valid JSON at column 10: `NaN}`; JSON has no NaN and no Infinity",
    );
    check(
        r#"{"name": "a""#,
        "this is not valid JSON: it ends after `{\"name\": \"a\"`, where a value, a quotation mark or a bracket is missing",
    );
    check(r#"{} {}"#, "this is not valid JSON at column 4: `{}`");
    let text = read_json::<Sample>(b"{\"name\": \"\xff\"}").expect_err("bytes");
    assert_eq!(
        text.to_string(),
        "this is not valid JSON: it is not UTF-8 text"
    );
}

#[test]
fn no_error_contains_words_of_serde() {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!([]),
        json!({}),
    ];
    for field in ["name", "count", "kind", "words", "inner", "colour"] {
        for value in &values {
            let mut body = json!({"name": "a"});
            body[field] = value.clone();
            let Err(error) = read_value::<Sample>(body) else {
                continue;
            };
            let error = error.to_string();
            for word in [
                "struct",
                "enum",
                "u32",
                "invalid type",
                "sequence",
                "map",
                " at line ",
            ] {
                assert!(!error.contains(word), "{error}");
            }
        }
    }
}

#[test]
fn values_of_a_query_are_text_that_is_read_as_a_number_where_expected() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Page {
        cursor: Option<String>,
        limit: Option<u32>,
    }
    let pairs = vec![
        ("cursor".to_owned(), "7".to_owned()),
        ("limit".to_owned(), "many".to_owned()),
    ];
    assert_eq!(
        explain_query::<Page>(pairs).to_string(),
        "`limit`: expected a whole number from 0 to 4294967295, not the text `many`"
    );
}

#[test]
fn toml_dates_are_text_where_any_value_is_allowed() {
    let read = |text: &str| read_toml::<Sample>(text).map_err(|error| (error.message, error.span));
    let sample = read(
        "name = 'a'\nany = [1979-05-27T07:32:00.5Z, 1979-05-27 07:32:00, 1979-05-27, 07:32:00]",
    );
    assert_eq!(
        sample.expect("valid").any,
        json!([
            "1979-05-27T07:32:00.5Z",
            "1979-05-27T07:32:00",
            "1979-05-27",
            "07:32:00"
        ])
    );
    let (message, span) = read("name = 1979-05-27").expect_err("a date");
    assert_eq!(
        message,
        "expected a string, not the date 1979-05-27, which needs quotation marks"
    );
    assert_eq!(span, Some(7..17));
}

#[test]
fn toml_numbers_without_a_form_in_json_are_refused() {
    for number in ["inf", "+inf", "-inf", "nan", "-nan", "1e999"] {
        let text = format!("name = 'a'\nany = {{ x = [1, {number}] }}");
        let error = read_toml::<Sample>(&text).expect_err(number);
        assert!(
            error
                .message
                .starts_with(&format!("`{number}` cannot be written in JSON"))
                || number.starts_with('+'),
            "{}",
            error.message
        );
        let start = text.find(number).expect("there");
        assert_eq!(error.span, Some(start..start + number.len()), "{number}");
    }
    assert!(read_toml::<Sample>("name = 'a'\nany = 99999999999999999999").is_err());
}

#[test]
fn a_number_that_would_be_rounded_is_refused() {
    let read = |text: &str| read_exact_json::<Value>(text.as_bytes());
    for exact in [
        "[18446744073709551615, -9223372036854775808, -0, 0]",
        "[1e300, 1.5E+20, 0.1]",
        r#"{"18446744073709551616": "-99999999999999999999"}"#,
    ] {
        assert_eq!(read(exact), Ok(serde_json::from_str(exact).expect("JSON")));
    }
    for inexact in ["18446744073709551616", "-9223372036854775809"] {
        let error = read(&format!(r#"{{"a": [1, {inexact}]}}"#)).expect_err(inexact);
        let expected = format!("the number {inexact} has more than 64 bits");
        assert!(error.message.starts_with(&expected), "{error}");
    }
}
