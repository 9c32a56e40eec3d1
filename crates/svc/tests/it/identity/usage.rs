//! What administration pages show: the use of quotas, the methods of a group, and when a user was
//! last seen.

use serde_json::{Value, json};
use svc_testkit::{TestServer, fixture, method};

fn use_of<'a>(answer: &'a Value, quota: &str) -> &'a Value {
    let quotas = answer["quotas"].as_array().unwrap();
    quotas.iter().find(|one| one["quota"] == quota).unwrap()
}

#[tokio::test]
async fn the_use_of_quotas_is_shown_to_the_user_and_to_administrators() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let root = server.user_with("root", &["admin"], &[]).await;
    let path = format!("/api/users/{}", ann.id);
    let quotas = json!({"quotas": {"spaces": 7}});
    root.patch(&path, quotas).await.expect(200);
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo").plain("fail")).await;
    ann.emit("n", json!({"text": "stored"})).await;
    let of_ann = format!("/api/stats/quotas?user={}", ann.id);
    for seen in [
        ann.get("/api/stats/quotas").await.expect(200).json(),
        root.get(&of_ann).await.expect(200).json(),
    ] {
        assert_eq!(seen["user_id"], ann.id);
        assert_eq!(
            *use_of(&seen, "spaces"),
            json!({"quota": "spaces", "used": 1, "limit": 7, "is_own_value": true})
        );
        assert_eq!(use_of(&seen, "methods")["used"], 2);
        assert_eq!(use_of(&seen, "tokens")["used"], 1);
        assert_eq!(use_of(&seen, "sinks")["used"], 0);
        assert_eq!(use_of(&seen, "sinks")["is_own_value"], false);
        assert!(use_of(&seen, "event_bytes")["used"].as_u64().unwrap() > 0);
    }
    bob.get(&of_ann).await.expect(403);
    let nobody = "/api/stats/quotas?user=00000000-0000-7000-8000-000000000000";
    root.get(nobody).await.expect(404);
}

#[tokio::test]
async fn the_methods_of_a_group_are_known_before_it_is_deleted() {
    let server = TestServer::start().await;
    server.groups(&["packers", "drivers"]).await;
    let root = server.user_with("root", &["admin"], &[]).await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let limited = |name: &str, groups: &str| method(name, "echo").shared().line("groups", groups);
    let methods = fixture()
        .with(limited("pack", r#"["packers"]"#))
        .with(limited("load", r#"["packers", "drivers"]"#))
        .with(limited("drive", r#"["drivers"]"#))
        .with(method("open", "echo").shared())
        .with(method("own", "echo"));
    let _agent = space.publish(methods).await;
    let groups = root.list("/api/groups", "groups").await;
    let packers = groups.iter().find(|one| one["name"] == "packers").unwrap();
    let path = format!("/api/groups/{}/methods", packers["id"].as_str().unwrap());
    let seen = root.get(&path).await.expect(200).json();
    assert_eq!((&seen["total"], &seen["only"]), (&json!(2), &json!(1)));
    assert_eq!(
        seen["methods"],
        json!([
            {"name": "user.ann.load", "owner": "ann", "only": false},
            {"name": "user.ann.pack", "owner": "ann", "only": true},
        ])
    );
    assert_eq!(seen["script_sinks"], 0);
    // A manager of groups who is not a member and does not manage users sees only the counts.
    let role = json!({"name": "grouper", "permissions": ["manage_groups"]});
    root.post("/api/roles", role).await.expect(201);
    let cleo = server.user_with("cleo", &["grouper"], &[]).await;
    let seen = cleo.get(&path).await.expect(200).json();
    assert_eq!((&seen["total"], &seen["methods"]), (&json!(2), &json!([])));
    let unknown = "/api/groups/00000000-0000-7000-8000-000000000000/methods";
    root.get(unknown).await.expect(404);
}

#[tokio::test]
async fn a_user_is_seen_at_a_login_and_stays_seen_after_the_logout() {
    let server = TestServer::start().await;
    let root = server.user_with("root", &["admin"], &[]).await;
    let new = json!({"username": "dora", "password": "a password of dora"});
    let dora = root
        .post("/api/users", new.clone())
        .await
        .expect(201)
        .json();
    let path = format!("/api/users/{}", dora["id"].as_str().unwrap());
    assert_eq!(
        root.get(&path).await.expect(200).json()["last_seen_at"],
        Value::Null
    );
    let dora = server.known_user("dora", "a password of dora").await;
    dora.delete("/api/auth/sessions").await;
    let seen = root.get(&path).await.expect(200).json();
    assert!(seen["last_seen_at"].is_string(), "{seen}");
    let users = root.list("/api/users", "users").await;
    let listed = users.iter().find(|one| one["username"] == "dora").unwrap();
    assert_eq!(listed["last_seen_at"], seen["last_seen_at"]);
}
