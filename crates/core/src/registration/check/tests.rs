use serde_json::{Value, json};

use super::*;

fn check(document: Value) -> Result<CheckedRegistration, Vec<String>> {
    let space = SpaceName::parse("lab").expect("valid");
    let owner = UserName::parse("ann").expect("valid");
    serde_json::from_value::<Registration>(document)
        .map_err(|error| vec![error.to_string()])?
        .check(&space, &owner)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn with_method(method: Value) -> Value {
    json!({"server": {"command": "x"}, "methods": [method]})
}

fn refused(method: Value, expected: &str) {
    let faults = check(with_method(method)).expect_err(expected);
    assert!(
        faults.iter().any(|fault| fault.contains(expected)),
        "{faults:?} lacks {expected}"
    );
}

#[test]
fn s2_1_s8_defaults_are_those_of_the_specification() {
    let checked = check(with_method(
        json!({"name": "a", "local_name": "b", "description": "d"}),
    ))
    .expect("valid");
    assert_eq!(checked.server.timeout, 30);
    assert_eq!(checked.server.mode.to_string(), "concurrent");
    assert!(checked.server.args.is_empty());
    let method = &checked.methods[0];
    assert_eq!(method.scope, MethodScope::Private);
    assert!(method.title.is_none() && method.annotations.is_empty());
    assert!(!method.mcp_tool && method.groups.is_empty() && method.params_schema.is_none());
}

#[test]
fn lengths_are_counted_in_characters_as_in_the_schema_of_the_file() {
    let method = |extra: usize| {
        let text = |most: usize| "語".repeat(most + extra);
        with_method(json!({
            "name": "a",
            "local_name": text(256),
            "title": text(256),
            "description": text(4_096),
            "keywords": [text(128)],
        }))
    };
    check(method(0)).expect("valid");
    let error = check(method(1)).expect_err("too long").join("\n");
    for expected in [
        "`local_name` must have 1 to 256 characters, not 257",
        "the title has 257 characters; at most 256 are allowed",
        "the description has 4097 characters; at most 4096 are allowed",
        "must have at most 128 characters",
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn local_names_that_begin_with_the_reserved_prefix_are_refused() {
    let named = |local: &str| json!({"name": "a", "local_name": local, "description": "d"});
    refused(
        named("$/describe"),
        "methods[0].local_name: method `a`: `local_name` is `$/describe`; names that begin with `$/` are reserved",
    );
    for other in ["$", "$a", "a$/b", "/$/"] {
        check(with_method(named(other))).expect(other);
    }
}

#[test]
fn s2_1_local_name_is_required_unless_the_method_has_events() {
    refused(
        json!({"name": "a", "description": "d"}),
        "has no `local_name`",
    );
    let subscribed = json!({"name": "{{space}}.a", "description": "d", "events": ["*"]});
    assert_eq!(
        check(with_method(subscribed)).expect("valid").methods[0].local_name,
        "lab.a"
    );
}

#[test]
fn the_level_of_the_journal_and_redacted_values_are_checked() {
    let with = |journal: Value, redact: Value| {
        json!({"name": "a", "local_name": "a", "description": "d", "journal": journal,
            "journal_redact": redact})
    };
    let accepted = |journal: &str, redact: Value| {
        let mut checked = check(with_method(with(json!(journal), redact))).expect("valid");
        (checked.methods.remove(0), checked.warnings)
    };
    let (method, warnings) = accepted("payloads", json!(["/b", "/a/*", "/b"]));
    assert_eq!(method.journal, JournalLevel::Payloads);
    assert_eq!(json!(method.journal_redact), json!(["/a/*", "/b"]));
    assert!(warnings.is_empty(), "{warnings:?}");
    for level in ["none", "outcome"] {
        let (_, warnings) = accepted(level, json!(["/a"]));
        assert!(warnings[0].contains("has no effect"), "{warnings:?}");
    }
    refused(with(json!("rows"), json!([])), "unknown variant `rows`");
    let pointers = |texts: Value| with(json!("payloads"), texts);
    refused(pointers(json!(["/a", "b"])), "`b` must start with `/`");
    refused(
        pointers(json!([format!("/{}", "a".repeat(256))])),
        "a pointer has 257 characters; at most 256 are allowed",
    );
    accepted("payloads", json!(vec!["/a"; 50]));
    refused(
        pointers(json!(vec!["/a"; 51])),
        "51 entries; at most 50 are allowed",
    );
}

#[test]
fn title_and_annotations_are_checked() {
    let with = |key: &str, value: Value| {
        let mut method = json!({"name": "a", "local_name": "b", "description": "d"});
        method[key] = value;
        method
    };
    let hints = json!({"read_only": true, "open_world": false});
    let checked = check(with_method(with("annotations", hints.clone()))).expect("valid");
    assert_eq!(json!(checked.methods[0].annotations), hints);
    refused(
        with("title", json!(" ")),
        "methods[0].title: method `a`: the title is empty",
    );
    refused(with("title", json!("x".repeat(257))), "at most 256");
    refused(with("annotations", json!({"readOnly": true})), "readOnly");
    refused(
        with("annotations", json!({"read_only": "yes"})),
        "expected a boolean",
    );
}

#[test]
fn s2_1_errors_name_their_position() {
    refused(
        json!({"name": "a b", "local_name": "b", "description": "d"}),
        "methods[0].name: method name `a b`",
    );
    refused(
        json!({"name": "a", "local_name": "b", "description": " "}),
        "methods[0].description: ",
    );
    refused(
        json!({"name": "a", "local_name": "", "description": "d"}),
        "methods[0].local_name: ",
    );
    refused(
        json!({"name": "a", "local_name": "b", "description": "d", "events": ["*.x"]}),
        "methods[0].events: method `a`: pattern `*.x`",
    );
    refused(
        json!({"name": "a", "local_name": "b", "description": "d", "params_schema": {"type": "text"}}),
        "methods[0].params_schema.type: method `a`: `text` is not a type",
    );
    refused(
        json!({"name": "a", "local_name": "b", "description": "d", "scope": "public"}),
        "unknown variant `public`",
    );
    refused(
        json!({"name": "a", "local_name": "b", "description": "d", "colour": 1}),
        "unknown field `colour`",
    );
}

#[test]
fn s2_1_s9_the_server_table_is_checked() {
    let method = json!({"name": "a", "local_name": "b", "description": "d"});
    let server = |server: Value| check(json!({"server": server, "methods": [method.clone()]}));
    assert!(
        server(json!({"command": "x", "timeout": 3600, "mode": "serial", "env": {"A": "1"}}))
            .is_ok()
    );
    for bad in [
        json!({}),
        json!({"command": ""}),
        json!({"command": "x", "timeout": 0}),
        json!({"command": "x", "timeout": 3601}),
        json!({"command": "x", "type": "http"}),
        json!({"command": "x", "mode": "parallel"}),
        json!({"command": "x", "env": {"A=B": "1"}}),
    ] {
        assert!(server(bad.clone()).is_err(), "{bad}");
    }
    assert!(check(json!({"version": 2, "server": {"command": "x"}, "methods": [method]})).is_err());
    assert!(check(json!({"server": {"command": "x"}, "methods": []})).is_err());
}

#[test]
fn s2_1_s4_1_duplicate_names_and_tool_names_are_refused() {
    let twice = |a: &str, b: &str, tool: bool| {
        let method =
            |name| json!({"name": name, "local_name": "x", "description": "d", "mcp_tool": tool});
        check(json!({"server": {"command": "x"}, "methods": [method(a), method(b)]}))
    };
    assert!(twice("a.b", "a.b", false).is_err());
    assert!(twice("lab.b", "{{space}}.b", false).is_err());
    assert!(twice("a.b", "a_b", false).is_ok());
    assert!(twice("a.b", "a_b", true).is_err());
}

#[test]
fn s4_1_tool_names_are_limited_by_their_longest_visible_form() {
    let tool = |length: usize, scope: &str| {
        check(with_method(
            json!({"name": "x".repeat(length), "local_name": "x", "description": "d", "mcp_tool": true, "scope": scope}),
        ))
    };
    assert!(tool(48, "private").expect("valid").warnings.is_empty());
    assert_eq!(tool(49, "private").expect("valid").warnings.len(), 1);
    assert!(tool(128, "private").is_ok());
    assert!(tool(119, "shared").is_ok());
    assert!(tool(120, "shared").is_err());
    refused(
        json!({"name": "a", "local_name": "b", "description": "d", "mcp_tool": true, "params_schema": {"type": "array"}}),
        "must be `object`",
    );
}

#[test]
fn s2_1_a_registration_has_1_to_1000_methods() {
    let methods = |count: usize| {
        let method = |i| json!({"name": format!("a{i}"), "local_name": "x", "description": "d"});
        let methods: Vec<_> = (0..count).map(method).collect();
        check(json!({"server": {"command": "x"}, "methods": methods}))
    };
    assert_eq!(methods(1_000).expect("valid").methods.len(), 1_000);
    let error = |count| methods(count).expect_err("a wrong number of methods");
    assert_eq!(
        error(1_001),
        ["methods: 1001 methods; at most 1000 are allowed"]
    );
    assert_eq!(
        error(0),
        ["methods: a registration needs at least one method"]
    );
}

#[test]
fn s2_1_violations_of_the_server_table_name_the_value() {
    let faults = |server: Value| {
        let method = json!({"name": "a", "local_name": "b", "description": "d"});
        match check(json!({"server": server, "methods": [method]})) {
            Ok(_) => Vec::new(),
            Err(faults) => faults,
        }
    };
    let nul = "server.command: command and args must not contain NUL bytes";
    let timeout = "server.timeout: timeout 3601 is not between 1 and 3600 seconds";
    let variable = "server.env: `A` is not a usable environment variable";
    let unnamed = "server.env: `` is not a usable environment variable";
    for (server, expected) in [
        (json!({"command": "x", "timeout": 1}), None),
        (json!({"command": "x", "timeout": 3601}), Some(timeout)),
        (
            json!({"command": ""}),
            Some("server.command: the command is empty"),
        ),
        (json!({"command": "x\0"}), Some(nul)),
        (json!({"command": "x", "args": ["a", "\0"]}), Some(nul)),
        (
            json!({"command": "x", "args": ["a"], "env": {"A": ""}}),
            None,
        ),
        (json!({"command": "x", "env": {"A": "1\0"}}), Some(variable)),
        (json!({"command": "x", "env": {"": "1"}}), Some(unnamed)),
    ] {
        assert_eq!(faults(server.clone()), Vec::from_iter(expected), "{server}");
    }
}

#[test]
fn s2_1_a_serial_server_has_one_call_in_flight_and_excludes_overlap() {
    for (server, most, excludes) in [
        (json!({"command": "x"}), None, false),
        (json!({"command": "x", "max_in_flight": 1}), Some(1), false),
        (json!({"command": "x", "mode": "serial"}), Some(1), true),
    ] {
        let server: ServerDefinition = serde_json::from_value(server).expect("readable");
        let found = (server.in_flight_max(), server.excludes_overlap());
        assert_eq!(found, (most, excludes), "{server:?}");
    }
}

#[test]
fn s4_1_max_in_flight_is_at_least_1_and_in_serial_mode_exactly_1() {
    let check = |mode: &str, most: u32| {
        let method = json!({"name": "a", "local_name": "b", "description": "d"});
        let server = json!({"command": "x", "mode": mode, "max_in_flight": most});
        check(json!({"server": server, "methods": [method]})).map(|c| c.server.max_in_flight)
    };
    assert_eq!(check("concurrent", 1), Ok(Some(1)));
    assert_eq!(check("concurrent", 2), Ok(Some(2)));
    assert_eq!(check("serial", 1), Ok(Some(1)));
    for mode in ["concurrent", "serial"] {
        let error = check(mode, 0).expect_err("no call could start");
        assert!(
            error[0].starts_with("server.max_in_flight: max_in_flight 0 would block every call"),
            "{error:?}"
        );
    }
    let error = check("serial", 2).expect_err("a contradiction");
    assert!(
        error[0].starts_with(
            "server.max_in_flight: max_in_flight 2 does not fit mode \"serial\", which has 1 call"
        ),
        "{error:?}"
    );
}

#[test]
fn a_violation_shows_its_path_and_names_its_method_once() {
    let faults = |name: &str, local_name: &str| {
        let method = json!({"name": name, "local_name": local_name, "description": "d"});
        check(with_method(method)).expect_err("a violation")
    };
    let local_name = "`local_name` must have 1 to 256 characters, not 0";
    assert_eq!(
        faults("a", ""),
        [format!("methods[0].local_name: method `a`: {local_name}")]
    );
    assert_eq!(
        faults("", ""),
        [
            "methods[0].name: method name is empty".to_owned(),
            format!("methods[0].local_name: {local_name}"),
        ]
    );
    assert_eq!(
        faults("rpc.a", "b"),
        ["methods[0].name: method name `rpc.a` begins with `rpc.`, which JSON-RPC reserves"]
    );
}

#[test]
fn s2_1_lists_have_at_most_100_entries_and_no_empty_entry() {
    let faults = |key: &str, words: Value| {
        let mut method = json!({"name": "a", "local_name": "b", "description": "d"});
        method[key] = words;
        match check(with_method(method)) {
            Ok(_) => Vec::new(),
            Err(faults) => faults,
        }
    };
    for key in ["keywords", "groups", "events", "event_sinks"] {
        let fault = |message: &str| format!("methods[0].{key}: method `a`: {message}");
        assert!(faults(key, json!(vec!["w"; 100])).is_empty(), "{key}");
        assert_eq!(
            faults(key, json!(vec!["w"; 101])),
            [fault("101 entries; at most 100 are allowed")]
        );
        for empty in ["".to_owned(), " ".repeat(128)] {
            let faults = faults(key, json!(["w", empty]));
            assert_eq!(faults[0], fault("an entry is empty"));
        }
        let long = faults(key, json!(["w".repeat(129)]));
        let shown = "w".repeat(40);
        assert_eq!(
            long[0],
            fault(&format!(
                "entry `{shown}…` must have at most 128 characters"
            ))
        );
    }
    let events = faults("events", json!(["w", " "]));
    assert_eq!(
        events[1],
        "methods[0].events: method `a`: pattern 2 is empty"
    );
}

#[test]
fn every_error_of_a_schema_is_reported() {
    let faults = check(with_method(json!({
        "name": "a", "local_name": "a", "description": "d",
        "params_schema": {"type": "int", "properties": {"b": {"minLength": -1}, "c": 5}},
        "result_schema": {"pattern": "(", "required": "a"},
    })))
    .expect_err("errors");
    let paths: Vec<_> = faults
        .iter()
        .map(|fault| fault.split(": ").next().expect("a path"))
        .collect();
    assert_eq!(
        paths,
        [
            "methods[0].params_schema.type",
            "methods[0].params_schema.properties.b.minLength",
            "methods[0].params_schema.properties.c",
            "methods[0].result_schema.pattern",
            "methods[0].result_schema.required",
        ],
        "{faults:?}"
    );
}

#[test]
fn misspelled_keywords_of_schemas_are_warned_about() {
    let method = json!({
        "name": "a", "local_name": "a", "description": "d",
        "params_schema": {"type": "object", "requred": ["b"]},
        "result_schema": {"properties": {"c": {"minlength": 1}}},
    });
    let registration: Registration = serde_json::from_value(with_method(method)).expect("read");
    let expected = [
        "`a`: `params_schema.requred` is not a keyword of JSON Schema and has no effect; did you mean `required`?",
        "`a`: `result_schema.properties.c.minlength` is not a keyword of JSON Schema and has no effect; did you mean `minLength`?",
    ];
    assert_eq!(registration.misspelled_keywords(), expected);
    let checked = check(json!(registration)).expect("valid");
    assert_eq!(checked.warnings, expected);
}

#[test]
fn settings_without_effect_are_warned_about() {
    let warnings = |extra: Value| {
        let mut method = json!({"name": "a", "local_name": "b", "description": "d"});
        let method_members = method.as_object_mut().expect("an object");
        method_members.extend(extra.as_object().expect("an object").clone());
        check(with_method(method)).expect("valid").warnings
    };
    let groups = "`a` is private, so its `groups` have no effect";
    let overflow = "`a` has no `events`, so its `event_overflow` has no effect";
    let redact = "`a` has not `journal = \"payloads\"`, so its `journal_redact` has no effect";
    for (extra, expected) in [
        (json!({"groups": ["ops"]}), Some(groups)),
        (json!({"groups": ["ops"], "scope": "shared"}), None),
        (json!({"scope": "shared"}), None),
        (json!({"event_overflow": "hold"}), Some(overflow)),
        (json!({"event_overflow": "hold", "events": ["*"]}), None),
        (json!({"journal_redact": ["/a"]}), Some(redact)),
        (json!({"journal": "payloads"}), None),
    ] {
        assert_eq!(warnings(extra.clone()), Vec::from_iter(expected), "{extra}");
    }
}
