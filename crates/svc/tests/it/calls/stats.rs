//! `GET /api/stats`: calls of the last hour, and the counts of an overview.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestUser, fixture, get_eventually, method};

use crate::{
    SOON,
    mcp::{call, modern},
};

async fn stats(user: &TestUser, query: &str) -> Value {
    let path = format!("/api/stats{query}");
    user.get(&path).await.expect(200).json()
}

/// The sums of calls and of errors over the hour.
fn sums(stats: &Value) -> (u64, u64) {
    let minutes = stats["minutes"].as_array().unwrap();
    assert_eq!(minutes.len(), 60);
    let sum = |key: &str| minutes.iter().map(|one| one[key].as_u64().unwrap()).sum();
    (sum("calls"), sum("errors"))
}

#[tokio::test]
async fn single_batch_failed_and_mcp_calls_are_counted_for_their_caller() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("echo", "echo").mcp_tool().shared())
        .plain("fail");
    let _agent = space.publish(registration).await;
    let before = stats(&ann, "").await;
    assert_eq!(sums(&before), (0, 0));
    assert_eq!(before["minutes"][59]["p95_ms"], Value::Null);

    ann.call("echo", json!({})).await;
    assert_eq!(sums(&stats(&ann, "").await), (1, 0));
    let batch = json!([
        {"jsonrpc": "2.0", "method": "echo", "params": {}, "id": 1},
        {"jsonrpc": "2.0", "method": "nowhere", "id": 2},
        {"jsonrpc": "2.0", "method": "fail", "params": {"code": 7, "message": "no"}, "id": 3},
        {"jsonrpc": "2.0", "method": "echo", "params": {}},
    ]);
    ann.call_raw(batch).await.expect(200);
    // The notification is not counted, because its end cannot be observed.
    assert_eq!(sums(&stats(&ann, "").await), (4, 2));
    call(&ann, "echo", json!({})).await;
    let unknown = json!({"name": "nowhere", "arguments": {}});
    modern(&ann, "tools/call", unknown).await;
    assert_eq!(sums(&stats(&ann, "").await), (5, 2));
    let source = "def main(params):\n    return 1\n";
    ann.script("tool", "one", source).await;
    let tool = get_eventually("the script is a tool", SOON, || async {
        let names = crate::mcp::tool_names(&ann).await;
        names.into_iter().find(|name| name.contains("one"))
    });
    call(&ann, &tool.await, json!({})).await;
    assert_eq!(sums(&stats(&ann, "").await), (6, 2));

    bob.call("user.ann.echo", json!({})).await;
    assert_eq!(sums(&stats(&bob, "").await), (1, 0));
    let own = stats(&ann, "").await;
    assert_eq!(sums(&own), (6, 2));
    assert_eq!(own["scope"], "caller");
    assert_eq!(own["calls_in_flight"], Value::Null);
    let minutes = own["minutes"].as_array().unwrap();
    let last = minutes.iter().rfind(|one| one["calls"] != 0).unwrap();
    let (p50, p95) = (&last["p50_ms"], &last["p95_ms"]);
    assert!(p50.as_f64().unwrap() <= p95.as_f64().unwrap(), "{last}");
}

#[tokio::test]
async fn users_with_view_audit_see_the_counts_of_the_whole_server() {
    let server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo").plain("sleep")).await;
    ann.call("echo", json!({})).await;
    let refused = ann.get("/api/stats?scope=server").await.expect(403);
    assert_eq!(refused.code(), "permission_denied");
    ann.get("/api/stats?scope=world").await.expect(400);

    let all = stats(&admin, "?scope=server").await;
    assert_eq!(all["scope"], "server");
    assert_eq!(sums(&all), (1, 0));
    assert_eq!((&all["methods"], &all["providers"]), (&json!(2), &json!(1)));
    assert_eq!(sums(&stats(&admin, "").await), (0, 0));
    assert_eq!(stats(&admin, "").await["methods"], 0);
    let slow = ann.start_call("sleep", json!({"ms": 60_000}));
    ann.wait_for_in_flight("sleep", 1).await;
    assert_eq!(stats(&admin, "?scope=server").await["calls_in_flight"], 1);
    slow.abort();
}

#[tokio::test]
async fn methods_of_a_deactivated_owner_are_not_counted() {
    let server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let space = ann.space("lab").await;
    let registration = fixture().with(method("echo", "echo").shared());
    let mut agent = space.publish(registration).await;
    assert_eq!(stats(&admin, "").await["methods"], 1);
    let path = format!("/api/users/{}", ann.id);
    let active = async |active: bool| admin.patch(&path, json!({ "active": active })).await;
    active(false).await.expect(200);
    let listed = admin.get("/api/methods").await.expect(200).json();
    assert_eq!(listed["count"], 0);
    for query in ["", "?scope=server"] {
        assert_eq!(stats(&admin, query).await["methods"], 0, "{query}");
    }
    // The server refuses the agent now, and the agent would keep trying to link.
    agent.kill9();
}

#[tokio::test]
async fn counts_cover_only_resources_visible_to_the_caller() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.1, 0.1)
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let (ann, nobody) = (
        server.user("ann").await,
        server.user_with("nobody", &[], &[]).await,
    );
    ann.space("idle").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    receiver.set("/bad", Reply::Body(500, "out of tea".to_owned()));
    let bad = ann.webhook("bad", "custom.*", &receiver.url("/bad")).await;
    let off = ann.webhook("off", "custom.*", &receiver.url("/bad")).await;
    let path = format!("/api/event-sinks/{}", off.id);
    ann.patch(&path, json!({"active": false})).await.expect(200);
    ann.emit("n", json!({})).await;
    let seen = get_eventually("the delivery is given up", SOON, || async {
        let seen = stats(&ann, "").await;
        (seen["sinks"]["failing"][0]["state"] == "dead").then_some(seen)
    })
    .await;
    assert_eq!(
        seen["spaces"],
        json!({"created": 1, "deployed": 1, "stopped": 0})
    );
    assert_eq!(seen["methods"], 1);
    let sinks = &seen["sinks"];
    assert_eq!((&sinks["total"], &sinks["active"]), (&json!(2), &json!(1)));
    let failing = sinks["failing"].as_array().unwrap();
    assert_eq!(failing.len(), 1);
    assert_eq!(failing[0]["id"], bad.id);
    assert_eq!(failing[0]["name"], "bad");
    assert!(failing[0]["error"].as_str().unwrap().contains("500"));
    // Two spaces were created, one was started, and one event was emitted.
    assert_eq!(seen["events_last_hour"], 4);
    let last = &bad.record().await["last_delivery"];
    assert!(last["error"].as_str().unwrap().contains("500"), "{last}");
    // A sink that delivers again still has an event that it never delivered.
    receiver.set("/bad", Reply::Status(200));
    ann.emit("n", json!({})).await;
    let seen = get_eventually("the sink delivers", SOON, || async {
        let seen = stats(&ann, "").await;
        (seen["sinks"]["failing"][0]["state"] == "delivered").then_some(seen)
    })
    .await;
    let failing = &seen["sinks"]["failing"];
    assert_eq!(
        (&failing[0]["dead"], &failing[0]["lost"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(seen["sinks"]["failing_total"], 1);
    // After the event is sent again, the sink no longer counts as failing.
    let path = format!("/api/event-sinks/{}/deliveries/1/resend", bad.id);
    ann.post(&path, json!({})).await;
    get_eventually("the sink has recovered", SOON, || async {
        let seen = stats(&ann, "").await;
        (seen["sinks"]["failing"] == json!([])).then_some(())
    })
    .await;

    // An administrator manages the spaces of all users, but only the administrator's own spaces
    // are counted.
    let root = server.user_with("root", &["admin"], &[]).await;
    let seen = stats(&root, "").await;
    assert_eq!(
        seen["spaces"],
        json!({"created": 0, "deployed": 0, "stopped": 0})
    );
    assert_eq!(seen["sinks"]["total"], 0);
    let seen = stats(&root, "?scope=server").await;
    assert_eq!(seen["sinks"]["total"], 2);

    let seen = stats(&nobody, "").await;
    assert_eq!(seen["spaces"], Value::Null);
    assert_eq!(seen["sinks"], Value::Null);
    assert_eq!(
        (&seen["methods"], &seen["events_last_hour"]),
        (&json!(0), &json!(0))
    );
}

#[tokio::test]
async fn a_failing_sink_shows_the_delivery_that_is_retried() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(60.0, 60.0)
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("keyed", "custom.*", &receiver.url("/")).await;
    let by_type = json!({"ordering": "key", "key": "event.type", "in_flight": 2});
    sink.patch(json!({ "delivery": by_type })).await;
    // The delivery at the head of the queue is in flight, without a finished attempt.
    receiver.set("/", Reply::After(Duration::from_secs(60), 200));
    ann.emit("slow", json!({})).await;
    receiver.wait_for("/", 1, SOON).await;
    receiver.set("/", Reply::Body(500, "out of tea".to_owned()));
    ann.emit("broken", json!({})).await;
    let failing = get_eventually("the sink fails", SOON, || async {
        let seen = stats(&ann, "").await;
        seen["sinks"]["failing"].get(0).cloned()
    })
    .await;
    assert_eq!(failing["event_type"], "custom.broken");
    assert_eq!(failing["state"], "pending");
    assert!(failing["error"].as_str().unwrap().contains("500"));
}
