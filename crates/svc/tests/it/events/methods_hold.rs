//! Subscribed methods with `event_overflow = "hold"`.

use serde_json::json;
use svc_testkit::{TestServer, eventually, fixture, method};

use super::methods::{ids, listener, wait_for_pushed};
use crate::SOON;

#[tokio::test]
async fn a_method_that_holds_gets_every_event_after_its_agent_was_away_beyond_the_grace_period() {
    let mut server = TestServer::builder()
        .config("grace_seconds = 1")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let holding = fixture()
        .with(listener("on.build", r#"["custom.build.*"]"#).line("event_overflow", "\"hold\""))
        .with(method("{{space}}.pushed", "pushed"));
    let mut agent = space.publish(holding).await;
    let shown = ann.get("/api/methods?name=on.build").await.expect(200);
    assert!(
        shown.text().contains(r#""event_overflow":"hold""#),
        "{}",
        shown.text()
    );
    agent.kill9();
    eventually("the space is stopped", 2 * SOON, || async {
        let path = format!("/api/spaces/{}", space.id);
        ann.get(&path).await.expect(200).json()["state"] == "stopped"
    })
    .await;
    let mut expected = Vec::new();
    for n in 0..130 {
        expected.push(ann.emit("build.done", json!({ "n": n })).await);
    }
    server.kill9();
    server.start_again().await;
    for n in 130..140 {
        expected.push(ann.emit("build.done", json!({ "n": n })).await);
    }
    let _agent = space.agent_with(&["--methods-file", "methods.toml"]).await;
    let list = wait_for_pushed(&ann, "lab", 140).await;
    assert_eq!(ids(&list), expected);
}

#[tokio::test]
async fn a_subscription_that_holds_ends_when_the_space_registers_without_it() {
    let server = TestServer::builder()
        .config("grace_seconds = 1")
        .start()
        .await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let space = ann.space("lab").await;
    let holding = fixture()
        .with(listener("on.build", r#"["custom.build.*"]"#).line("event_overflow", "\"hold\""));
    let mut agent = space.publish(holding).await;
    agent.stop().await;
    ann.emit("build.done", json!({})).await;
    let plain = fixture().with(method("{{space}}.pushed", "pushed"));
    let _agent = space.publish(plain).await;
    let path = "/api/audit?action=method_subscription.removed";
    eventually("the subscription is gone", SOON, || async {
        !admin.list(path, "audit").await.is_empty()
    })
    .await;
}
