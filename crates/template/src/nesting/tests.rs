//! Every shape of source that nests, at its bound and beyond, on a small stack: an overflow would end
//! the test process. The tests run in an unoptimised build, whose stack frames are the largest.

use std::{collections::BTreeMap, thread};

use serde_json::json;
use svc_core::{
    EventId, SpaceId, Timestamp, UserId,
    event::{Event, EventSpace, sample},
    json_text::{DEPTH_MAX, JsonText},
};

use super::*;
use crate::{STACK_BYTES, Scope, expression::Expression, load};

/// Smaller than the stack of any thread of the product.
const SMALL_STACK: usize = STACK_BYTES / 4;

/// The parts of a source: before, repeated, between, repeated at the end, after.
type Shape = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const EXPRESSIONS: [Shape; 32] = [
    ("", "-", "1 == 1", "", ""),
    ("", "- ", "event.data.n", "", " == 1"),
    ("", "not ", "true", "", ""),
    ("event", ".a", "", "", " == 1"),
    ("event", ".a.b[0]", "", "", " == 1"),
    ("event", "[0]", "", "", " == 1"),
    ("event", "[1:]", "", "", " == 1"),
    ("event", "[", "0", "]", " == 1"),
    ("event", "()", "", "", " == 1"),
    ("event", "(", "", ")", " == 1"),
    ("event.id", "|trim", "", "", " == 1"),
    ("event.id", "|default(1", "", ")", " == 1"),
    ("event.id", " is string", "", "", " == 1"),
    ("event.id", " is not string", "", "", " == 1"),
    ("1", " or 1", "", "", ""),
    ("event.data.n", " or event.data.n", "", "", ""),
    ("1", " and 1", "", "", ""),
    ("1", " == 1", "", "", ""),
    ("event.data.n", " < event.data.n", "", "", ""),
    ("1", " in [1]", "", "", ""),
    ("1", " not in [1]", "", "", ""),
    ("1", " ~ 1", "", "", " == 1"),
    ("1", " + 1", "", "", " == 1"),
    ("1", " ** 1", "", "", " == 1"),
    ("1", " * -1", "", "", " == 1"),
    ("1 == 1", " if 1 else 1", "", "", ""),
    (
        "event.data.n",
        " if event.data.n else event.data.n",
        "",
        "",
        "",
    ),
    ("1 == 1", " if 1", "", "", ""),
    ("", "[", "", "]", " == 1"),
    ("", "(", "1", ")", " == 1"),
    ("", "{1:", "1", "}", " == 1"),
    ("", "-(not ", "1", ")", " == 1"),
];

const BLOCKS: [Shape; 7] = [
    ("", "{% if 1 %}", "1", "{% endif %}", ""),
    ("", "{% for x in event.data.l %}", "1", "{% endfor %}", ""),
    ("{% if 0 %}1", "{% elif 0 %}1", "", "", "{% endif %}"),
    (
        "{% if 0 %}1",
        "{% else %}{% if 0 %}1",
        "",
        "{% endif %}",
        "{% endif %}",
    ),
    ("", "{% for x in [] %}{% else %}", "1", "{% endfor %}", ""),
    ("{% for ", "(", "x", ")", " in [] %}{% endfor %}1"),
    (
        "",
        "{% if 1 %}1{% elif 1 %}{% for x in [1] %}",
        "1",
        "{% endfor %}{% endif %}",
        "",
    ),
];

fn source((before, repeated, between, closing, after): Shape, count: usize) -> String {
    let (opened, closed) = (repeated.repeat(count), closing.repeat(count));
    format!("{before}{opened}{between}{closed}{after}")
}

fn is_accepted(text: &str, is_expression: bool) -> bool {
    let syntax = match is_expression {
        true => SyntaxConfig::default(),
        false => crate::syntax(),
    };
    check(text, is_expression, syntax).is_ok()
}

/// The largest count that the scan accepts, found by doubling and halving.
fn bound(shape: Shape, is_expression: bool) -> usize {
    let accepts = |count| is_accepted(&source(shape, count), is_expression);
    let mut too_many = 1;
    while accepts(too_many) {
        too_many *= 2;
        assert!(too_many < 100_000, "{shape:?} has no bound");
    }
    let mut fits = too_many / 2;
    while too_many - fits > 1 {
        let middle = usize::midpoint(fits, too_many);
        match accepts(middle) {
            true => fits = middle,
            false => too_many = middle,
        }
    }
    fits
}

fn on_a_small_stack(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(SMALL_STACK);
        let running = thread.spawn_scoped(scope, work).expect("a thread");
        running.join().expect("the work succeeds");
    });
}

fn event(data: &str) -> Event {
    let data = JsonText::parse(data).expect("JSON").into_raw();
    let event_type = Some("custom.ci".to_owned());
    let (user, id, at) = (UserId::NIL, EventId::NIL, Timestamp(0));
    sample::event_by(user, "ann", event_type, Some(&data), id, at).expect("a valid event")
}

fn with_scope<T>(data: &str, work: impl FnOnce(&Scope<'_>) -> T) -> T {
    let (event, custom) = (event(data), BTreeMap::new());
    work(&Scope {
        event: &event,
        space: EventSpace::without_record(SpaceId::NIL),
        custom: &custom,
    })
}

/// Uses a source in every way. The result is not checked: many sources are refused or fail.
fn use_expression(text: &str) {
    let template = format!("[${{{{ {text} }}}}]");
    let data = json!({"n": 1, "l": [1]}).to_string();
    with_scope(&data, |scope| {
        if let Ok(expression) = Expression::parse(text) {
            let _ = (expression.is_true(scope), expression.key(scope));
        }
        if let Ok(template) = load(&template) {
            let _ = template.render(scope);
        }
    });
}

#[test]
fn expressions_at_and_beyond_the_bound_do_not_overflow_the_stack() {
    on_a_small_stack(|| {
        for shape in EXPRESSIONS {
            let bound = bound(shape, true);
            use_expression(&source(shape, bound));
            for count in [bound + 1, 2 * bound, 16_000 / shape.1.len()] {
                let text = source(shape, count);
                use_expression(&text);
                assert!(Expression::parse(&text).is_err(), "{shape:?} {count}");
                assert!(
                    load(&format!("[${{{{ {text} }}}}]")).is_err(),
                    "{shape:?} {count}"
                );
            }
        }
    });
}

#[test]
fn blocks_at_and_beyond_the_bound_do_not_overflow_the_stack() {
    on_a_small_stack(|| {
        for shape in BLOCKS {
            let bound = bound(shape, false);
            let data = json!({"l": [1]}).to_string();
            let text = source(shape, bound);
            if let Ok(template) = load(&text) {
                let _ = with_scope(&data, |scope| template.render(scope));
            }
            for count in [
                bound + 1,
                2 * bound,
                15_000 / (shape.1.len() + shape.3.len()),
            ] {
                assert!(load(&source(shape, count)).is_err(), "{shape:?} {count}");
            }
        }
    });
}

/// The deepest tree: brackets and operators inside the deepest blocks, over the deepest payload.
#[test]
fn the_bounds_hold_together() {
    on_a_small_stack(|| {
        let (open, close) = ("(".repeat(BRACKETS_MAX), ")".repeat(BRACKETS_MAX));
        let operators = "not ".repeat(OPERATORS_MAX - BRACKETS_MAX - 2);
        let expression = format!("{open}{operators}event.data{close}");
        let blocks = "{% if 1 %}".repeat(BLOCKS_MAX);
        let ends = "{% endif %}".repeat(BLOCKS_MAX);
        let template = format!("{blocks}[${{{{ {expression} }}}}, ${{{{ event.data }}}}]{ends}");
        let nested = DEPTH_MAX - 1;
        let value = format!("{}{}", "[".repeat(nested), "]".repeat(nested));
        let data = format!(r#"{{"a": {value}, "b": {value}}}"#);
        with_scope(&data, |scope| {
            let body = load(&template).expect("a template").render(scope);
            let body = body.expect("renders");
            assert!(body.starts_with("[true, {\"a\":[["), "{body}");
            for (source, expected) in [
                ("event.data.a == event.data.b", true),
                ("event.data.a < event.data.b", false),
                ("event.data.b in event.data.a", false),
                ("event.data.a|tojson|string|length > 200", true),
            ] {
                let filter = Expression::parse(source).expect(source);
                assert_eq!(filter.is_true(scope), Ok(expected), "{source}");
            }
        });
    });
}

#[test]
fn a_refusal_names_the_limit_and_the_place() {
    let refused = |text: &str| check(text, true, SyntaxConfig::default()).expect_err(text);
    let long = format!("1 == 1{}", " or 1".repeat(OPERATORS_MAX));
    let message = refused(&long).to_string();
    assert!(message.contains("more than 250 operators"), "{message}");
    assert!(message.contains("`x in [1, 2]`"), "{message}");
    let message = refused(&format!("event.{}", "a".repeat(NAME_BYTES_MAX + 1))).to_string();
    assert!(message.contains("line 1, column 7"), "{message}");
    assert!(message.contains("a name has 256 bytes"), "{message}");
    // A long list is not deep.
    let list = format!("event.type in [{}]", "'deploy', ".repeat(390));
    assert!(Expression::parse(&list).is_ok());
    // Each expression of a template has its own limit.
    let value = format!("${{{{ event{} }}}}", ".a".repeat(200));
    assert!(load(&format!("[{value}, {value}, {value}]")).is_ok());
    assert!(load(&"{% if 1 %}1{% endif %}".repeat(200)).is_ok());
}
