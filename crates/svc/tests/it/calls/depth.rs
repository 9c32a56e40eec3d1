//! How deep params and payloads may nest: no method server runs out of stack.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, fixture, method, result};

use crate::{
    examples::have,
    mcp::{modern_body, post},
};

/// JSON with this many nested levels: an object, with arrays inside.
fn nested(levels: usize) -> String {
    let inside = levels - 1;
    format!(r#"{{"a":{}1{}}}"#, "[".repeat(inside), "]".repeat(inside))
}

fn request(levels: usize, id: &str) -> String {
    let params = nested(levels);
    format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params}{id}}}"#)
}

async fn call(user: &TestUser, body: String) -> String {
    user.call_raw(body).await.expect(200).text().to_string()
}

fn check_too_deep(answer: &Value) {
    assert_eq!(error_code(answer), -32602, "{answer}");
    assert_eq!(answer["error"]["data"]["reason"], "too_deep");
    assert_eq!(answer["error"]["data"]["limit_levels"], 128);
    assert!(answer.to_string().contains("128 levels"));
}

#[tokio::test]
async fn s4_1_params_nested_too_deep_reach_no_method_server() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture().with(method("echo", "echo").mcp_tool());
    let agent = space.publish(registration).await;
    let pid = agent.method_server_pid().await;

    for levels in [1, 64, 65, 127, 128] {
        let answer = call(&ann, request(levels, r#","id":1"#)).await;
        assert!(answer.contains(&nested(levels)), "{levels}: {answer}");
    }
    for levels in [129, 1_000, 100_000] {
        let answer: Value =
            serde_json::from_str(&call(&ann, request(levels, r#","id":7"#)).await).unwrap();
        check_too_deep(&answer);
        assert_eq!(answer["id"], 7);
        // A notification gets no response, not even for invalid params.
        ann.call_raw(request(levels, "")).await.expect(204);
    }
    let batch = format!(
        "[{},{},{}]",
        request(2_000, r#","id":1"#),
        request(3, r#","id":2"#),
        request(2_000, "")
    );
    let answers: Value = serde_json::from_str(&call(&ann, batch).await).unwrap();
    check_too_deep(&answers[0]);
    result(&answers[1]);
    assert_eq!(answers.as_array().unwrap().len(), 2);

    let output = agent
        .cli()
        .run(&["method", "call", "echo", &nested(500)])
        .await;
    assert_ne!(output.code, 0);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("128 levels"), "{said}");

    let arguments: String = nested(500);
    let mark = json!("arguments stand here");
    let body = modern_body("tools/call", json!({"name": "echo", "arguments": mark}));
    let body = body.to_string().replace(&mark.to_string(), &arguments);
    let headers = [
        ("mcp-protocol-version", crate::mcp::MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ];
    let answer = post(&ann, "/mcp", &headers, body).await.json();
    assert_eq!(error_code(&answer), -32602, "{answer}");
    assert_eq!(answer["error"]["data"]["reason"], "too_deep");

    assert_eq!(
        agent.method_server_pid().await,
        pid,
        "the process is the same"
    );
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
}

#[tokio::test]
async fn payloads_and_records_nested_too_deep_are_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let deep = |levels| format!(r#"{{"type":"t","payload":{}}}"#, nested(levels));
    ann.post("/api/events/emit", deep(120)).await.expect(202);
    for levels in [129, 100_000] {
        let refused = ann
            .post("/api/events/emit", deep(levels))
            .await
            .expect(400)
            .json();
        assert_eq!(refused["code"], "too_deep", "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains("levels"));
    }
    let space = format!(r#"{{"name":"lab","health_check":{}}}"#, nested(1_000));
    let refused = ann.post("/api/spaces", space).await.expect(400).json();
    assert!(["too_deep", "invalid_body"].contains(&refused["code"].as_str().unwrap()));
}

/// The method server of the README, unchanged.
fn hello() -> String {
    let readme = include_str!("../../../../../README.md");
    let (_, rest) = readme.split_once("# hello.py\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[tokio::test]
async fn the_method_servers_of_the_documentation_survive_any_line() {
    if !have("python3") {
        return;
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let notes = std::fs::read_to_string(format!("{root}/examples/python-notes/notes.py")).unwrap();
    let tasks = std::fs::read_to_string(format!("{root}/examples/node-tasks/server.mjs")).unwrap();
    let greet = r#"{"jsonrpc":"2.0","method":"hello","params":{"name":"Ada"},"id":77}"#;
    let search = r#"{"jsonrpc":"2.0","method":"search","params":{"query":"x"},"id":77}"#;
    let list = r#"{"jsonrpc":"2.0","method":"list","params":{},"id":77}"#;
    for (program, flag, text, good) in [
        ("python3", "-c", hello(), greet),
        ("python3", "-c", notes, search),
        ("node", "--input-type=module", tasks, list),
    ] {
        if !have(program) {
            continue;
        }
        let mut command = Command::new(program);
        match flag {
            "-c" => command.args([flag, &text]),
            flag => command.args([flag, "--eval", &text]),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let deep = "[".repeat(2_048);
        let deeper = request(900, r#","id":4"#);
        for line in [
            deep.as_str(),
            "[]",
            "1",
            "null",
            "{",
            "\u{0}",
            "",
            "{}",
            r#"{"id":1}"#,
            r#"{"method":[],"id":2}"#,
            r#"{"method":"hello","params":7,"id":3}"#,
            deeper.as_str(),
            good,
        ] {
            writeln!(stdin, "{line}").unwrap();
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{program}: {:?}", output.status);
        let said = String::from_utf8(output.stdout).unwrap();
        let answered = said.lines().any(|line| {
            let answer: Value = serde_json::from_str(line).expect(line);
            answer["id"] == 77 && answer.get("result").is_some()
        });
        assert!(answered, "{program} still answers: {said}");
    }
}
