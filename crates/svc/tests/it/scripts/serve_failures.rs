//! Handlers that fail or never end (spec 4.4): each returns its own JSON-RPC error, and does not
//! affect other calls.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{error_code, result};

use super::{lab::Lab, serve::HOLD};
use crate::SOON;

const FAILING: &str = r#"
import json
import sys
from svc import jsonrpc

def echo(params):
    return params

def raises(params):
    raise ValueError("no such note")

def chosen(params):
    raise jsonrpc.error(404, "there is no note 9", {"id": 9, "known": [1, None]})

def returns_module(params):
    return json

def returns_function(params):
    return {"f": echo}

def leaves(params):
    sys.exit(3)

def imports_nothing(params):
    import no_such_library

def recurses(params):
    return recurses(params)

def nests(params):
    found = []
    for _ in range(100000):
        found = [found]
    return found

def hoards(params):
    found = []
    while True:
        found.append("x" * 100000)

def repeats(params):
    return "x" * 10**11

def powers(params):
    return 7 ** 10**9

def answers_too_much(params):
    return "x" * (17 * 1024 * 1024)
"#;

/// The number of the line with this text.
fn line_of(handlers: &str, text: &str) -> usize {
    let found = handlers.lines().position(|line| line.trim() == text);
    found.unwrap_or_else(|| panic!("`{text}`")) + 1
}

/// The name of each failing handler, and the error that its caller gets: the code, a part of the
/// message, and the data.
fn failures(handlers: &str) -> Vec<(&'static str, i64, &'static str, Value)> {
    let at = |text: &str| json!({"reason": "exception", "line": line_of(handlers, text)});
    let nowhere = || json!({"reason": "exception", "file": null, "line": null});
    let memory = || json!({"reason": "memory"});
    let mib = "the script used more than 64 MiB";
    let raises = at("raise ValueError(\"no such note\")");
    let chosen = json!({"id": 9, "known": [1, null]});
    let too_large = json!({"reason": "answer_too_large", "limit_bytes": 16_777_216});
    vec![
        ("raises", -32603, "ValueError: no such note", raises),
        ("chosen", 404, "there is no note 9", chosen),
        ("returns_module", -32603, "JSON cannot represent", nowhere()),
        (
            "returns_function",
            -32603,
            "JSON cannot represent",
            nowhere(),
        ),
        ("leaves", -32603, "SystemExit: 3", at("sys.exit(3)")),
        (
            "imports_nothing",
            -32603,
            "no_such_library",
            at("import no_such_library"),
        ),
        (
            "recurses",
            -32603,
            "RecursionError",
            at("return recurses(params)"),
        ),
        ("nests", -32603, "", nowhere()),
        ("hoards", -32603, mib, memory()),
        ("repeats", -32603, mib, memory()),
        ("powers", -32603, mib, memory()),
        ("answers_too_much", -32603, "at most 16777216", too_large),
    ]
}

#[tokio::test]
async fn s4_4_a_handler_that_fails_returns_the_reason_and_affects_no_other_call() {
    let handlers = format!("{HOLD}{FAILING}");
    let args = ["--memory-mb", "64", "--workers", "3"];
    let lab = Lab::serving(&handlers, &args).await;
    let pid = lab.agent.method_server_pid().await;
    for (name, code, message, data) in failures(&handlers) {
        let held = lab.hold(name).await;
        let response = lab.ann.call(name, json!({"a": 1})).await;
        let error = &response["error"];
        assert_eq!(error["code"], code, "{name}: {response}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains(message), "{name}: {response}");
        for (key, expected) in data.as_object().unwrap() {
            assert_eq!(&error["data"][key], expected, "{name}: {response}");
        }
        if data["line"].is_u64() {
            assert_eq!(error["data"]["file"], "handlers.py", "{name}: {response}");
        }
        let again = lab.ann.call("echo", json!([name])).await;
        assert_eq!(result(&again), &json!([name]), "after {name}");
        lab.release(held).await;
    }
    assert_eq!(
        lab.agent.method_server_pid().await,
        pid,
        "the method server never ended"
    );
}

const ENDLESS: &str = r#"
import time

def echo(params):
    return params

def spins(params):
    while True:
        pass

def sleeps(params):
    time.sleep(600)

def sums(params):
    return sum(range(10**15))

def swallows(params):
    while True:
        try:
            sums(params)
        except BaseException:
            pass
"#;

#[tokio::test]
async fn s4_4_an_endless_handler_is_ended_at_its_timeout_and_affects_no_other_call() {
    let args = ["--timeout", "6", "--workers", "6"];
    let lab = Lab::serving(ENDLESS, &args).await;
    let pid = lab.agent.method_server_pid().await;
    let endless = ["spins", "sleeps", "sums", "swallows"];
    let begun = Instant::now();
    let calls = endless.map(|name| (name, lab.ann.start_call(name, json!({}))));
    let mut answered = 0;
    while !calls.iter().all(|(_, call)| call.is_finished()) {
        let echoed = lab.ann.call("echo", json!([answered])).await;
        assert_eq!(result(&echoed), &json!([answered]));
        answered += 1;
        assert!(begun.elapsed() < SOON, "the handlers still run");
    }
    assert!(answered > 2, "{answered}");
    assert!(begun.elapsed() >= Duration::from_secs(6));
    for (name, call) in calls {
        let response = call.await.unwrap();
        assert_eq!(error_code(&response), -32001, "{name}: {response}");
        let data = json!({"reason": "timeout", "timeout_seconds": 6, "sent": true});
        assert_eq!(response["error"]["data"], data, "{name}");
    }
    assert_eq!(
        lab.agent.method_server_pid().await,
        pid,
        "the method server never ended"
    );
    assert_eq!(lab.ann.call("echo", json!([1])).await["result"], json!([1]));
}
