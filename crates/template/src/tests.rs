//! Allowed and forbidden features of templates. No event can change the structure of a body.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use svc_core::{SpaceId, UserId, event::ActorKind, json_text::JsonText};

use super::*;

fn event(r#type: &str, data: Json) -> Event {
    Event {
        id: EventId::NIL,
        r#type: r#type.to_owned(),
        ts: Timestamp(0),
        owner_id: UserId::NIL,
        space_id: SpaceId::NIL,
        actor: Actor {
            id: None,
            username: "ann".to_owned(),
            kind: ActorKind::User,
        },
        data: JsonText::from(&data),
        trace: None,
    }
}

fn render_text(source: &str, data: Json) -> Result<String, TemplateError> {
    let custom = BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
    compile(source)?.render(&Scope {
        event: &event("custom.x", data),
        space: EventSpace {
            id: SpaceId::NIL,
            name: "lab".to_owned(),
            urls: BTreeMap::from([("web".to_owned(), "https://x".to_owned())]),
        },
        custom: &custom,
    })
}

#[track_caller]
fn check(source: &str, data: Json, expected: Json) {
    let body = render_text(source, data).expect(source);
    let body: Json = serde_json::from_str(&body).expect(&body);
    assert_eq!(body, expected, "{source}");
}

#[test]
fn the_scopes_are_event_space_actor_and_custom() {
    check(
        r#"{"e": [${{ event.id }}, ${{ event.type }}, ${{ event.ts }}, ${{ event.data }}],
            "s": [${{ space.id }}, ${{ space.name }}, ${{ space.urls.web }}],
            "a": [${{ actor.id }}, ${{ actor.username }}, ${{ actor.kind }}], "c": ${{ custom.team }}}"#,
        json!({"n": 1}),
        json!({
            "e": [EventId::NIL, "custom.x", "1970-01-01T00:00:00.000Z", {"n": 1}],
            "s": [SpaceId::NIL, "lab", "https://x"], "a": [null, "ann", "user"], "c": "blue",
        }),
    );
}

#[test]
fn a_value_is_escaped_by_its_position_in_the_json() {
    let data = json!({"s": "a\"b\n\\", "n": 1.5, "list": [1, "x"], "null": null});
    check(
        r#"{"in": "<${{ event.data.s }}|${{ event.data.n }}|${{ event.data.list }}|${{ event.data.none }}>",
            "out": [${{ event.data.s }}, ${{ event.data.n }}, ${{ event.data.list }}, ${{ event.data.no.ne }}]}"#,
        data.clone(),
        json!({"in": "<a\"b\n\\|1.5|[1,\"x\"]|>", "out": ["a\"b\n\\", 1.5, [1, "x"], null]}),
    );
    // Escaped quotes of the template itself do not end its string.
    check(
        r#"{"a": "say \"${{ event.data.s }}\" \\", "b": ${{ event.data.n }}}"#,
        data.clone(),
        json!({"a": "say \"a\"b\n\\\" \\", "b": 1.5}),
    );
    // The position follows the executed branches, not the source text.
    check(
        r#"[{% if event.data.n %}"{% endif %}${{ event.data.s }}{% if event.data.n %}"{% else %}{% endif %}]"#,
        data.clone(),
        json!(["a\"b\n\\"]),
    );
    check(
        r#"{"x": ${{ event.data.list|tojson }}, "y": "${{ event.data.s|tojson }}"}"#,
        data,
        json!({"x": [1, "x"], "y": r#""a\"b\n\\""#}),
    );
}

#[test]
fn loops_conditions_filters_and_tests_work() {
    check(
        r#"[{% for x in event.data.list %}{% if not loop.first %},{% endif %}${{ x|upper }}{% endfor %}]"#,
        json!({"list": ["a", "b"]}),
        json!(["A", "B"]),
    );
    check(
        r#"{"d": ${{ event.data.x|default("none") }}, "z": ${{ event.data.z|default("null") }},
            "j": ${{ event.data.l|join("-") }}, "f": ${{ event.data.l|first }}, "l": ${{ event.data.l|last }},
            "n": ${{ event.data.l|length }}, "i": ${{ event.data.i|int }}, "bad": ${{ event.data.s|int }},
            "r": ${{ event.data.s|replace("b", "--")|trim }}, "t": ${{ event.data.i|string }},
            "is": ${{ event.data.x is defined }}, "in": ${{ "a" in event.data.l }}, "cut": ${{ event.data.s[:2] }},
            "if": ${{ "y" if event.data.l else "n" }}}"#,
        json!({"l": ["a", 2], "i": "42", "s": " abc ", "z": null}),
        json!({
            "d": "none", "z": "null", "j": "a-2", "f": "a", "l": 2, "n": 2, "i": 42, "bad": null,
            "r": "a--c", "t": "42", "is": false, "in": true, "cut": " a", "if": "y",
        }),
    );
}

#[test]
fn the_order_of_keys_and_big_numbers_are_preserved() {
    let data = json!({"z": 1, "a": {"y": u64::MAX, "b": -1}, "f": 1.0});
    let body = render_text("${{ event.data }}", data.clone()).expect("renders");
    assert_eq!(body, data.to_string());
}

#[test]
fn forbidden_features_are_refused_with_their_position() {
    let refused = |source: &str, line: usize, column: usize, part: &str| {
        let Err(TemplateError::Refused {
            line: at_line,
            column: at_column,
            why,
        }) = compile(source)
        else {
            panic!("{source} is not refused");
        };
        assert!(why.contains(part), "{source}: {why}");
        assert_eq!((at_line, at_column), (line, column), "{source}: {why}");
    };
    refused("{% set x = 1 %}1", 1, 4, "`set`");
    refused("\n {% raw %}1{% endraw %}", 2, 2, "`raw`");
    refused("{%- raw -%}1{% endraw %}", 1, 1, "`raw`");
    refused("[${{ 1|nope }}]", 1, 8, "filter `nope`");
    refused("[${{ 1 is nope }}]", 1, 11, "test `nope`");
    for source in [
        "{% with x = 1 %}{% endwith %}1",
        "{% filter upper %}1{% endfilter %}",
        "{% autoescape true %}1{% endautoescape %}",
        "{% set x %}1{% endset %}1",
        "{% do event() %}1",
        "{% include 'x' %}1",
        "{% import 'x' as x %}1",
        "{% extends 'x' %}1",
        "{% block x %}1{% endblock %}",
        "{% macro x() %}1{% endmacro %}",
        "{% call x() %}1{% endcall %}",
        "{% for x in event.data recursive %}1{% endfor %}",
        "[${{ range(10) }}]",
        "[${{ dict(a=1) }}]",
        "[${{ debug() }}]",
        "[${{ event.data.items() }}]",
        "[${{ 'a' ~ 'b' }}]",
        "[${{ 'a' * 1000000000 }}]",
        "[${{ event.type + event.type }}]",
        "[${{ [event.data, event.data] }}]",
        "[${{ {'a': event.data} }}]",
        "[${{ event.type|safe }}]",
        "[${{ event.type|format(1) }}]",
        "[${{ event.data.x|default(fallback=1) }}]",
        "[${{ event.type",
        "{% if event %}1",
        "[${{ }}]",
    ] {
        assert!(
            matches!(compile(source), Err(TemplateError::Refused { .. })),
            "{source}"
        );
    }
}

#[test]
fn templates_that_do_not_render_json_are_refused() {
    for source in [
        "",
        "hello",
        "{\"a\": }",
        "[${{ event.id }}",
        "${{ 1 }}${{ 2 }} x",
    ] {
        assert!(
            matches!(compile(source), Err(TemplateError::NotJson { .. })),
            "{source}"
        );
    }
    let error = compile(r#"["\${{ event.id }}"]"#).err().expect("refused");
    assert!(error.to_string().contains("backslash"), "{error}");
    let long = format!("[\"{}\"]", "x".repeat(SOURCE_BYTES_MAX));
    assert!(matches!(compile(&long), Err(TemplateError::TooLong(_))));
}

#[test]
fn templates_that_exceed_a_limit_are_stopped() {
    let big = "x".repeat(200_000);
    let list: Vec<_> = (0..2_000).collect();
    let data = json!({"big": big, "list": list, "texts": [big.clone()]});
    let bomb = |source: &str| {
        let error = render_text(source, data.clone()).expect_err(source);
        assert!(
            matches!(error, TemplateError::TooLarge | TemplateError::TooMuchWork),
            "{source}: {error}"
        );
    };
    bomb(
        r#"["{% for a in event.data.list %}{% for b in event.data.list %}{% for c in event.data.list %}{% endfor %}{% endfor %}{% endfor %}"]"#,
    );
    bomb(r#"["{% for a in event.data.list %}${{ event.data.big }}{% endfor %}"]"#);
    bomb(r#"["${{ event.data.big|replace("x", event.data.big) }}"]"#);
    bomb(r#"["${{ event.data.big|replace("", event.data.big) }}"]"#);
    bomb(r#"["${{ event.data.list|join(event.data.big) }}"]"#);
    bomb(&format!(
        r#"["${{{{ event.data.big{} }}}}"]"#,
        r#"|replace("x", "xx")"#.repeat(40)
    ));
    bomb(
        r#"["{% for a in event.data.list %}{% if event.data.big|upper|lower|upper|lower is none %}1{% endif %}{% endfor %}"]"#,
    );
    let deep = format!("[${{{{ {}1{} }}}}]", "(".repeat(2_000), ")".repeat(2_000));
    assert!(compile(&deep).is_err());
}

/// Hostile strings and arbitrary strings.
fn nasty() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "\"",
        "\\",
        "\\\"",
        "\n",
        "\r",
        "\0",
        "\u{2028}",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "${{",
        "}}",
        "{%",
        "%}",
        "\", \"admin\": true, \"x\": \"",
        "\\u0022",
        "é",
        "</script>",
        "a",
    ]);
    prop_oneof![
        prop::collection::vec(parts, 0..8).prop_map(|parts| parts.concat()),
        any::<String>(),
    ]
}

fn nasty_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        nasty().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<bool>().prop_map(Json::from),
        Just(Json::Null),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(nasty(), inner, 0..4).prop_map(Json::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_event_adds_a_key_to_a_body(
        r#type in nasty(), name in nasty(), username in nasty(), custom in nasty(),
        s in nasty_json(), list in prop::collection::vec(nasty_json(), 0..4),
    ) {
        let data = json!({"s": s, "list": list});
        let mut event = event(&r#type, data.clone());
        event.actor.username = username.clone();
        let fields = BTreeMap::from([("team".to_owned(), custom.clone())]);
        let scope = || Scope {
            event: &event,
            space: EventSpace { id: SpaceId::NIL, name: name.clone(), urls: BTreeMap::new() },
            custom: &fields,
        };
        for source in [
            r#"{"a": "${{ event.type }}", "b": ${{ event.data.s }}, "c": "x ${{ event.data.s }} ${{ space.name }}"}"#,
            r#"{"a": ${{ event.type }}, "b": [{% for x in event.data.list %}{% if not loop.first %},{% endif %}${{ x }}{% endfor %}], "c": "${{ custom.team|trim }}"}"#,
            r#"{"a": ${{ event.data }}, "b": "${{ event.data|tojson }}{% for x in event.data.list %}${{ x|string|upper }}{% endfor %}", "c": ${{ event.data.s|tojson }}}"#,
            r#"{"a": "${{ actor.username|replace("a", "\"") }}", "b": ${{ actor.username|lower }}, "c": ${{ event.data.list|join(",") }}}"#,
        ] {
            let body = compile(source).expect(source).render(&scope()).expect(source);
            let body: Json = serde_json::from_str(&body).expect("JSON");
            let keys: Vec<_> = body.as_object().expect("an object").keys().cloned().collect();
            prop_assert_eq!(keys, ["a", "b", "c"]);
            // A duplicate key would replace the first value, so compare the values too.
            if source.contains(r#""a": "${{ event.type }}""#) {
                prop_assert_eq!(&body["a"], &json!(event.r#type));
                prop_assert_eq!(&body["b"], &data["s"]);
            }
        }
        let parsed: Json = serde_json::from_str(&event.default_body()).expect("JSON");
        prop_assert_eq!(parsed.as_object().expect("an object").len(), 4);
    }
}
