//! The examples of method servers under `examples/`, used as their READMEs describe.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use svc_testkit::{
    Output, Process, TestAgent, TestServer, TestSpace, TestUser, error_code, eventually, result,
};

use crate::SOON;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .canonicalize()
        .unwrap()
}

/// Whether a program is installed. With `CI=true` its absence fails the test.
pub(crate) fn have(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let found = command.status().is_ok_and(|status| status.success());
    assert!(
        found || std::env::var("CI").as_deref() != Ok("true"),
        "CI needs `{program}`"
    );
    if !found {
        eprintln!("SKIPPED: this needs `{program}`, which is not installed");
    }
    found
}

struct Published {
    agent: TestAgent,
    space: TestSpace,
    ann: TestUser,
    ben: TestUser,
    server: TestServer,
}

/// After the registration of an example, stderr has at most a call to try.
fn check_no_warning(said: &Output) {
    let is_call = |line: &str| line.starts_with("try: svc method call ");
    assert!(said.stderr.lines().all(is_call), "{}", said.stderr);
}

async fn publish(example: &str) -> Published {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("desk").await;
    let agent = space.agent().await;
    let file = examples().join(example).join("methods.toml");
    let said = agent
        .cli()
        .run(&["methods", "register", file.to_str().unwrap()])
        .await
        .expect(0);
    check_no_warning(&said);
    Published {
        agent,
        space,
        ann,
        ben,
        server,
    }
}

impl Published {
    /// Checks that a slow call does not delay a quick call.
    async fn check_concurrent(&self, slow: (&'static str, Value), quick: (&str, Value)) {
        let (caller, (method, params)) = (self.ann.clone(), slow);
        let running = tokio::spawn(async move { caller.call(method, params).await });
        self.ann.wait_for_in_flight(method, 1).await;
        result(&self.ann.call(quick.0, quick.1).await);
        assert!(!running.is_finished());
        result(&running.await.unwrap());
    }

    /// Checks that the method server exits after `svc methods unregister`, and that it logs
    /// `last_words` before that.
    async fn check_clean_end(mut self, last_words: Option<&str>) {
        let pid = self.agent.method_server_pid().await;
        self.agent
            .cli()
            .run(&["methods", "unregister"])
            .await
            .expect(0);
        Process::wait_until_gone(pid, SOON).await;
        if let Some(words) = last_words {
            let path = format!("{}/logs", self.space.path());
            eventually("the last message is in the log", SOON, || async {
                self.ann.get(&path).await.expect(200).text().contains(words)
            })
            .await;
        }
        assert_eq!(self.agent.stop().await.code(), Some(0));
        drop(self.server);
    }
}

#[tokio::test]
async fn python_notes() {
    if !have("python3") {
        return;
    }
    let desk = publish("python-notes").await;
    let (ann, ben) = (&desk.ann, &desk.ben);
    let names = ["desk.notes.clear", "notes.add", "notes.get", "notes.search"];
    assert_eq!(ann.method_names().await, names);
    assert_eq!(ben.method_names().await, ["user.ann.notes.search"]);
    let document = ann.find_method("notes.search").await.unwrap();
    assert_eq!(document["mcp_tool_name"], "notes_search");
    assert_eq!(document["params_schema"]["required"], json!(["query"]));

    let note = ann
        .call("notes.add", json!({"text": "buy ink", "tags": ["shop"]}))
        .await;
    assert_eq!(
        result(&note),
        &json!({"id": 1, "text": "buy ink", "tags": ["shop"]})
    );
    assert_eq!(
        result(&ann.call("notes.get", json!({"id": 1})).await)["text"],
        "buy ink"
    );
    let found = ben
        .call("user.ann.notes.search", json!({"query": "INK"}))
        .await;
    assert_eq!(result(&found).as_array().unwrap().len(), 1);

    let missing = ann.call("notes.get", json!({"id": 99})).await;
    assert_eq!(
        missing["error"],
        json!({"code": 404, "message": "there is no note 99", "data": {"id": 99, "count": 1}})
    );
    let empty = ann.call("notes.add", json!({"text": " "})).await;
    assert_eq!(empty["error"]["data"], json!({"field": "text"}));
    assert_eq!(
        error_code(&ann.call("notes.add", json!({"colour": "red"})).await),
        -32602
    );

    let slow = ("notes.search", json!({"query": "ink", "delay_ms": 8000}));
    desk.check_concurrent(slow, ("notes.get", json!({"id": 1})))
        .await;
    ann.notify("desk.notes.clear", json!({})).await.expect(204);
    eventually("the notes are gone", SOON, || async {
        error_code_of(&ann.call("notes.get", json!({"id": 1})).await) == Some(404)
    })
    .await;
    desk.check_clean_end(Some("the notebook is closed")).await;
}

fn error_code_of(response: &Value) -> Option<i64> {
    response["error"]["code"].as_i64()
}

#[tokio::test]
async fn node_tasks() {
    if !have("node") {
        return;
    }
    let desk = publish("node-tasks").await;
    let (ann, ben) = (&desk.ann, &desk.ben);
    assert_eq!(
        ann.method_names().await,
        ["tasks.add", "tasks.finish", "tasks.list", "tasks.remind"]
    );
    assert_eq!(ben.method_names().await, ["user.ann.tasks.list"]);

    let task = ann
        .call("tasks.add", json!({"title": "water the plants"}))
        .await;
    assert_eq!(
        result(&task),
        &json!({"id": 1, "title": "water the plants", "done": false})
    );
    ann.notify("tasks.finish", json!({"id": 1}))
        .await
        .expect(204);
    let done = ben.call("user.ann.tasks.list", json!({"done": true})).await;
    assert_eq!(result(&done)[0]["title"], "water the plants");
    assert_eq!(
        result(&ann.call("tasks.list", json!({"done": false})).await),
        &json!([])
    );

    let missing = ann.call("tasks.finish", json!({"id": 99})).await;
    assert_eq!(
        missing["error"],
        json!({"code": 404, "message": "there is no task 99", "data": {"id": 99, "count": 1}})
    );
    assert_eq!(error_code(&ann.call("tasks.add", json!({})).await), -32602);

    let slow = ("tasks.remind", json!({"in_ms": 8000}));
    desk.check_concurrent(slow, ("tasks.list", json!({}))).await;
    desk.check_clean_end(None).await;
}

/// The demo of `svc up`, which needs no other program. Both forms of its registration, TOML and
/// Python, are tested.
#[tokio::test]
async fn notes() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("desk").await;
    for name in ["methods.toml", "methods.py", "setup.py", "notes.py"] {
        let file = examples().join("notes").join(name);
        space.write(name, &std::fs::read_to_string(file).unwrap());
    }
    let mut agent = space.agent().await;
    let mut forms = Vec::new();
    for (notes_before, file) in ["methods.toml", "methods.py"].into_iter().enumerate() {
        let validate = ["methods", "validate", file, "-o", "json"];
        forms.push(agent.cli().run(&validate).await.expect(0).stdout);
        let said = agent.cli().run(&["methods", "register", file]).await;
        check_no_warning(&said.expect(0));
        let names = [
            "desk.hello",
            "math.add",
            "notes.add",
            "notes.list",
            "notes.search",
        ];
        assert_eq!(ann.method_names().await, names);

        let note = ann
            .call("notes.add", json!({"text": "buy ink", "tags": ["shop"]}))
            .await;
        let id = notes_before + 1;
        assert_eq!(
            result(&note),
            &json!({"id": id, "text": "buy ink", "tags": ["shop"]})
        );
        let found = ben
            .call("user.ann.notes.search", json!({"query": "INK"}))
            .await;
        assert_eq!(result(&found)["count"], id, "notes outlive a registration");
        let empty = ann.call("notes.add", json!({"text": " "})).await;
        assert_eq!(error_code(&empty), -32602);
        assert_eq!(empty["error"]["data"], json!({"field": "text"}));
        let hello = ann.call("desk.hello", json!({"name": "Ann"})).await;
        assert_eq!(result(&hello), "Hello Ann, this is desk!");
    }
    assert_eq!(forms[0], forms[1], "both forms are the same registration");
    // The example in the help of `svc mcp`.
    let example = ["mcp", "call", "notes_add", r#"{"text":"hello"}"#];
    let called = server.cli(&ann).run(&example).await.expect(0);
    assert!(
        called.stdout.contains(r#""text":"hello""#),
        "{}",
        called.stdout
    );
    let pid = agent.method_server_pid().await;
    agent.cli().run(&["methods", "unregister"]).await.expect(0);
    Process::wait_until_gone(pid, SOON).await;
    assert_eq!(agent.stop().await.code(), Some(0));
}

/// Fails if `examples/` has a new folder. Write a test for the folder, then add it to this list.
#[test]
fn every_example_is_run() {
    let mut found: Vec<_> = std::fs::read_dir(examples())
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    // `operations::monitoring` tests the files of `monitoring`.
    assert_eq!(found, ["monitoring", "node-tasks", "notes", "python-notes"]);
}
