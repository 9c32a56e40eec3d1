use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use svc_core::{
    EventId, SpaceId, Timestamp, UserId,
    event::{EventSpace, sample},
};

use super::*;

fn evaluate<T>(source: &str, data: &str, work: impl FnOnce(&Expression, &Scope<'_>) -> T) -> T {
    let data = RawValue::from_string(data.to_owned()).expect("JSON");
    let event_type = Some("custom.ci".to_owned());
    let event = sample::event_by(
        UserId::NIL,
        "ann",
        event_type,
        Some(&data),
        EventId::NIL,
        Timestamp(0),
    )
    .expect("a valid event");
    let scope = Scope {
        event: &event,
        space: EventSpace {
            id: SpaceId::NIL,
            name: "ci".to_owned(),
            urls: BTreeMap::new(),
        },
        custom: &BTreeMap::from([("team".to_owned(), "blue".to_owned())]),
    };
    work(&Expression::parse(source).expect(source), &scope)
}

#[test]
fn a_filter_sees_the_event_its_space_and_the_custom_fields() {
    let check = |source: &str, data: Value, expected: bool| {
        let found = evaluate(source, &data.to_string(), |filter, scope| {
            filter.is_true(scope)
        });
        assert_eq!(found, Ok(expected), "{source}");
    };
    let failed = json!({"ok": false, "n": 3, "tags": ["a", "b"]});
    check(
        "event.data.ok == false and space.name == \"ci\"",
        failed.clone(),
        true,
    );
    check(
        "event.data.ok == false and space.name == \"lab\"",
        failed.clone(),
        false,
    );
    check("not event.data.ok", failed.clone(), true);
    check("event.type == 'custom.ci'", failed.clone(), true);
    check("\"b\" in event.data.tags", failed.clone(), true);
    check("event.data.tags | length > 2", failed.clone(), false);
    check(
        "custom.team == 'blue' and actor.username == 'ann'",
        failed.clone(),
        true,
    );
    check("event.data.missing", failed.clone(), false);
    check("event.data.missing.deeper == 1", failed.clone(), false);
    check("event.data.n is number", failed.clone(), true);
    check("event.data.ok", failed, false);
}

#[test]
fn numbers_are_exact() {
    let check = |source: &str, data: &str, expected: bool| {
        let found = evaluate(source, data, |filter, scope| filter.is_true(scope));
        assert_eq!(found, Ok(expected), "{source} {data}");
    };
    check(
        "event.data.n == 9007199254740993",
        r#"{"n":9007199254740993}"#,
        true,
    );
    check(
        "event.data.n == 9007199254740993",
        r#"{"n":9007199254740992}"#,
        false,
    );
    check(
        "event.data.n > 9007199254740992",
        r#"{"n":9007199254740993}"#,
        true,
    );
}

#[test]
fn an_expression_that_cannot_work_is_refused() {
    for (source, part) in [
        ("event.data.ok ==", "`==` cannot be read here"),
        (
            "evnt.type == 'x'",
            "`evnt` does not exist; there are event, space",
        ),
        ("event.data.a | shout", "filter `shout` does not exist"),
        ("event.data.a ~ 'x' == 'y'", "operator `~`"),
        ("'x' * 999999999 == 'y'", "operator `*`"),
        ("range(9)", "functions"),
        ("event.data.items()", "functions"),
        ("{% if true %}", "cannot be read here"),
        ("", "ends too early"),
    ] {
        let error = Expression::parse(source).err().expect(source).to_string();
        assert!(error.contains(part), "{source}: {error}");
    }
}

#[test]
fn evaluation_errors_and_exceeded_limits_are_reported_with_a_reason() {
    let check = |source: &str, data: &str, part: &str| {
        let found = evaluate(source, data, |filter, scope| filter.is_true(scope));
        let error = found.expect_err(source).to_string();
        assert!(error.contains(part), "{source}: {error}");
    };
    check("event.type", "{}", "is a text, neither true nor false");
    check("event.data.n", r#"{"n":1}"#, "is a number");
    check("event.data", "{}", "is an object");
    check("event.data.n | join", r#"{"n":1}"#, "failed");
    let text = "x".repeat(200 * 1024);
    let long = format!(r#"{{"t":"{text}"}}"#);
    let slow = "event.data.t | replace('x', 'yyyyyy') == 'x'";
    check(slow, &long, "more than");
}

#[test]
fn a_key_is_the_value_as_text() {
    let check = |source: &str, data: &str, expected: &str| {
        let found = evaluate(source, data, |key, scope| key.key(scope));
        assert_eq!(found.as_deref(), Ok(expected), "{source}");
    };
    check("event.data.order", r#"{"order":"a1"}"#, "a1");
    check(
        "event.data.order",
        r#"{"order":12345678901234567890123}"#,
        "12345678901234567890123",
    );
    check("event.data.order", r#"{"order":[1,2]}"#, "[1,2]");
    check("event.data.order", "{}", "");
    let long = format!(r#"{{"order":"{}"}}"#, "x".repeat(2_000));
    let refused = evaluate("event.data.order", &long, |key, scope| key.key(scope));
    assert_eq!(refused, Err(ExpressionError::KeyTooLong(2_000)));
}

#[test]
fn a_slice_never_goes_backwards() {
    for source in [
        "event.data.x[::-1]",
        "event.data.x[::0]",
        "event.data.x[::event.data.n]",
        "event.data.x[::-1][:2] == 'a'",
    ] {
        let refused = Expression::parse(source).err().expect(source).to_string();
        assert!(refused.contains("the step of a slice"), "{refused}");
    }
    // An empty value made minijinja panic when it was sliced backwards.
    for empty in ["''", "[]"] {
        let template = format!("{{\"x\": \"${{{{ {empty}[::-1] }}}}\"}}");
        assert!(crate::load(&template).is_err(), "{template}");
    }
    let slice = |source: &str| {
        let data = json!({"x": "abcd"}).to_string();
        evaluate(source, &data, |filter, scope| filter.is_true(scope))
    };
    assert_eq!(slice("event.data.x[::2] == 'ac'"), Ok(true));
    assert_eq!(slice("event.data.x[-2:] == 'cd'"), Ok(true));
    assert_eq!(slice("event.data.missing[::2] == []"), Ok(true));
}
