//! The audit entries about apps and their connections.

use expect_test::expect_file;
use serde_json::json;
use svc_testkit::TestServer;

use super::{Flow, edit, text};
use crate::audit::AuditLog;

#[tokio::test]
async fn apps() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let log = AuditLog::begin(&admin).await;
    let app = json!({"name": "Dashboard", "redirect_uris": ["https://example.com/callback"]});
    let app = admin
        .post("/api/oauth/clients", app)
        .await
        .expect(201)
        .json();
    let path = format!("/api/oauth/clients/{}", text(&app, "id"));
    for blocked in [true, false] {
        let patch = json!({ "blocked": blocked });
        admin.patch(&path, patch).await.expect(200);
    }
    admin.delete(&path).await.expect(204);
    log.check(expect_file!["../audit/apps.txt"]).await;
}

#[tokio::test]
async fn connections() {
    let mut server = TestServer::start().await;
    let admin = server.admin().await;
    let user = server.user("ann").await;
    let log = AuditLog::begin(&admin).await;
    let flow = Flow::of(&server, user).await;
    let request = flow.ask(&[]).await;
    flow.decide(&request, false).await.expect(200);

    let code = flow.code(&[]).await;
    flow.exchange(&code, &[]).await.expect(200);
    flow.exchange(&code, &[]).await.expect(400);

    let tokens = flow.connect(&[]).await;
    flow.revoke(text(&tokens, "refresh_token"), &[])
        .await
        .expect(200);

    flow.connect(&[]).await;
    let grants = flow.user.list("/api/oauth/grants", "grants").await;
    let path = format!("/api/oauth/grants/{}", text(&grants[0], "id"));
    flow.user.delete(&path).await.expect(204);

    let tokens = flow.connect(&[]).await;
    let first = text(&tokens, "refresh_token");
    flow.refresh(first, &[]).await.expect(200);
    let past = "UPDATE oauth_tokens SET replaced_at = replaced_at - 61000 WHERE replaced_at > 0";
    edit(&mut server, past).await;
    flow.refresh(first, &[]).await.expect(400);
    log.check(expect_file!["../audit/connections.txt"]).await;
}
