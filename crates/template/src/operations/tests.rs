//! The steps of operations, with a budget that does not read the clock.

use serde_json::{Value as Json, json};
use svc_core::{
    EventId, SpaceId, Timestamp,
    event::{Event, EventSpace, sample},
    json_text::JsonText,
};

use crate::{Scope, TemplateError, budget::Budget, load};

/// Enough for a thousand cheap operations, and too little for a thousand of 300 steps.
const STEPS: u64 = 100_000;

/// Renders with a budget of steps only.
fn render(source: &str, data: &Json) -> Result<String, TemplateError> {
    let event = Event {
        data: JsonText::from(data),
        ..sample::event(EventId::NIL, Timestamp(0))
    };
    let scope = Scope {
        event: &event,
        space: EventSpace::without_record(SpaceId::NIL),
        custom: &Default::default(),
    };
    load(source)?.write(&scope, Budget::of_steps(STEPS))
}

/// Two equal maps, two equal lists, two texts, and a list to loop over.
fn data(size: usize) -> Json {
    let map: serde_json::Map<String, Json> = (0..size)
        .map(|n| (format!("k{n}"), Json::from(n)))
        .collect();
    let list: Vec<Json> = (0..size).map(|n| json!([n])).collect();
    let text = "x".repeat(size * 40);
    json!({
        "a": map, "b": map, "la": list, "lb": list, "t": text, "u": text,
        "both": [[map, map], [map, map]], "l": vec![0; 1_000],
    })
}

/// An operation on large values, a thousand times.
#[track_caller]
fn check(operation: &str) {
    let loops = [
        format!("1{{% for x in event.data.l %}}{{% if {operation} %}}{{% endif %}}{{% endfor %}}"),
        // Without a look-up of a variable of the event: only of variables of loops.
        format!(
            "1{{% for a, b in event.data.both %}}{{% for x in event.data.l %}}{{% if {} %}}{{% endif %}}{{% endfor %}}{{% endfor %}}",
            operation
                .replace("event.data.a", "a")
                .replace("event.data.b", "b")
        ),
    ];
    for source in loops {
        let stopped = render(&source, &data(300)).err();
        assert_eq!(stopped, Some(TemplateError::TooMuchWork), "{source}");
        // The same instructions on small values are allowed, so the size decides.
        assert_eq!(render(&source, &data(1)).as_deref(), Ok("1"), "{source}");
    }
}

#[test]
fn an_operation_costs_as_much_as_its_operands_are_large() {
    for operator in ["==", "!=", "<", "<=", ">", ">="] {
        check(&format!("event.data.a {operator} event.data.b"));
    }
    check("event.data.la == event.data.lb");
    check("event.data.a <= event.data.b <= event.data.a");
    check("[1] in event.data.la");
    check("'none' in event.data.la");
    check("event.data.a not in event.data.la");
    check("event.data.la[7:]");
    check("event.data.la[-1:]");
    check("event.data.la|length and event.data.la|last and event.data.la|join|length");
    check("event.data.a|tojson|length");
    check("event.data.a|string|length");
    check("event.data.a|default(1)|tojson|int");
}

#[test]
fn an_operation_on_a_text_costs_as_much_as_the_text_is_long() {
    let check_text = |operation: &str| {
        let source = format!(
            "1{{% for x in event.data.l %}}{{% if {operation} %}}{{% endif %}}{{% endfor %}}"
        );
        let big = render(&source, &data(300)).err();
        assert_eq!(big, Some(TemplateError::TooMuchWork), "{source}");
        assert_eq!(render(&source, &data(1)).as_deref(), Ok("1"), "{source}");
    };
    check_text("event.data.t == event.data.u");
    check_text("event.data.t in event.data.u");
    check_text("event.data.a[event.data.t]");
    check_text("event.data.t[3]");
    check_text("event.data.t[3:]");
    check_text("event.data.t|int");
    check_text("event.data.t|length");
    check_text("event.data.t|upper");
    check_text("event.data.t|trim");
    check_text("event.data.t|replace('y', '')");
    check_text("event.data.t in event.data.a");
}

#[test]
fn cheap_operations_on_large_values_stay_possible() {
    let source = "[{% for x in event.data.l %}{% if event.data.a is mapping and event.data.a.k7 and event.data.a['k8'] and event.data.t != 'x' and event.data.a and event.data.missing == none %}{% endif %}{% endfor %}]";
    assert_eq!(render(source, &data(300)).as_deref(), Ok("[]"));
    // Each of 100 values is looked for in a list of 300.
    let source =
        "[{% for x in event.data.l[:100] %}{% if x in event.data.la %}{% endif %}{% endfor %}]";
    assert_eq!(render(source, &data(300)).as_deref(), Ok("[]"));
}

#[test]
fn slices_choose_as_in_python() {
    let data = json!({"l": [0, 1, 2, 3, 4], "t": "añb€c", "none": null});
    for (source, expected) in [
        ("l[1:3]", "[1,2]"),
        ("l[:-1]", "[0,1,2,3]"),
        ("l[-2:]", "[3,4]"),
        ("l[-9:2]", "[0,1]"),
        ("l[::2]", "[0,2,4]"),
        ("l[1:9:3]", "[1,4]"),
        ("l[3:1]", "[]"),
        ("l[9:]", "[]"),
        ("t[1:4]", "\"ñb€\""),
        ("t[-1:]", "\"c\""),
        ("none[1:]", "[]"),
        ("missing[1:]", "[]"),
    ] {
        let template = format!("${{{{ event.data.{source} }}}}");
        assert_eq!(
            render(&template, &data).as_deref(),
            Ok(expected),
            "{source}"
        );
    }
    assert!(render("${{ event.data.l[0][1:] }}", &data).is_err());
}
