//! Scripts, sources, schedules and OpenID Connect providers.

use expect_test::expect_file;
use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser};

use super::AuditLog;

/// Creates a record, changes it, sends the other requests about it, and deletes it.
async fn live(user: &TestUser, list: &str, new: Value, patch: Value, requests: &[(&str, Value)]) {
    let created = user.post(&format!("/api/{list}"), new).await.expect(201);
    let path = format!("/api/{list}/{}", created.json()["id"].as_str().unwrap());
    user.patch(&path, patch).await.expect(200);
    for (request, body) in requests {
        user.post(&format!("{path}/{request}"), body)
            .await
            .expect(200);
    }
    user.delete(&path).await.expect(204);
}

#[tokio::test]
async fn scripts_sources_schedules_and_providers() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let log = AuditLog::begin(&admin).await;
    let script = json!({"name": "greet", "kind": "tool", "source": "def main(p):\n    pass\n"});
    live(
        &ann,
        "scripts",
        script,
        json!({"description": "Greets"}),
        &[],
    )
    .await;
    let source = json!({"name": "github", "verify": {"type": "github"}});
    let rotations = [
        (
            "rotate",
            json!({"secret": "a secret of ann", "overlap_hours": 1}),
        ),
        ("rotate", json!({"url": true})),
    ];
    live(
        &ann,
        "sources",
        source,
        json!({"active": false}),
        &rotations,
    )
    .await;
    let schedule = json!({"name": "nightly", "cron": "0 2 * * *", "payload": {"job": "backup"}});
    let changed = json!({"cron": "30 2 * * *", "payload": {"job": "check"}});
    live(&ann, "schedules", schedule, changed, &[]).await;
    let provider = json!({
        "name": "corp", "issuer": "https://id.example.com", "client_id": "svc",
        "client_secret": "a secret of corp",
    });
    let changed = json!({"enabled": false, "client_secret": null});
    live(&admin, "oidc/providers", provider, changed, &[]).await;
    log.check(expect_file!["records.txt"]).await;
}
