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
