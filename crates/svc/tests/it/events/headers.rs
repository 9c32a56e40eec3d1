//! Values of custom webhook headers: stored encrypted, never shown.

use serde_json::json;
use svc_testkit::{TestReceiver, TestServer, TestSink, TestUser};

use crate::SOON;

const MASK: &str = "********";
const TOKEN: &str = "Bearer cl3ar-t0ken";
const TEAM: &str = "cl3ar-team";

async fn hook(user: &TestUser, receiver: &TestReceiver) -> TestSink {
    let body = json!({"name": "hook", "patterns": "*", "type": "webhook",
        "webhook": {"url": receiver.url("/hook"),
            "headers": {"Authorization": TOKEN, "X-Team": TEAM}}});
    user.sink(body).await
}

/// Emits an event and returns two headers of the request that delivers it.
async fn sent(user: &TestUser, receiver: &TestReceiver, count: usize) -> [String; 2] {
    user.emit("a", json!({})).await;
    let one = receiver.wait_for("/hook", count, SOON).await.pop().unwrap();
    ["authorization", "x-team"].map(|name| one.header(name).to_owned())
}

#[tokio::test]
async fn s2_3_header_values_are_masked_and_a_mask_keeps_the_stored_value() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = hook(&ann, &receiver).await;
    let masked = json!({"Authorization": MASK, "X-Team": MASK});
    assert_eq!(sink.record().await["webhook"]["headers"], masked);
    let list = ann.get("/api/event-sinks").await.expect(200).text();
    assert!(!list.contains("cl3ar"), "{list}");
    assert_eq!(sent(&ann, &receiver, 1).await, [TOKEN, TEAM]);

    // The masked record is written back, with one header changed.
    let mut webhook = sink.record().await["webhook"].clone();
    webhook.as_object_mut().unwrap().remove("secret");
    webhook["headers"]["X-Team"] = json!("green");
    let patched = sink.patch(json!({ "webhook": webhook })).await;
    assert_eq!(patched["webhook"]["headers"], masked);
    assert_eq!(sent(&ann, &receiver, 2).await, [TOKEN, "green"]);
    // A change of another field keeps the headers, and `null` removes a header.
    sink.patch(json!({"description": "changed"})).await;
    let patched = sink
        .patch(json!({"webhook": {"headers": {"X-Team": null}}}))
        .await;
    assert_eq!(
        patched["webhook"]["headers"],
        json!({"Authorization": MASK})
    );
    assert_eq!(sent(&ann, &receiver, 3).await, [TOKEN, ""]);

    // A mask is refused for a header without a stored value.
    let body = json!({"webhook": {"headers": {"X-New": MASK}}});
    let refused = ann.patch(&sink.path(), body).await.expect(400);
    assert_eq!(refused.code(), "invalid_header");
    let body = json!({"name": "other", "patterns": "*", "type": "webhook",
        "webhook": {"url": "https://example.com/", "headers": {"X-New": MASK}}});
    let refused = ann.post("/api/event-sinks", body).await.expect(400);
    assert_eq!(refused.code(), "invalid_header");

    let admin = server.admin().await;
    let audit = admin.get("/api/audit?limit=100").await.expect(200).text();
    assert!(
        audit.contains("X-Team") && !audit.contains("cl3ar"),
        "{audit}"
    );
    assert!(!server.log().contains("cl3ar"), "{}", server.log());
}

#[tokio::test]
async fn s2_3_header_values_are_stored_encrypted() {
    let mut server = TestServer::builder()
        .embedded()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    hook(&ann, &receiver).await;
    assert_eq!(sent(&ann, &receiver, 1).await, [TOKEN, TEAM]);
    // A statement that fails unless the values are encrypted.
    server
        .edit_database(
            "CREATE TEMP TABLE proof (sealed CHECK (sealed = 1));
             INSERT INTO proof SELECT config NOT LIKE '%cl3ar%' AND config LIKE '%********%'
                 AND sealed_headers IS NOT NULL
                 AND CAST(sealed_headers AS TEXT) NOT LIKE '%cl3ar%' FROM event_sinks",
        )
        .await;
    // After a start the values are still there.
    server.start_again().await;
    assert_eq!(sent(&ann, &receiver, 2).await, [TOKEN, TEAM]);
}
