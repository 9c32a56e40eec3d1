//! Spaces, their agent tokens, and templates.

use expect_test::expect_file;
use serde_json::json;
use svc_testkit::TestServer;

use super::AuditLog;

#[tokio::test]
async fn spaces_and_templates() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let log = AuditLog::begin(&admin).await;
    let template = json!({"name": "web", "ports": [{"name": "http", "port": 8080}]});
    let template = admin
        .post("/api/templates", template)
        .await
        .expect(201)
        .json();
    let path = format!("/api/templates/{}", template["id"].as_str().unwrap());
    admin
        .patch(&path, json!({"name": "page"}))
        .await
        .expect(200);
    let space = json!({"name": "lab", "template_id": template["id"]});
    let space = ann.space_with(space).await.path();
    let check = json!({"health_check": {"type": "tcp", "port": 8080}});
    ann.patch(&space, check).await.expect(200);
    for action in ["stop", "start", "agent-token"] {
        let path = format!("{space}/{action}");
        ann.post(&path, json!({})).await.expect(200);
    }
    ann.delete(&space).await.expect(204);
    admin.delete(&path).await.expect(204);
    log.check(expect_file!["spaces.txt"]).await;
}

#[tokio::test]
async fn settings_that_end_with_the_permission_of_their_maker() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    server.role("manager", &["manage_spaces"]).await;
    let ann = server.user("ann").await;
    let kim = server.user_with("kim", &["user", "manager"], &[]).await;
    let space = ann.space("lab").await.path();
    let log = AuditLog::begin(&admin).await;
    let check = json!({"health_check": {"type": "command", "command": "true"}});
    kim.patch(&space, check).await.expect(200);
    let rotate = format!("{space}/agent-token");
    kim.post(&rotate, json!({})).await.expect(200);
    let path = format!("/api/users/{}", kim.id);
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    log.check(expect_file!["ended_settings.txt"]).await;
}
