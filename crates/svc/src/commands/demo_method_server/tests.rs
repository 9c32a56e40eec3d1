use std::path::PathBuf;

use svc_core::{SpaceName, UserName};
use svc_protocol::registration_file::parse_and_check;

use super::*;

fn demo(name: &str) -> (Demo, PathBuf) {
    let file = std::env::temp_dir().join(format!("svc-notes-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let notes = Notes::open(file.clone());
    let space = "demo".to_owned();
    (Demo { notes, space }, file)
}

fn talk(demo: &mut Demo, lines: &str) -> String {
    let mut output = Vec::new();
    demo.serve(lines.as_bytes(), &mut output)
        .expect("pipes do not break");
    String::from_utf8(output).expect("UTF-8")
}

#[test]
fn it_answers_line_by_line_and_keeps_notes() {
    let (mut demo, file) = demo("talk");
    let answers = talk(
        &mut demo,
        r#"{"jsonrpc":"2.0","method":"add_note","params":{"text":"Buy milk","tags":["home"]},"id":1}

{"jsonrpc":"2.0","method":"add_note","params":{"text":"silent"}}
{"jsonrpc":"2.0","method":"search_notes","params":{"query":"MILK"},"id":2}
{"jsonrpc":"2.0","method":"hello","id":3}
"#,
    );
    assert_eq!(
        answers,
        r#"{"jsonrpc":"2.0","result":{"id":1,"text":"Buy milk","tags":["home"]},"id":1}
{"jsonrpc":"2.0","result":{"count":1,"notes":[{"id":1,"text":"Buy milk","tags":["home"]}]},"id":2}
{"jsonrpc":"2.0","result":"Hello you, this is demo!","id":3}
"#
    );
    let again = Notes::open(file.clone());
    std::fs::remove_file(file).expect("removable");
    assert_eq!(again.list().len(), 2);
}

#[test]
fn sums_of_big_integers_are_exact() {
    let (mut demo, _) = demo("sums");
    let mut check = |params: &str, result: &str| {
        let line = format!(r#"{{"method":"add","params":{params},"id":9}}"#);
        assert_eq!(
            talk(&mut demo, &line),
            format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"sum\":{result}}},\"id\":9}}\n")
        );
    };
    check(r#"{"a":9007199254740993,"b":1}"#, "9007199254740994");
    check(r#"{"a":1.5,"b":1}"#, "2.5");
    check(
        r#"{"a":12345678901234567890123,"b":-1}"#,
        "12345678901234567890122",
    );
}

#[test]
fn wrong_lines_get_the_right_codes() {
    let (mut demo, _) = demo("wrong");
    let mut check = |line: &str, code: i64| {
        let answer: serde_json::Value = serde_json::from_str(&talk(&mut demo, line)).expect(line);
        assert_eq!(answer["error"]["code"], code, "{line}");
    };
    check("nonsense", PARSE_ERROR);
    check(r#"{"method":"nope","id":1}"#, METHOD_NOT_FOUND);
    check(
        r#"{"method":"add","params":{"a":"x","b":1},"id":1}"#,
        INVALID_PARAMS,
    );
    check(
        r#"{"method":"add_note","params":{"text":" "},"id":1}"#,
        INVALID_PARAMS,
    );
    check(
        r#"{"method":"list_notes","params":{"x":1},"id":1}"#,
        INVALID_PARAMS,
    );
}

#[test]
fn the_demo_registration_is_valid_and_every_method_of_it_is_served() {
    let space = SpaceName::parse("demo").expect("a name");
    let owner = UserName::parse("admin").expect("a name");
    let text = crate::commands::up::DEMO_REGISTRATION;
    let checked = parse_and_check("demo.toml", text, &space, &owner).expect("valid");
    assert!(checked.warnings.is_empty());
    let (mut demo, _) = demo("registration");
    for method in checked.methods {
        let error = demo.call(&method.local_name, "[\"wrong\", 1, 2]").err();
        assert!(
            error.is_some_and(|Error(code, _)| code == INVALID_PARAMS),
            "`{}` is not served",
            method.name
        );
    }
}
