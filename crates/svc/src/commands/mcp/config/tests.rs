use super::*;

fn write(client: ClientKind, secret: Secret) -> String {
    client.write(&Entry {
        name: "svc".to_owned(),
        url: "http://127.0.0.1:12200/mcp".to_owned(),
        secret,
        program: "/opt/svc".to_owned(),
        server: "http://127.0.0.1:12200".to_owned(),
        ca_file: Some("/ca.pem".into()),
        search: true,
    })
}

fn variable(chosen: bool) -> Secret {
    Secret::Variable {
        name: "TOKEN".to_owned(),
        chosen,
    }
}

#[test]
fn each_client_gets_its_own_form() {
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert_eq!(
        write(ClientKind::ClaudeCode, variable(false)),
        "claude mcp add --transport http svc 'http://127.0.0.1:12200/mcp' --header \"Authorization: Bearer $TOKEN\""
    );
    assert_eq!(
        write(ClientKind::Codex, variable(true)),
        "[mcp_servers.svc]\nurl = \"http://127.0.0.1:12200/mcp\"\nbearer_token_env_var = \"TOKEN\""
    );
    let cursor = read(&write(ClientKind::Cursor, variable(false)));
    assert_eq!(
        cursor["mcpServers"]["svc"]["headers"]["Authorization"],
        "Bearer ${env:TOKEN}"
    );
    let vscode = read(&write(ClientKind::Vscode, variable(false)));
    assert_eq!(vscode["servers"]["svc"]["type"], "http");
    assert_eq!(vscode["inputs"][0]["id"], "svc-token");
    let vscode = read(&write(ClientKind::Vscode, variable(true)));
    assert_eq!(vscode.get("inputs"), None);
    let json = read(&write(ClientKind::Json, variable(false)));
    let header = &json["mcpServers"]["svc"]["headers"]["Authorization"];
    assert_eq!(header, "Bearer <token>");
}

#[test]
fn a_client_without_http_starts_the_bridge() {
    let read =
        |client, secret| serde_json::from_str::<Value>(&write(client, secret)).expect("JSON");
    for client in [ClientKind::ClaudeDesktop, ClientKind::Stdio] {
        let config = read(client, Secret::Written("x".into()));
        let expected = json!({
            "command": "/opt/svc", "args": ["mcp", "stdio", "--search"],
            "env": {"SVC_URL": "http://127.0.0.1:12200", "SVC_TOKEN": "x", "SVC_CA_FILE": "/ca.pem"},
        });
        assert_eq!(config["mcpServers"]["svc"], expected);
        let config = read(client, variable(true));
        assert_eq!(config["mcpServers"]["svc"]["env"]["SVC_TOKEN"], "<token>");
    }
}

#[test]
fn a_client_that_logs_in_needs_the_address_only() {
    assert_eq!(
        write(ClientKind::ClaudeCode, Secret::Login),
        "claude mcp add --transport http svc 'http://127.0.0.1:12200/mcp'"
    );
    assert_eq!(
        write(ClientKind::Codex, Secret::Login),
        "[mcp_servers.svc]\nurl = \"http://127.0.0.1:12200/mcp\""
    );
    for client in [ClientKind::Cursor, ClientKind::Vscode] {
        let config = write(client, Secret::Login);
        assert!(!config.contains("headers"), "{config}");
        assert!(!config.contains("inputs"), "{config}");
    }
}
