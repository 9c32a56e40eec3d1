//! The messages of `svc methods` to a publisher.

use serde_json::json;
use svc_testkit::{Cli, TempDir, TestServer, fixture, method};

use crate::SOON;

#[tokio::test]
async fn every_mistake_of_a_file_is_reported() {
    let folder = TempDir::new().unwrap();
    let bad = r#"
        [server]
        command = "x"
        [[methods]]
        name = "a"
        local_name = "a"
        description = "d"
        colour = "red"
        [methods.params_schema]
        requred = ["id"]
        properties.id.type = "int"
    "#;
    std::fs::write(folder.path().join("bad.toml"), bad).unwrap();
    let said = Cli::new(folder.path())
        .run(&["methods", "validate", "bad.toml"])
        .await
        .expect(6);
    for expected in [
        "bad.toml:8:9: method `a`: unknown field `colour`",
        "bad.toml:11:30: method `a`: `int` is not a type",
        "warning: `a`: `params_schema.requred` is not a keyword of JSON Schema",
        "did you mean `required`?",
        "error: `bad.toml` has 2 errors",
    ] {
        assert!(
            said.stderr.contains(expected),
            "{expected}: {}",
            said.stderr
        );
    }
    let good = bad
        .replace("colour = \"red\"", "")
        .replace("\"int\"", "\"integer\"");
    std::fs::write(folder.path().join("good.toml"), good).unwrap();
    let said = Cli::new(folder.path())
        .run(&["methods", "validate", "good.toml"])
        .await
        .expect(0);
    assert!(
        said.stderr.contains("did you mean `required`?"),
        "{}",
        said.stderr
    );
}

#[tokio::test]
async fn the_log_has_the_lines_of_a_call_that_is_answered() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("stderr")).await;
    for n in 1..=5 {
        let text = format!("line {n} of a call");
        ann.call("stderr", json!({"text": text})).await;
        let said = agent.cli().run(&["methods", "logs"]).await.expect(0);
        assert!(said.stdout.contains(&text), "{text}: {}", said.stdout);
    }
}

#[tokio::test]
async fn an_agent_that_requires_methods_exits_with_6_if_they_are_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    space.write("methods.toml", "[server]\ncommand = \"x\"\ntimeout = 0\n");
    let args = ["--methods-file", "methods.toml", "--require-methods"];
    let mut agent = space.spawn_agent(&args);
    let status = agent.process().wait_for_exit(SOON).await;
    let said = agent.log();
    assert_eq!(status.code(), Some(6), "{said}");
    for expected in [
        "methods.toml` was not registered",
        "timeout 0 is not between 1 and 3600 seconds",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }

    let registration = fixture().plain("echo");
    space.write("methods.toml", &registration.to_string());
    let agent = space.agent_with(&args).await;
    agent.method_server_pid().await;
    drop(agent);

    let missing = Cli::new(space.folder())
        .env("SVC_URL", "http://127.0.0.1:9")
        .env("SVC_AGENT_TOKEN", &space.agent_token)
        .run(&["agent", "start", "--require-methods"])
        .await
        .expect(2);
    assert!(
        missing.stderr.contains("SVC_METHODS_FILE"),
        "{}",
        missing.stderr
    );
}

#[tokio::test]
async fn a_registration_says_what_changed_and_how_to_call_a_method() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (go, lab) = (ann.space("go").await, ann.space("lab").await);
    let params =
        r#"{type = "object", required = ["text"], properties = {text = {type = "string"}}}"#;
    let add = method("notes.add", "echo").line("params_schema", params);
    let first = fixture().with(add.clone()).plain("echo").plain("pid");
    let agent = lab.agent().await;
    let said = agent.register(&first).await.expect(0);
    assert_eq!(said.stdout, "  METHOD\n+ notes.add\n+ echo\n+ pid\n");
    let call = r#"svc method call notes.add '{"text":"…"}'"#;
    assert_eq!(said.stderr, format!("try: {call}\n"));
    let params = call.split('\'').nth(1).unwrap();
    let args = ["method", "call", "notes.add", params, "--result"];
    let answer = agent.cli().run(&args).await.expect(0);
    assert_eq!(answer.stdout.trim(), params);

    let again = agent.register(&first).await.expect(0);
    assert_eq!(again.stdout, "METHOD\nnotes.add\necho\npid\n");
    assert_eq!(again.stderr, "");

    let second = fixture()
        .with(add.description("Adds a note"))
        .plain("echo")
        .plain("sleep");
    let said = agent.register(&second).await.expect(0);
    let stdout = "  METHOD\n~ notes.add\n  echo\n+ sleep\n- pid\n";
    assert_eq!(said.stdout, stdout, "{}", said.stderr);
    let call = "try: svc method call sleep '{}'\n";
    assert!(said.stderr.ends_with(call), "{}", said.stderr);

    // Another space of the owner with the same method.
    let other = go.agent().await;
    let said = other.register(fixture().plain("echo")).await.expect(0);
    let note = "note: `echo` now has 2 providers: go, lab; each call goes to one of them\n";
    assert!(said.stderr.contains(note), "{}", said.stderr);
}
