use super::*;

fn write(client: ClientKind, secret: Secret) -> String {
    client.write(&Entry {
        name: "svc",
        url: "http://127.0.0.1:12200/mcp",
        secret: &secret,
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
    let desktop = read(&write(
        ClientKind::ClaudeDesktop,
        Secret::Written("x".into()),
    ));
    let desktop = &desktop["mcpServers"]["svc"];
    assert_eq!(desktop["env"]["AUTH_HEADER"], "Bearer x");
    assert_eq!(desktop["args"][2], "http://127.0.0.1:12200/mcp");
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
fn plain_http_to_elsewhere_must_be_allowed_by_name() {
    for private in [
        "https://x.example/mcp",
        "http://localhost:1/mcp",
        "http://127.0.0.1/mcp",
    ] {
        assert!(is_private(private), "{private}");
    }
    for open in ["http://10.0.0.1/mcp", "http://localhost.example/mcp"] {
        assert!(!is_private(open), "{open}");
    }
}
