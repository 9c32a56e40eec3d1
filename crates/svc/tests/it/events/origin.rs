//! Stored secrets of a webhook stay with the origin (scheme, host, port) that they were given for.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::hmac;
use serde_json::{Value, json};
use svc_testkit::{Received, TestReceiver, TestServer, TestServerBuilder, TestUser};

use crate::SOON;

const TOKEN: &str = "Bearer top-secret";

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

fn is_signed_with(received: &Received, secret: &str) -> bool {
    let key = STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .unwrap();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &received.body);
    let hex: String = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    received.header("x-service-signature") == format!("sha256={hex}")
}

/// A patch of the URL, with other members of `webhook`.
fn moved(url: &str, others: Value) -> Value {
    let mut webhook = json!({ "url": url });
    let members = others.as_object().unwrap().clone();
    webhook.as_object_mut().unwrap().extend(members);
    json!({ "webhook": webhook })
}

/// Checks that a patch is refused, and that the message names exactly these fields.
async fn refused(user: &TestUser, path: &str, patch: Value, fields: &[&str]) {
    let answer = user.patch(path, &patch).await.expect(400);
    assert_eq!(answer.code(), "secret_required", "{}", answer.text());
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    for field in [
        "webhook.headers.Authorization",
        "webhook.headers.X-Team",
        "webhook.secret",
    ] {
        let is_named = detail.contains(&format!("`{field}`"));
        assert_eq!(is_named, fields.contains(&field), "{field}: {detail}");
    }
}

#[tokio::test]
async fn stored_secrets_of_a_webhook_do_not_follow_to_another_origin() {
    let server = open().start().await;
    let (good, evil) = (TestReceiver::start().await, TestReceiver::start().await);
    let ann = server.user("ann").await;
    let agent = ann.with_token(&ann.space("lab").await.agent_token);
    let sink = ann
        .sink(
            json!({"name": "hook", "patterns": "*", "type": "webhook", "webhook": {
            "url": good.url("/a"), "headers": {"Authorization": TOKEN, "X-Team": "tea"}}}),
        )
        .await;
    let path = sink.path();
    // A rotation, so that a previous secret is stored too.
    let rotated = ann.post(&format!("{path}/rotate-secret"), "{}").await;
    let secret = rotated.expect(200).json()["secret"]
        .as_str()
        .unwrap()
        .to_owned();

    // Another path of the same receiver needs no secret.
    sink.patch(moved(&good.url("/b"), json!({}))).await;
    let headers = ["webhook.headers.Authorization", "webhook.headers.X-Team"];
    let url = evil.url("/steal");
    let mask = "********";
    for user in [&ann, &agent] {
        let patch = async |others: Value, fields: &[&str]| {
            refused(user, &path, moved(&url, others), fields).await;
        };
        patch(json!({}), &headers).await;
        patch(json!({"secret": null}), &headers).await;
        let masked = json!({"secret": null, "headers": {"Authorization": mask, "X-Team": null}});
        patch(masked, &headers[..1]).await;
        let masked = json!({"secret": mask, "headers": null});
        patch(masked, &["webhook.secret"]).await;
    }
    // The same host and port with another scheme, and another port of the host, are other origins.
    let https = good.url("/b").replace("http://", "https://");
    refused(&ann, &path, moved(&https, json!({})), &headers).await;
    ann.post(&format!("{path}/test"), "{}").await.expect(200);
    assert!(evil.received("/steal").is_empty());
    let kept = good.wait_for("/b", 1, SOON).await.remove(0);
    assert_eq!(kept.header("authorization"), TOKEN);

    // Every secret is given again or removed. The answer shows the new signing secret, and the old
    // secrets sign nothing for the new receiver.
    let others = json!({"headers": {"Authorization": "Bearer new", "X-Team": null}});
    let changed = sink.patch(moved(&url, others)).await;
    let new = changed["webhook"]["secret"].as_str().unwrap().to_owned();
    assert_ne!(new, secret);
    assert_eq!(sink.record().await["webhook"]["secret"], Value::Null);
    ann.post(&format!("{path}/test"), "{}").await.expect(200);
    let received = evil.wait_for("/steal", 1, SOON).await.remove(0);
    assert_eq!(received.header("authorization"), "Bearer new");
    assert_eq!(received.header("x-team"), "");
    assert!(is_signed_with(&received, &new));
    assert_eq!(received.header("webhook-signature").split(' ').count(), 1);

    // The secret may also be given.
    let others = json!({"secret": secret, "headers": null});
    sink.patch(moved(&good.url("/c"), others)).await;
    ann.post(&format!("{path}/test"), "{}").await.expect(200);
    let received = good.wait_for("/c", 1, SOON).await.remove(0);
    assert!(is_signed_with(&received, &secret));
    let audit = Value::from(server.admin().await.list("/api/audit", "audit").await).to_string();
    assert!(!audit.contains(&secret) && !audit.contains(&new), "{audit}");
}

#[tokio::test]
async fn the_secrets_of_a_global_webhook_stay_with_their_receiver_for_every_manager() {
    let server = open().start().await;
    let (good, evil) = (TestReceiver::start().await, TestReceiver::start().await);
    let permissions = ["manage_global_event_sinks", "manage_own_event_sinks"];
    server.role("sinks", &permissions).await;
    let carl = server.user_with("carl", &["sinks"], &[]).await;
    let dora = server.user_with("dora", &["sinks"], &[]).await;
    let sink = carl
        .sink(
            json!({"name": "g", "owner": "global", "patterns": "custom.never", "type": "webhook",
            "webhook": {"url": good.url("/"), "headers": {"Authorization": TOKEN}}}),
        )
        .await;
    let fields = ["webhook.headers.Authorization"];
    let patch = moved(&evil.url("/"), json!({}));
    refused(&dora, &sink.path(), patch, &fields).await;
    dora.post(&format!("{}/test", sink.path()), "{}")
        .await
        .expect(200);
    good.wait_for("/", 1, SOON).await;
    assert!(evil.received("/").is_empty());
}
