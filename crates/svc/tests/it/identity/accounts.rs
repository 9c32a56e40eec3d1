//! Users, groups, roles, sessions, the audit log (spec 5).

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{ADMIN_PASSWORD, TestServer, error_code, eventually, fixture, method, result};

use crate::SOON;

fn user_path(id: &str) -> String {
    format!("/api/users/{id}")
}

#[tokio::test]
async fn s5_deactivating_a_user_ends_all_their_access() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    let cookie = ann.login().await;
    result(&ben.call("user.ann.echo", json!({})).await);

    let begun = Instant::now();
    admin
        .patch(&user_path(&ann.id), json!({"active": false}))
        .await
        .expect(200);
    ann.get("/api/auth/me").await.expect(401);
    let headers = [("cookie", cookie.as_str())];
    server
        .http()
        .request("GET", "/api/auth/me", &headers, "")
        .await
        .expect(401);
    server.try_login("ann", &ann.password).await.expect(401);
    assert!(ben.method_names().await.is_empty(), "their methods vanish");
    assert_eq!(
        error_code(&ben.call("user.ann.echo", json!({})).await),
        -32601
    );
    eventually("the link ends", SOON, || async {
        agent
            .find_status()
            .await
            .is_none_or(|s| s["linked"] == false)
    })
    .await;
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );

    admin
        .patch(&user_path(&ann.id), json!({"active": true}))
        .await
        .expect(200);
    ann.get("/api/auth/me").await.expect(200);
    // Sessions that ended with the deactivation stay ended.
    server
        .http()
        .request("GET", "/api/auth/me", &headers, "")
        .await
        .expect(401);
    drop(agent);
    let _agent = space
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    result(&ben.call("user.ann.echo", json!({})).await);
}

#[tokio::test]
async fn s5_users_are_created_listed_and_deleted() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    server.groups(&["ops"]).await;
    let body = json!({"username": "ann", "password": "long enough", "groups": ["ops"]});
    let created = admin.post("/api/users", body).await.expect(201).json();
    assert_eq!(created["roles"], json!(["user"]), "the default role");
    assert_eq!(created["groups"], json!(["ops"]));
    assert_eq!(created["active"], true);
    assert!(!created.to_string().contains("long enough"));
    for (body, status) in [
        (json!({"username": "ann", "password": "long enough"}), 409),
        (json!({"username": "Ann", "password": "long enough"}), 400),
        (json!({"username": "a.b", "password": "long enough"}), 400),
        (json!({"username": "a_b", "password": "long enough"}), 400),
        (
            json!({"username": "x".repeat(21), "password": "long enough"}),
            400,
        ),
        (json!({"username": "bob", "password": "short"}), 400),
        (
            json!({"username": "bob", "password": "long enough", "roles": ["king"]}),
            400,
        ),
        (
            json!({"username": "bob", "password": "long enough", "groups": ["ghosts"]}),
            400,
        ),
        (
            json!({"username": "bob", "password": "long enough", "colour": "red"}),
            400,
        ),
        (json!({"username": "bob"}), 400),
    ] {
        admin.post("/api/users", &body).await.expect(status);
    }
    let id = created["id"].as_str().unwrap();
    assert_eq!(admin.get(&user_path(id)).await.expect(200).json(), created);
    let deleted = admin.delete(&user_path(id)).await;
    assert!([200, 204].contains(&deleted.status), "{}", deleted.text());
    admin.get(&user_path(id)).await.expect(404);
}

#[tokio::test]
async fn s5_a_user_who_owns_spaces_is_not_deleted() {
    let server = TestServer::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let space = ann.space("lab").await;
    admin.delete(&user_path(&ann.id)).await.expect(409);
    ann.delete(&space.path()).await;
    let deleted = admin.delete(&user_path(&ann.id)).await;
    assert!([200, 204].contains(&deleted.status), "{}", deleted.text());
    ann.get("/api/auth/me").await.expect(401);
}

#[tokio::test]
async fn s5_an_administrator_cannot_lock_themselves_out() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let path = user_path(&admin.id);
    assert_eq!(
        admin.patch(&path, json!({"active": false})).await.status,
        409
    );
    assert_eq!(admin.delete(&path).await.status, 409);
    assert_eq!(admin.patch(&path, json!({"roles": []})).await.status, 409);
    admin.get("/api/users").await.expect(200);
}

#[tokio::test]
async fn s5_groups_are_renamed_and_roles_changed() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let group = server.groups(&["ops"]).await.remove(0);
    let path = format!("/api/groups/{}", group["id"].as_str().unwrap());
    admin
        .post("/api/groups", json!({"name": "ops"}))
        .await
        .expect(409);
    admin
        .post("/api/groups", json!({"name": ""}))
        .await
        .expect(400);
    let renamed = admin
        .patch(&path, json!({"name": "operations"}))
        .await
        .expect(200)
        .json();
    assert_eq!(renamed["name"], "operations");
    assert_eq!(renamed["id"], group["id"]);

    let role = server.role("auditor", &["view_audit"]).await;
    assert_eq!(role["builtin"], false);
    admin
        .post("/api/roles", json!({"name": "auditor"}))
        .await
        .expect(409);
    admin
        .post("/api/roles", json!({"name": "x", "permissions": ["fly"]}))
        .await
        .expect(400);
    let roles = admin.get("/api/roles").await.expect(200).json();
    let builtin: Vec<_> = roles["roles"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["builtin"] == true)
        .collect();
    assert_eq!(builtin.len(), 2);
    for role in builtin {
        let path = format!("/api/roles/{}", role["id"].as_str().unwrap());
        admin
            .patch(&path, json!({"permissions": []}))
            .await
            .expect(409);
        admin.delete(&path).await.expect(409);
    }
    let permissions = admin.get("/api/permissions").await.expect(200).json();
    assert_eq!(permissions["permissions"].as_array().unwrap().len(), 12);

    let eve = server.user_with("eve", &["auditor"], &[]).await;
    eve.get("/api/audit").await.expect(200);
    let path = format!("/api/roles/{}", role["id"].as_str().unwrap());
    admin.delete(&path).await.expect(204);
    eve.get("/api/audit").await.expect(403);
}

#[tokio::test]
async fn s5_a_user_cannot_grant_permissions_they_do_not_hold() {
    let server = TestServer::start().await;
    server.role("clerk", &["manage_users", "use_spaces"]).await;
    server
        .role("registrar", &["manage_roles", "manage_users"])
        .await;
    server.role("spacer", &["use_spaces"]).await;
    let clerk = server.user_with("clerk", &["clerk"], &[]).await;
    let registrar = server.user_with("reg", &["registrar"], &[]).await;
    let admin = server.admin().await;
    let new = |name: &str, role: &str| json!({"username": name, "password": "long enough", "roles": [role]});

    clerk
        .post("/api/users", new("a", "spacer"))
        .await
        .expect(201);
    let denied = clerk
        .post("/api/users", new("b", "admin"))
        .await
        .expect(403);
    assert_eq!(denied.code(), "exceeds_own_power");
    clerk.post("/api/users", new("b", "user")).await.expect(403);
    clerk
        .patch(&user_path(&clerk.id), json!({"roles": ["admin"]}))
        .await
        .expect(403);
    clerk
        .post("/api/roles", json!({"name": "x", "permissions": []}))
        .await
        .expect(403);
    // The clerk cannot change a user with more permissions either.
    clerk
        .patch(
            &user_path(&admin.id),
            json!({"password": "mine from now on"}),
        )
        .await
        .expect(403);
    clerk
        .patch(&user_path(&admin.id), json!({"active": false}))
        .await
        .expect(403);
    clerk.delete(&user_path(&admin.id)).await.expect(403);
    server.try_login("admin", ADMIN_PASSWORD).await.expect(200);

    let role = json!({"name": "king", "permissions": ["manage_spaces"]});
    registrar.post("/api/roles", role).await.expect(403);
    registrar
        .post(
            "/api/roles",
            json!({"name": "heir", "permissions": ["manage_users"]}),
        )
        .await
        .expect(201);
    let roles = registrar.get("/api/roles").await.expect(200).json();
    let own = roles["roles"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == "registrar")
        .unwrap()
        .clone();
    let path = format!("/api/roles/{}", own["id"].as_str().unwrap());
    let more = json!({"permissions": ["manage_roles", "manage_users", "view_audit"]});
    registrar.patch(&path, more).await.expect(403);
}
