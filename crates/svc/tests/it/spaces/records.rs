//! Records of spaces: fields, names, access, agent tokens, deletion, templates (spec 3).

use serde_json::json;
use svc_testkit::{TestServer, fixture};

use crate::SOON;

#[tokio::test]
async fn s3_a_record_has_every_field_and_shows_its_secret_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let created = ann
        .post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(201)
        .json();
    let keys = [
        "id",
        "name",
        "owner_id",
        "owner",
        "state",
        "health",
        "runtime",
        "template_id",
        "startup_script_id",
        "space_urls",
        "node_id",
        "health_check",
        "registration",
        "created_at",
    ];
    for key in keys {
        assert!(created.get(key).is_some(), "{key} in {created}");
    }
    assert_eq!(created["state"], "created");
    assert_eq!(created["health"], "unknown");
    assert_eq!(created["runtime"], "external");
    assert_eq!(created["owner"], "ann");
    assert_eq!(created["owner_id"], ann.id);
    assert_eq!(created["space_urls"], json!({}));
    assert_eq!(created["registration"], json!({"state": "none"}));
    assert!(
        created["agent_token"]
            .as_str()
            .unwrap()
            .starts_with("svc_agt_")
    );
    let path = format!("/api/spaces/{}", created["id"].as_str().unwrap());
    for document in [ann.get(&path).await, ann.get("/api/spaces").await] {
        assert!(!document.expect(200).text().contains("svc_agt_"));
    }
}

#[tokio::test]
async fn s3_names_are_checked_and_unique_per_owner() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    for name in [
        "",
        "Lab",
        "a--b",
        "-a",
        "a_b",
        "a.b",
        "user",
        "rpc",
        &"x".repeat(33),
    ] {
        let answer = ann
            .post("/api/spaces", json!({ "name": name }))
            .await
            .expect(400);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
    }
    ann.post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(201);
    ann.post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(409);
    ben.post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(201);
    ann.post("/api/spaces", json!({"name": "x", "colour": "red"}))
        .await
        .expect(400);
    // Local spaces run code on the server: their owner needs a permission, and a setting of the
    // server must allow them.
    ann.post("/api/spaces", json!({"name": "x", "runtime": "local"}))
        .await
        .expect(403);
}

#[tokio::test]
async fn s3_other_users_do_not_see_a_space_and_managers_see_all() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    let space = ann.space("lab").await;
    let path = space.path();
    ben.get(&path).await.expect(404);
    ben.patch(&path, json!({"health_check": null}))
        .await
        .expect(404);
    ben.delete(&path).await.expect(404);
    for action in ["start", "stop", "agent-token"] {
        ben.post(&format!("{path}/{action}"), "{}")
            .await
            .expect(404);
    }
    assert_eq!(
        ben.get("/api/spaces").await.expect(200).json()["spaces"],
        json!([])
    );
    admin.get(&path).await.expect(200);
    let all = admin.get("/api/spaces").await.expect(200).json();
    assert_eq!(all["spaces"][0]["name"], "lab");
}

#[tokio::test]
async fn a_new_agent_token_ends_the_old_one() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut space = ann.space("lab").await;
    let mut agent = space.agent().await;
    let answer = ann
        .post(&format!("{}/agent-token", space.path()), "{}")
        .await;
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
    let fresh = answer.json()["agent_token"].as_str().unwrap().to_owned();
    assert_ne!(fresh, space.agent_token);
    assert_eq!(agent.process().wait_for_exit(SOON).await.code(), Some(4));
    let mut refused = space.spawn_agent(&[]);
    assert_eq!(refused.process().wait_for_exit(SOON).await.code(), Some(4));
    space.agent_token = fresh;
    let _agent = space.agent().await;
}

#[tokio::test]
async fn s3_deleting_a_space_ends_its_agent_and_frees_its_name() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    let deleted = ann.delete(&space.path()).await;
    assert!([200, 204].contains(&deleted.status), "{}", deleted.text());
    ann.get(&space.path()).await.expect(404);
    assert!(ann.method_names().await.is_empty());
    assert_eq!(agent.process().wait_for_exit(SOON).await.code(), Some(4));
    assert_eq!(ann.get("/api/spaces").await.json()["spaces"], json!([]));
    ann.space("lab").await;
}

#[tokio::test]
async fn s3_s6_1_a_template_gives_a_space_its_ports_addresses_and_health_check() {
    let config = "wildcard_domain = \"apps.example.com\"";
    let server = TestServer::builder().config(config).start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let body = json!({
        "name": "web",
        "ports": [{"name": "web", "port": 3000}, {"name": "docs", "port": 8080}],
        "health_check": {"type": "tcp", "port": 3000},
    });
    ann.post("/api/templates", &body).await.expect(403);
    let template = admin.post("/api/templates", &body).await.expect(201).json();
    admin.post("/api/templates", &body).await.expect(409);
    let space = ann
        .space_with(json!({"name": "lab", "template_id": template["id"]}))
        .await;
    let record = space.record().await;
    let urls = json!({
        "web": "https://ann--lab--3000.apps.example.com",
        "docs": "https://ann--lab--8080.apps.example.com",
    });
    assert_eq!(record["space_urls"], urls);
    assert_eq!(record["template_id"], template["id"]);
    assert_eq!(record["health_check"]["port"], 3000);
    // A template that a space uses cannot be deleted. Only users who may see the space read its name.
    let path = format!("/api/templates/{}", template["id"].as_str().unwrap());
    let refused = admin.delete(&path).await.expect(409);
    assert_eq!(refused.code(), "in_use");
    assert!(refused.text().contains("`ann/lab`"), "{}", refused.text());
    let rm = server.cli(&admin).run(&["template", "rm", "web"]);
    assert!(rm.await.expect(6).stderr.contains("`ann/lab`"));
    let record = space.record().await;
    assert_eq!(record["space_urls"], urls);
    assert_eq!(record["template_id"], template["id"]);
    ann.delete(&space.path()).await.expect(204);
    admin.delete(&path).await.expect(204);
    let unknown = json!({"name": "x", "template_id": template["id"]});
    let refused = ann.post("/api/spaces", unknown).await.status;
    assert!([400, 404].contains(&refused), "{refused}");
}

#[tokio::test]
async fn svc_template_update_sets_and_removes_custom_fields() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let run = async |args: &[&str]| {
        let args = [&["template"], args, &["-o", "json"]].concat();
        server.cli(&admin).run(&args).await.expect(0).json()
    };
    run(&["create", "web", "--field", "team=ops", "--field", "tier=1"]).await;
    let update = [
        "update",
        "web",
        "--field",
        "tier=2",
        "--remove-field",
        "team",
    ];
    let updated = run(&update).await;
    assert_eq!(updated["custom_fields"], json!({"tier": "2"}));
}
