//! Which sinks get an event: the sinks of its owner, and global sinks (spec 6.2, 6.3). Who sees and
//! changes a sink (spec 6.6). When system events are created, and their fields (spec 3, 6.1).

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{TestReceiver, TestServer, TestServerBuilder};

use crate::SOON;

const NIL: &str = "00000000-0000-0000-0000-000000000000";

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

fn types(receiver: &TestReceiver, path: &str) -> Vec<String> {
    let received = receiver.received(path);
    let kind = |one: &svc_testkit::Received| one.header("x-service-event-type").to_owned();
    received.iter().map(kind).collect()
}

#[tokio::test]
async fn s6_3_a_user_sink_gets_only_the_events_of_its_owner_and_a_global_sink_all() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    ann.webhook("mine", "*", &receiver.url("/ann")).await;
    bob.webhook("mine", "*", &receiver.url("/bob")).await;
    admin.webhook("mine", "*", &receiver.url("/admin")).await;
    admin
        .global_webhook("all", "*", &receiver.url("/global"))
        .await;
    let anns_space = ann.space("lab").await;
    bob.space("lab").await;
    let anns = ann.emit("from.ann", json!({})).await;
    let bobs = bob.emit("from.bob", json!({})).await;
    let agent = anns_space.agent().await;
    agent.cli().run(&["event", "from.space"]).await.expect(0);
    ann.emit("last", json!({})).await;
    bob.emit("last", json!({})).await;
    admin.emit("last", json!({})).await;
    let global = receiver.wait_for("/global", 9, SOON).await;
    assert_eq!(global.len(), 9);
    receiver.wait_for("/ann", 5, SOON).await;
    receiver.wait_for("/bob", 3, SOON).await;
    receiver.wait_for("/admin", 1, SOON).await;
    assert_eq!(
        types(&receiver, "/ann"),
        [
            "space.created",
            "custom.from.ann",
            "space.started",
            "custom.from.space",
            "custom.last"
        ]
    );
    assert_eq!(
        types(&receiver, "/bob"),
        ["space.created", "custom.from.bob", "custom.last"]
    );
    assert_eq!(types(&receiver, "/admin"), ["custom.last"]);
    for (id, path) in [(&anns, "/ann"), (&bobs, "/bob")] {
        let received = receiver.received(path);
        assert!(
            received
                .iter()
                .any(|one| one.header("x-service-event-id") == id)
        );
    }
    // A custom event that was not emitted through an agent has no space.
    let record = ann
        .get(&format!("/api/events/{anns}"))
        .await
        .expect(200)
        .json();
    assert_eq!(record["space_id"], NIL);
}

#[tokio::test]
async fn s6_6_only_owners_see_and_change_their_sinks() {
    let server = open().start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let anns = ann.webhook("mine", "*", "https://example.com/").await;
    let global = admin
        .global_webhook("all", "*", "https://example.com/")
        .await;
    for (user, sink) in [(&bob, &anns), (&ann, &global), (&admin, &anns)] {
        let path = sink.path();
        user.get(&path).await.expect(404);
        user.patch(&path, json!({"active": false}))
            .await
            .expect(404);
        user.post(&format!("{path}/test"), "{}").await.expect(404);
        user.post(&format!("{path}/replay"), "{}").await.expect(404);
        user.post(&format!("{path}/rotate-secret"), "{}")
            .await
            .expect(404);
        user.get(&format!("{path}/deliveries")).await.expect(404);
        user.post(&format!("{path}/deliveries/1/resend"), "{}")
            .await
            .expect(404);
        user.delete(&path).await.expect(404);
    }
    let body = json!({"name": "g", "patterns": "*", "type": "webhook", "owner": "global",
        "webhook": {"url": "https://example.com/"}});
    let refused = ann.post("/api/event-sinks", body).await.expect(403);
    assert_eq!(refused.code(), "permission_denied");
    let names = async |user: &svc_testkit::TestUser| -> Vec<Value> {
        let sinks = user.list("/api/event-sinks", "event_sinks").await;
        sinks.iter().map(|sink| sink["name"].clone()).collect()
    };
    assert_eq!(names(&ann).await, ["mine"]);
    assert_eq!(names(&admin).await, ["all"]);
    assert!(names(&bob).await.is_empty());
    server.role("nothing", &["use_spaces"]).await;
    let eve = server.user_with("eve", &["nothing"], &[]).await;
    eve.get("/api/event-sinks").await.expect(403);
}

#[tokio::test]
async fn s6_3_sinks_of_a_deactivated_owner_pause() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    ann.webhook("mine", "*", &receiver.url("/ann")).await;
    ann.emit("before", json!({})).await;
    receiver.wait_for("/ann", 1, SOON).await;
    let path = format!("/api/users/{}", ann.id);
    admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    ann.try_emit("refused", json!({})).await.expect(401);
    admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    ann.emit("after", json!({})).await;
    receiver.wait_for("/ann", 2, SOON).await;
    assert_eq!(types(&receiver, "/ann"), ["custom.before", "custom.after"]);
}

fn assert_keys(data: &Value, expected: &[&str]) {
    let keys: Vec<_> = data.as_object().unwrap().keys().collect();
    let (mut keys, mut expected) = (keys, expected.to_vec());
    keys.sort();
    expected.sort_unstable();
    assert_eq!(keys, expected, "{data}");
}

#[tokio::test]
async fn s6_1_system_events_carry_exactly_their_fields() {
    let server = open()
        .config("wildcard_domain = \"spaces.example\"")
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let template = json!({"name": "web", "ports": [{"name": "web", "port": 8080}]});
    let template = admin
        .post("/api/templates", template)
        .await
        .expect(201)
        .json();
    ann.webhook("mine", "space.*", &receiver.url("/ann")).await;
    let check = json!({"type": "command", "command": "test -e ready",
        "interval_seconds": 1, "timeout_seconds": 1, "failures": 2});
    let space = ann
        .space_with(json!({"name": "lab", "template_id": template["id"], "health_check": check}))
        .await;
    space.write("ready", "");
    let mut agent = space.agent().await;
    space.wait_for_health("healthy", SOON).await;
    std::fs::remove_file(space.folder().join("ready")).unwrap();
    space.wait_for_health("unhealthy", SOON).await;
    agent.stop().await;
    space.wait_for_state("stopped", SOON).await;
    ann.delete(&space.path()).await.expect(204);
    let received = receiver.wait_for("/ann", 6, SOON).await;
    let bodies: Vec<Value> = received.iter().map(svc_testkit::Received::json).collect();
    let urls = json!({"web": "https://ann--lab--8080.spaces.example"});
    let expected: [(&str, &[&str]); 6] = [
        (
            "space.created",
            &["space_urls", "template_id", "startup_script_id"],
        ),
        ("space.started", &["space_urls", "node_id", "started_at"]),
        ("space.healthy", &["previous", "current", "checked_at"]),
        (
            "space.unhealthy",
            &["previous", "current", "consecutive_failures", "checked_at"],
        ),
        ("space.stopped", &["stopped_at"]),
        ("space.deleted", &["deleted_at"]),
    ];
    assert_eq!(bodies.len(), expected.len(), "{bodies:?}");
    for (body, (kind, fields)) in bodies.iter().zip(expected) {
        assert_eq!(body["event_type"], kind);
        assert_keys(body, &["event_id", "event_type", "event_ts", "data"]);
        assert_keys(
            &body["data"],
            &[&["space_name", "space_id"], fields].concat(),
        );
        assert_eq!(body["data"]["space_name"], "lab");
        assert_eq!(body["data"]["space_id"], space.id);
    }
    let data = |index: usize| &bodies[index]["data"];
    assert_eq!(data(0)["space_urls"], urls);
    assert_eq!(data(0)["template_id"], template["id"]);
    assert_eq!(data(0)["startup_script_id"], Value::Null);
    assert_eq!(data(1)["space_urls"], urls);
    assert!(data(1)["node_id"].is_string());
    assert_eq!(
        (&data(2)["previous"], &data(2)["current"]),
        (&json!("unknown"), &json!("healthy"))
    );
    assert_eq!(
        (&data(3)["previous"], &data(3)["current"]),
        (&json!("healthy"), &json!("unhealthy"))
    );
    assert_eq!(data(3)["consecutive_failures"], 2);
    // The history finds all events of the space.
    let of_space = format!("/api/events?space_id={}", space.id);
    assert_eq!(ann.list(&of_space, "events").await.len(), 6);
}

#[tokio::test]
async fn s3_s6_1_only_transitions_create_events() {
    let server = open().config("grace_seconds = 1").start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    ann.webhook("mine", "space.*", &receiver.url("/ann")).await;
    let check = json!({"type": "command", "command": "true", "interval_seconds": 1});
    let space = ann
        .space_with(json!({"name": "lab", "health_check": check}))
        .await;
    let mut agent = space.agent().await;
    space.wait_for_health("healthy", SOON).await;
    // Health checks continue, but the health does not change.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    agent.kill9();
    space.wait_for_state("stopped", SOON).await;
    receiver.wait_for("/ann", 4, SOON).await;
    assert_eq!(
        types(&receiver, "/ann"),
        [
            "space.created",
            "space.started",
            "space.healthy",
            "space.stopped"
        ]
    );
}
