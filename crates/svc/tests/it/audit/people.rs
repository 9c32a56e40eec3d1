//! Users, groups, roles, tokens and sessions.

use expect_test::expect_file;
use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser};

use super::AuditLog;

const PASSWORD: &str = "a long password";

fn path_of(list: &str, record: &Value) -> String {
    format!("/api/{list}/{}", record["id"].as_str().unwrap())
}

async fn create(user: &TestUser, list: &str, body: Value) -> Value {
    let created = user.post(&format!("/api/{list}"), body).await;
    created.expect(201).json()
}

#[tokio::test]
async fn users_groups_and_roles() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let log = AuditLog::begin(&admin).await;
    let group = path_of(
        "groups",
        &create(&admin, "groups", json!({"name": "ops"})).await,
    );
    let role = json!({"name": "auditor", "permissions": ["view_audit"]});
    let role = path_of("roles", &create(&admin, "roles", role).await);
    let user = json!({"username": "ann", "password": PASSWORD, "groups": ["ops"]});
    let user = path_of("users", &create(&admin, "users", user).await);
    for (path, patch) in [
        (&group, json!({"name": "operators"})),
        (&role, json!({"require_second_factor": true})),
        (&role, json!({"require_second_factor": false})),
        (&user, json!({"roles": ["user", "auditor"], "groups": []})),
        (&user, json!({"quotas": {"sinks": 5}})),
        (&user, json!({"active": false})),
        (&user, json!({"active": true})),
        (&user, json!({"password": "another long password"})),
    ] {
        admin.patch(path, patch).await.expect(200);
    }
    for path in [&user, &role, &group] {
        admin.delete(path).await.expect(204);
    }
    log.check(expect_file!["people.txt"]).await;
}

#[tokio::test]
async fn tokens_and_sessions() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let log = AuditLog::begin(&admin).await;
    server
        .try_login("ann", "not the password")
        .await
        .expect(401);
    server
        .try_login("nobody", "not the password")
        .await
        .expect(401);
    let token = json!({"name": "parent", "scopes": ["methods"], "expires_in_days": 1});
    let token = create(&ann, "tokens", token).await;
    admin.delete(&path_of("tokens", &token)).await.expect(204);
    // The tokens that were made with a token are revoked with it.
    let parent = create(&ann, "tokens", json!({"name": "parent"})).await;
    let with_parent = ann.with_token(parent["token"].as_str().unwrap());
    create(&with_parent, "tokens", json!({"name": "child"})).await;
    ann.delete(&path_of("tokens", &parent)).await.expect(204);

    for _ in 0..3 {
        ann.login().await;
    }
    let sessions = ann.list("/api/auth/sessions", "sessions").await;
    let (first, last) = (&sessions[0], &sessions[sessions.len() - 1]);
    ann.delete(&path_of("auth/sessions", first))
        .await
        .expect(204);
    admin
        .delete(&path_of("auth/sessions", last))
        .await
        .expect(204);
    ann.delete("/api/auth/sessions").await.expect(204);
    let change = json!({"current_password": ann.password, "new_password": PASSWORD});
    ann.post("/api/auth/password", change).await.expect(204);
    log.check(expect_file!["tokens.txt"]).await;
}
