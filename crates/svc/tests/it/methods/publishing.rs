//! The messages of `svc methods` to a publisher.

use serde_json::json;
use svc_testkit::{Cli, TempDir, TestServer, fixture};

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
