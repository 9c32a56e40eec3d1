//! Sinks, their deliveries, and subscriptions of methods.

use expect_test::expect_file;
use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestServerBuilder, TestUser, fixture, method};

use super::AuditLog;
use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.1, 0.1)
}

#[tokio::test]
async fn sinks() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let log = AuditLog::begin(&admin).await;
    receiver.set("/hook", Reply::Status(500));
    let sink = ann
        .webhook("hook", "custom.n", &receiver.url("/hook"))
        .await;
    for patch in [
        json!({"patterns": ["custom.n", "custom.m"], "delivery": {"attempts": 2}}),
        json!({"active": false}),
        json!({"active": true}),
    ] {
        sink.patch(patch).await;
    }
    let post = async |request: &str, body: Value| {
        let answer = ann.post(&format!("{}/{request}", sink.path()), body).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text());
    };
    post("rotate-secret", json!({})).await;
    post("test", json!({})).await;
    ann.emit("n", json!({})).await;
    log.wait_for("event_sink.dead").await;
    receiver.set("/hook", Reply::Status(200));
    post("deliveries/1/resend", json!({})).await;
    sink.wait_for("delivered", 1, SOON).await;
    post("resend", json!({"deliveries": [1]})).await;
    post("replay", json!({})).await;
    sink.wait_for("delivered", 3, SOON).await;
    ann.delete(&sink.path()).await.expect(204);
    log.check(expect_file!["sinks.txt"]).await;
}

#[tokio::test]
async fn sinks_that_drop_events_or_are_paused() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    receiver.set("/stuck", Reply::Hang);
    receiver.set("/bad", Reply::Status(500));
    let stuck = ann
        .webhook("stuck", "custom.n", &receiver.url("/stuck"))
        .await;
    let log = AuditLog::begin(&admin).await;
    // The queue has 100 places.
    for n in 0..=100 {
        ann.emit("n", json!({ "n": n })).await;
    }
    log.wait_for("event_sink.dropped").await;
    let policy = json!({"attempts": 1, "on_exhausted": "pause", "overflow": "hold"});
    let sink = json!({
        "name": "bad", "type": "webhook", "patterns": "custom.m",
        "webhook": {"url": receiver.url("/bad")}, "delivery": policy,
    });
    ann.sink(sink).await;
    ann.emit("m", json!({})).await;
    log.wait_for("event_sink.paused").await;
    ann.delete(&stuck.path()).await.expect(204);
    log.check(expect_file!["failing_sinks.txt"]).await;
}

#[tokio::test]
async fn a_sink_whose_creator_lost_the_permission() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    server.role("manager", &["manage_global_event_sinks"]).await;
    let kim = server.user_with("kim", &["user", "manager"], &[]).await;
    kim.global_webhook("all", "custom.*", &receiver.url("/a"))
        .await;
    let path = format!("/api/users/{}", kim.id);
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    let log = AuditLog::begin(&admin).await;
    ann.emit("n", json!({})).await;
    log.wait_for("event_sink.withheld").await;
    log.check(expect_file!["withheld_sinks.txt"]).await;
}

async fn subscribe_and_leave(ann: &TestUser) {
    let space = ann.space("lab").await;
    let listener = method("on.build", "push")
        .line("events", r#"["custom.build.*"]"#)
        .line("event_overflow", "\"hold\"");
    let mut agent = space.publish(fixture().with(listener)).await;
    agent.stop().await;
    ann.emit("build.done", json!({})).await;
    let plain = fixture().with(method("{{space}}.pushed", "pushed"));
    let _agent = space.publish(plain).await;
}

#[tokio::test]
async fn a_subscription_that_ends_with_events_in_its_queue() {
    let server = open().start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let log = AuditLog::begin(&admin).await;
    subscribe_and_leave(&ann).await;
    log.wait_for("method_subscription.removed").await;
    log.check(expect_file!["subscriptions.txt"]).await;
}
