//! What the code of a space, and a script on the server, may not change although its owner may:
//! everything that other spaces execute, or that acts for other users.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser};

/// A tool that sends requests and returns the status and the code of each answer.
const SENDER: &str = "
from svc import api

def main(params):
    answers = []
    for method, path, body in params['requests']:
        try:
            api.request(method, path, body)
            answers.append('accepted')
        except RuntimeError as error:
            answers.append(str(error))
    return answers
";

/// One record of each kind that other spaces execute or that acts for other users, and one of each
/// kind that does not.
struct Records {
    wide: Vec<String>,
    own: Vec<String>,
}

impl Records {
    /// The user must be an administrator.
    async fn of(user: &TestUser) -> Self {
        let mut wide = Vec::new();
        for kind in ["startup", "library"] {
            wide.push(user.script(kind, "own", "x = 1\n").await.path());
        }
        for kind in ["startup", "library", "sink", "tool"] {
            wide.push(user.global_script(kind, "shared", "x = 1\n").await.path());
        }
        let template = user.post("/api/templates", json!({"name": "std"})).await;
        let id = template.expect(201).json()["id"].clone();
        wide.push(format!("/api/templates/{}", id.as_str().unwrap()));
        // A script of the user that sees the events of all users.
        let watcher = user.script("sink", "watcher", "x = 1\n").await;
        let sink = json!({"name": "all", "owner": "global", "patterns": "*", "type": "script",
            "script": {"script_id": watcher.id}});
        wide.extend([user.sink(sink).await.path(), watcher.path()]);
        wide.push(user.space("other").await.path());

        let own_sink = user.script_sink("mine", "custom.never", "x = 1\n").await;
        let own = vec![
            user.script("tool", "mine", "x = 1\n").await.path(),
            own_sink.path(),
        ];
        Self { wide, own }
    }
}

/// Every request that changes what other spaces execute or what acts for other users.
fn changes(records: &Records) -> Vec<(&'static str, String, Value)> {
    let mut changes = vec![
        ("POST", "/api/templates", json!({"name": "new"})),
        (
            "POST",
            "/api/event-sinks",
            json!({"name": "g", "owner": "global", "patterns": "*",
            "type": "webhook", "webhook": {"url": "https://example.com/"}}),
        ),
        ("POST", "/api/spaces", json!({"name": "new"})),
    ];
    for kind in ["startup", "library"] {
        let script = json!({"name": "new", "kind": kind, "source": "x = 2\n"});
        changes.push(("POST", "/api/scripts", script));
    }
    let script = json!({"name": "new", "kind": "tool", "owner": "global", "source": "x = 2\n"});
    changes.push(("POST", "/api/scripts", script));
    let mut changes: Vec<_> = changes
        .into_iter()
        .map(|(method, path, body)| (method, path.to_owned(), body))
        .collect();
    for path in &records.wide {
        let change = match path {
            _ if path.starts_with("/api/scripts/") => json!({"description": "changed"}),
            _ if path.starts_with("/api/event-sinks/") => json!({"patterns": "custom.never"}),
            _ => json!({"health_check": {"type": "command", "command": "id"}}),
        };
        changes.push(("PATCH", path.clone(), change));
        changes.push(("DELETE", path.clone(), json!({})));
        if path.starts_with("/api/event-sinks/") {
            for action in ["test", "rotate-secret", "replay", "resend", "backtest"] {
                let body = match action {
                    "resend" => json!({"deliveries": [1]}),
                    _ => json!({}),
                };
                changes.push(("POST", format!("{path}/{action}"), body));
            }
        }
    }
    changes
}

async fn read_all(user: &TestUser, paths: &[String]) -> Vec<Value> {
    let mut found = Vec::new();
    for path in paths {
        found.push(user.get(path).await.expect(200).json());
    }
    found
}

#[tokio::test]
async fn s5_an_agent_token_never_changes_what_other_spaces_execute() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let (space, records) = (admin.space("lab").await, Records::of(&admin).await);
    let agent = admin.with_token(&space.agent_token);
    let before = read_all(&admin, &records.wide).await;
    for (method, path, body) in changes(&records) {
        let refused = agent.send(method, &path, Some(body.to_string())).await;
        let text = format!("{method} {path} {body}: {}", refused.text());
        assert_eq!(refused.status, 403, "{text}");
        assert_eq!(refused.code(), "agent_denied", "{text}");
    }
    assert_eq!(read_all(&admin, &records.wide).await, before);
    // Records that take effect for the owner only.
    for path in &records.own {
        let change = json!({"description": "changed"});
        agent.patch(path, change).await.expect(200);
        agent.delete(path).await.expect(204);
    }
    let tool = json!({"name": "new", "kind": "tool", "source": "x = 2\n"});
    agent.post("/api/scripts", tool).await.expect(201);
    let sink = json!({"name": "new", "patterns": "*", "type": "webhook",
        "webhook": {"url": "https://example.com/"}});
    agent.post("/api/event-sinks", sink).await.expect(201);
    let check = json!({"health_check": {"type": "none"}});
    agent.patch(&space.path(), check).await.expect(200);
    // Reading stays allowed.
    for path in &records.wide {
        agent.get(path).await.expect(200);
    }
}

#[tokio::test]
async fn s5_a_script_on_the_server_never_changes_what_other_spaces_execute() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let records = Records::of(&admin).await;
    let sender = admin.script("tool", "sender", SENDER).await;
    let before = read_all(&admin, &records.wide).await;
    let requests = changes(&records);
    let ran = admin
        .run_tool(&sender, json!({ "requests": requests }))
        .await;
    let answers = ran["result"].as_array().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(answers.len(), requests.len());
    for (answer, request) in answers.iter().zip(&requests) {
        let answer = answer.as_str().unwrap();
        assert!(
            answer.contains("403 script_denied"),
            "{request:?}: {answer}"
        );
    }
    assert_eq!(read_all(&admin, &records.wide).await, before);
    let change = json!({"description": "changed"});
    let own: Vec<_> = records
        .own
        .iter()
        .map(|path| ("PATCH", path, &change))
        .collect();
    let ran = admin.run_tool(&sender, json!({ "requests": own })).await;
    assert_eq!(ran["result"], json!(["accepted", "accepted"]), "{ran}");
}
