//! Handlers, routes and snapshots.

use super::*;
use crate::{RpcFault, Snapshot};

const NOTES: &str = "\
count = 0
def add(params):
    global count
    count += 1
    return {'count': count, 'echo': params}
def refuse(params):
    from svc import jsonrpc
    raise jsonrpc.error(-32001, 'no such note', {'id': params['id']})
def careful(params):
    from svc import jsonrpc
    try:
        jsonrpc.error(1, 'first')
    except RuntimeError:
        pass
    raise ValueError('second')
def bad(params):
    return {1, 2}
def nan(params):
    return float('nan')
";

const SETUP: &str = "\
from svc import jsonrpc
jsonrpc.method('add', 'notes.add')
jsonrpc.method('own', '__main__.own')
def own(params):
    return params['b'] + 1
";

fn served() -> (Evaluator, TestHost) {
    let mut host = TestHost::with(&[("notes", NOTES)]);
    let mut evaluator = Evaluator::new(&setting(Flavour::Space));
    evaluator
        .run(&source(SETUP), &mut host)
        .and_then(|()| evaluator.load_routes(&mut host))
        .unwrap_or_else(|error| panic!("{error}"));
    (evaluator, host)
}

fn call(evaluator: &mut Evaluator, host: &mut TestHost, handler: &str, params: &str) -> String {
    evaluator
        .call(handler, params, host)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_evaluator_knows_its_routes_and_files_after_setup() {
    let (evaluator, _) = served();
    assert_eq!(
        evaluator.routes(),
        [
            ("add".to_owned(), "notes.add".to_owned()),
            ("own".to_owned(), "__main__.own".to_owned())
        ]
    );
    assert_eq!(evaluator.files(), ["notes.py", "script.py"]);
}

#[test]
fn params_and_results_pass_through_unchanged() {
    let (mut evaluator, mut host) = served();
    let params = r#"{"z":1,"a":[12345678901234567890123,1.5,-0.0,1e300,null,true,"é\u0000\""]}"#;
    let answer = call(&mut evaluator, &mut host, "notes.add", params);
    assert_eq!(
        answer,
        r#"{"count":1,"echo":{"z":1,"a":[12345678901234567890123,1.5,-0.0,1e+300,null,true,"é\u0000\""]}}"#
    );
    assert_eq!(
        call(&mut evaluator, &mut host, "__main__.own", r#"{"b":41}"#),
        "42"
    );
}

#[test]
fn a_fresh_evaluator_never_sees_changes_of_an_earlier_one() {
    let (evaluator, mut host) = served();
    let snapshot = evaluator.snapshot().expect("frozen");
    let snapshot = Snapshot::from_bytes(&snapshot.to_bytes()).expect("the same bytes");
    let libraries = host.asked.len();
    for _ in 0..3 {
        let mut fresh = Evaluator::restore(&snapshot).expect("thawed");
        assert_eq!(
            call(&mut fresh, &mut host, "notes.add", "null"),
            r#"{"count":1,"echo":null}"#
        );
        assert_eq!(
            call(&mut fresh, &mut host, "notes.add", "null"),
            r#"{"count":2,"echo":null}"#
        );
    }
    assert_eq!(host.asked.len(), libraries, "libraries are in the snapshot");
    let mut fresh = Evaluator::restore(&snapshot).expect("thawed");
    let error = fresh
        .call("notes.refuse", "{}", &mut host)
        .expect_err("no id");
    assert_eq!(
        place(&error),
        "notes.py:8 in refuse: raise jsonrpc.error(-32001, 'no such note', {'id': params['id']})"
    );
}

#[test]
fn damaged_snapshots_are_refused() {
    let bytes = served().0.snapshot().expect("frozen").to_bytes();
    for cut in [0, 7, 8, 100, bytes.len() - 1] {
        let loaded = Snapshot::from_bytes(&bytes[..cut]);
        assert!(
            loaded
                .and_then(|it| Evaluator::restore(&it).map(drop))
                .is_err(),
            "{cut}"
        );
    }
}

#[test]
fn a_handler_raises_its_own_json_rpc_error() {
    let (mut evaluator, mut host) = served();
    let error = evaluator
        .call("notes.refuse", r#"{"id":7}"#, &mut host)
        .expect_err("refused");
    let fault = RpcFault {
        code: -32001,
        message: "no such note".to_owned(),
        data: Some(r#"{"id":7}"#.to_owned()),
    };
    assert_eq!(error.kind, ErrorKind::Rpc(Box::new(fault)));
    let error = evaluator
        .call("notes.careful", "{}", &mut host)
        .expect_err("second");
    assert_eq!(error.kind, ErrorKind::Exception);
    assert_eq!(error.message, "ValueError: second");
}

#[test]
fn a_result_that_is_not_json_is_an_error_with_the_handlers_name() {
    let (mut evaluator, mut host) = served();
    for handler in ["notes.bad", "notes.nan"] {
        let error = evaluator
            .call(handler, "{}", &mut host)
            .expect_err("no JSON");
        assert!(
            error.message.starts_with(&format!(
                "TypeError: `{handler}` returned a value that JSON cannot represent: "
            )),
            "{}",
            error.message
        );
    }
}

#[test]
fn errors_name_the_missing_handler() {
    let (mut evaluator, mut host) = served();
    for (handler, message) in [
        (
            "notes.gone",
            "ImportError: cannot import name 'gone' from 'notes'",
        ),
        ("gone.f", "ModuleNotFoundError: No module named 'gone'"),
        (
            "__main__.gone",
            "ImportError: the script has no function `gone`",
        ),
        (
            "plain",
            "`plain` is not a handler name: write `library.function`",
        ),
        (
            "a.b(); import os",
            "`a.b(); import os` is not a handler name: write `library.function`",
        ),
    ] {
        let error = evaluator.call(handler, "{}", &mut host).expect_err(handler);
        assert_eq!(error.message, message);
    }
}

#[test]
fn a_route_to_a_missing_function_is_an_error_at_setup() {
    for (handler, message) in [
        (
            "notes.gone",
            "method `x` is routed to `notes.gone`: ImportError: cannot import name 'gone' from 'notes'",
        ),
        (
            "__main__.gone",
            "method `x` is routed to `__main__.gone`: ImportError: the script has no function `gone`",
        ),
    ] {
        let mut host = TestHost::with(&[("notes", NOTES)]);
        let mut evaluator = Evaluator::new(&setting(Flavour::Space));
        let setup = format!("from svc import jsonrpc\njsonrpc.method('x', '{handler}')\n");
        evaluator
            .run(&source(&setup), &mut host)
            .expect("routing alone loads nothing");
        let error = evaluator.load_routes(&mut host).expect_err("nothing there");
        assert_eq!(error.message, message);
    }
}

#[test]
fn a_tool_is_a_script_with_a_function_main() {
    let mut host = TestHost::default();
    let mut evaluator = Evaluator::new(&setting(Flavour::Tool));
    let script = source("def main(params):\n    return [params['n'] * 2]\n");
    evaluator.run(&script, &mut host).expect("it only defines");
    assert_eq!(
        call(&mut evaluator, &mut host, "__main__.main", r#"{"n":4}"#),
        "[8]"
    );
}

#[test]
fn random_numbers_differ_between_fresh_evaluators() {
    let dice = "import random\nrandom.random()\ndef roll(params):\n    return random.random()\n";
    let mut host = TestHost::with(&[("dice", dice)]);
    let mut evaluator = Evaluator::new(&setting(Flavour::Space));
    let setup = source("from svc import jsonrpc\njsonrpc.method('roll', 'dice.roll')\n");
    evaluator.run(&setup, &mut host).expect("it routes");
    evaluator.load_routes(&mut host).expect("it is there");
    let snapshot = evaluator.snapshot().expect("frozen");
    let mut roll = || {
        let mut fresh = Evaluator::restore(&snapshot).expect("thawed");
        call(&mut fresh, &mut host, "dice.roll", "null")
    };
    assert_ne!(roll(), roll());
}

#[test]
fn parameters_of_any_size_are_parsed_like_json_loads() {
    let mut host = TestHost::with(&[("notes", "def echo(params):\n    return params\n")]);
    let mut evaluator = Evaluator::new(&setting(Flavour::Space));
    let deep = format!("{}{}", "[".repeat(150), "]".repeat(150));
    let large = "x".repeat(20_000);
    for rest in ["", large.as_str()] {
        for (value, expected) in [
            (
                r#"{"a":1,"b":[true,null],"a":2}"#,
                r#"{"a":2,"b":[true,null]}"#,
            ),
            ("12345678901234567890123", "12345678901234567890123"),
            ("[-0.5,1e3]", "[-0.5,1000.0]"),
            (r#""\u00e9\n""#, r#""é\n""#),
            (deep.as_str(), deep.as_str()),
        ] {
            let wrap = |value| format!(r#"{{"value":{value},"rest":"{rest}"}}"#);
            let result = evaluator.call("notes.echo", &wrap(value), &mut host);
            assert_eq!(result.expect("it comes back"), wrap(expected));
        }
        let cut_off = format!(r#"{{"rest":"{rest}","#);
        let refused = evaluator.call("notes.echo", &cut_off, &mut host);
        let error = refused.expect_err("no JSON");
        assert!(error.to_string().contains("JSONDecodeError"), "{error}");
    }
}

const FORWARD: &str = "\
def send(params):
    from svc import event
    return event.emit('x', params)
def send_text(params):
    from svc import event
    return event.emit('x', {'v': str(params['v'])})
def call(params):
    from svc import api
    return api.call('m', params)
";

#[test]
fn a_number_that_was_rounded_is_not_sent_on() {
    let event = r#"{"event_id": "e"}"#;
    let answer = r#"{"status": 200, "body": {"result": 1}}"#;
    let mut host = TestHost::with(&[("forward", FORWARD)])
        .answering("emit", event)
        .answering("api", answer);
    let mut evaluator = Evaluator::new(&setting(Flavour::Space));
    for exact in [
        r#"{"v": 1.10}"#,
        r#"{"v": [12345678901234567890123, -2.5e3]}"#,
    ] {
        call(&mut evaluator, &mut host, "forward.send", exact);
        call(&mut evaluator, &mut host, "forward.call", exact);
    }
    let inexact = r#"{"v": 0.1000000000000000055}"#;
    for handler in ["forward.send", "forward.call"] {
        let error = evaluator
            .call(handler, inexact, &mut host)
            .expect_err(handler);
        assert!(
            error.message.contains("the number 0.1 was rounded"),
            "{handler}: {error}"
        );
    }
    call(&mut evaluator, &mut host, "forward.send_text", inexact);
}
