use super::*;

const GOOD: &str = r#"
version = 1

[server]
command = "python3"
args = ["notes.py"]

[[methods]]
name = "{{space}}.search"
local_name = "search"
description = "Search the notes"
keywords = ["find"]

[methods.params_schema]
type = "object"

[methods.params_schema.properties.query]
type = "string"
"#;

fn check(text: &str) -> Result<CheckedRegistration, FileError> {
    let space = SpaceName::parse("lab").expect("valid");
    let owner = UserName::parse("ann").expect("valid");
    read_file("methods.toml", text, &space, &owner).map(|(_, checked)| checked)
}

#[test]
fn the_fields_of_the_specification_are_read() {
    let checked = check(GOOD).expect("valid");
    assert_eq!(checked.methods[0].name.as_str(), "lab.search");
    let schema = checked.methods[0].params_schema.as_ref().expect("a schema");
    assert_eq!(schema["properties"]["query"]["type"], "string");
}

#[test]
fn s2_1_dates_in_a_schema_become_text() {
    let dated = GOOD.replace(
        "type = \"string\"",
        "type = \"string\"\ndefault = 2026-11-16T03:00:00Z\nenum = [2026-11-16, 03:00:00]",
    );
    let checked = check(&dated).expect("valid");
    let query =
        &checked.methods[0].params_schema.as_ref().expect("a schema")["properties"]["query"];
    assert_eq!(query["default"], "2026-11-16T03:00:00Z");
    assert_eq!(query["enum"], serde_json::json!(["2026-11-16", "03:00:00"]));
}

#[test]
fn every_fault_has_its_line_and_column() {
    let fault = |text: &str, expected: &str| {
        let error = check(text).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    fault(
        &GOOD.replace("keywords", "keyword"),
        "methods.toml:12:1: method `{{space}}.search`: unknown field `keyword`; did you mean `keywords`?",
    );
    fault(
        &GOOD.replace("{{space}}.search", "a b"),
        "methods.toml:9:8: method name `a b`",
    );
    fault(
        &GOOD.replace("type = \"string\"", "type = \"text\""),
        "methods.toml:18:8: method `{{space}}.search`: `text` is not a type",
    );
    fault(
        &GOOD.replace("local_name = \"search\"\n", ""),
        "methods.toml:8:1: method `{{space}}.search` has no `local_name`",
    );
    fault(
        &GOOD.replace("[server]", "[server]\ntimeout = 0"),
        "methods.toml:5:11: timeout 0",
    );
    fault("[server\n", "methods.toml:1:8: this is not valid TOML: ");
    fault(
        &GOOD
            .replace("scope", "x")
            .replace("keywords", "scope = \"all\"\nkeywords"),
        "methods.toml:12:9: method `{{space}}.search`: expected one of `private` or `shared`, not the text `all`",
    );
    fault(
        &GOOD.replace("type = \"string\"", "type = \"number\"\nmaximum = inf"),
        "methods.toml:19:11: method `{{space}}.search`: `inf` cannot be written in JSON",
    );
    fault("", "methods.toml:1:1: missing field `server`");
}

#[test]
fn a_fault_in_a_registration_without_a_file_is_named_by_its_path() {
    let space = SpaceName::parse("lab").expect("valid");
    let owner = UserName::parse("ann").expect("valid");
    let bad = GOOD.replace("{{space}}.search", "a b");
    let registration = parse("methods.toml", &bad).expect("TOML");
    let violations = registration.check(&space, &owner).expect_err("bad name");
    let error = without_text("methods.py", &violations).to_string();
    assert!(
        error.starts_with("methods.py: methods[0].name: method name `a b`"),
        "{error}"
    );
}

#[test]
fn the_excerpt_points_at_the_fault() {
    let error = check(&GOOD.replace("{{space}}.search", "a b")).expect_err("bad name");
    let excerpt = error.faults[0].excerpt.as_deref().expect("has an excerpt");
    assert_eq!(excerpt, "  |\n9 | name = \"a b\"\n  |        ^");
}

#[test]
fn every_fault_of_a_file_is_reported() {
    let bad = GOOD
        .replace(
            "[server]",
            "colour = 1\n[server]\ntimeout = \"long\"\nmode = \"fast\"",
        )
        .replace("keywords", "keyword")
        .replace(
            "type = \"object\"",
            "type = \"object\"\nrequred = [\"query\"]",
        )
        .replace("type = \"string\"", "type = \"int\"")
        + "\n[[methods]]\nname = 5\nlocal_name = \"b\"\n"
        + "\n[[methods]]\nname = \"c d\"\nlocal_name = \"c\"\ndescription = \"d\"\n";
    let error = check(&bad).expect_err("faults");
    let expected = [
        (4, "unknown field `colour`"),
        (6, "expected a whole number from 0 to 4294967295"),
        (7, "expected one of `concurrent` or `serial`"),
        (15, "method `{{space}}.search`: unknown field `keyword`"),
        (22, "method `{{space}}.search`: `int` is not a type"),
        (25, "expected a string, not the number 5"),
        (29, "method name `c d`"),
    ];
    assert_eq!(error.faults.len(), expected.len(), "{error}");
    for (fault, (line, message)) in error.faults.iter().zip(expected) {
        assert_eq!(fault.position.map(|(line, _)| line), Some(line), "{fault}");
        assert!(fault.message.starts_with(message), "{fault}");
    }
    let warning = "`{{space}}.search`: `params_schema.requred` is not a keyword";
    assert!(
        error.warnings[0].starts_with(warning),
        "{:?}",
        error.warnings
    );
    assert_eq!(error.warnings.len(), 1);
}

#[test]
fn a_registration_without_a_readable_method_is_not_reported_as_empty() {
    let unreadable = "[server]\ncommand = \"x\"\n[[methods]]\nname = \"a\"\n";
    let error = check(unreadable).expect_err("faults");
    assert_eq!(error.faults.len(), 1, "{error}");
    assert!(
        error.to_string().contains("missing field `description`"),
        "{error}"
    );
    let empty = check("[server]\ncommand = \"x\"\ntimeout = 0\n").expect_err("faults");
    assert_eq!(empty.faults.len(), 2, "{empty}");
}
