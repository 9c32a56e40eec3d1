//! `svc mcp`.

use serde_json::{Value, json};
use svc_testkit::{fixture, method};

use crate::mcp::{names, with_echo};

#[tokio::test]
async fn the_cli_lists_and_calls_tools() {
    let (server, ann, (agent, _space)) = with_echo().await;
    let cli = || server.cli(&ann);
    let listed = cli()
        .run(&["mcp", "tools", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(names(&listed), ["notes_echo"]);
    let table = cli().run(&["mcp", "tools"]).await.expect(0);
    assert!(table.stdout.contains("notes_echo"), "{}", table.stdout);
    let called = cli()
        .run(&["mcp", "call", "notes_echo", r#"{"a":1}"#])
        .await
        .expect(0);
    assert_eq!(called.stdout.trim(), r#"{"a":1}"#);
    let called = cli()
        .run(&["mcp", "call", "notes_echo", "{}", "-o", "json"])
        .await
        .expect(0);
    assert_eq!(called.json()["structuredContent"], json!({}));
    cli().run(&["mcp", "call", "nothing", "{}"]).await.expect(5);
    cli()
        .run(&["mcp", "call", "notes_echo", "[1]"])
        .await
        .expect(2);
    let schema =
        r#"{type = "object", properties = {region = {type = "string", x-mcp-header = "Region"}}}"#;
    let registration = fixture()
        .with(
            method("run", "echo")
                .mcp_tool()
                .line("params_schema", schema),
        )
        .with(method("fail", "fail").mcp_tool());
    agent.register(registration).await.expect(0);
    let called = cli()
        .run(&["mcp", "call", "run", r#"{"region":" é"}"#])
        .await
        .expect(0);
    assert_eq!(called.stdout.trim(), r#"{"region":" é"}"#);
    let error = r#"{"code":1,"message":"disk full"}"#;
    let failed = cli().run(&["mcp", "call", "fail", error]).await.expect(3);
    assert_eq!(failed.stdout.trim(), "disk full");
}

#[tokio::test]
async fn the_cli_prints_a_configuration_that_works() {
    let (server, ann, _agent) = with_echo().await;
    let cli = || server.cli(&ann);
    let config = async |args: &[&str]| {
        let mut all = vec!["mcp", "config", "--client"];
        all.extend(args);
        cli().run(&all).await.expect(0)
    };
    let url = format!("{}/mcp", server.url());
    let json = config(&["json", "--create-token"]).await.json();
    let entry = &json["mcpServers"]["svc"];
    assert_eq!(entry["url"], Value::from(url.clone()));
    let header = entry["headers"]["Authorization"].as_str().unwrap();
    let token = header.strip_prefix("Bearer ").unwrap();
    let with_token = || server.cli(&ann.with_token(token));
    with_token().run(&["mcp", "tools"]).await.expect(0);
    // The token reaches no other route.
    with_token().run(&["space", "list"]).await.expect(4);

    let command = config(&["claude-code", "--name", "lab", "--token-env", "TOKEN"])
        .await
        .stdout;
    let expected = format!(
        "claude mcp add --transport http lab '{url}' --header \"Authorization: Bearer $TOKEN\""
    );
    assert_eq!(command.trim(), expected);
    let codex = config(&["codex", "--search"]).await.stdout;
    assert!(codex.contains("[mcp_servers.svc]"), "{codex}");
    assert!(
        codex.contains(&format!("url = \"{url}?tools=search\"")),
        "{codex}"
    );
    // Claude Desktop starts a program that speaks over stdio.
    let desktop = config(&["claude-desktop"]).await.json();
    let entry = &desktop["mcpServers"]["svc"];
    assert_eq!(entry["args"], serde_json::json!(["mcp", "stdio"]));
    assert_eq!(entry["env"]["SVC_URL"], server.url());
    for client in ["cursor", "vscode"] {
        let printed = config(&[client]).await.stdout;
        assert!(printed.contains(&url), "{printed}");
        // The client logs in with a browser, so its configuration has no token.
        assert!(!printed.contains("Authorization"), "{printed}");
        serde_json::from_str::<Value>(&printed).expect("JSON");
    }
    cli()
        .run(&["mcp", "config", "--client", "json", "--name", "a b"])
        .await
        .expect(2);
    cli()
        .run(&["mcp", "config", "--client", "emacs"])
        .await
        .expect(2);
}
