//! Verified requests become events, each delivery once.

use serde_json::json;
use svc_core::source::settings::VerifyType;
use svc_testkit::{TestReceiver, TestServer};

use super::{Sender, events_of};
use crate::SOON;

#[tokio::test]
async fn a_verified_request_of_every_type_becomes_one_event() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for &kind in VerifyType::ALL {
        let verify = match kind {
            VerifyType::Hmac => json!({
                "type": "hmac", "header": "X-Signature", "prefix": "v1=", "encoding": "base64",
                "signed": "{timestamp}.{id}.{body}", "timestamp_header": "X-Time", "id_header": "X-Id",
            }),
            kind => json!({"type": kind}),
        };
        let sender = Sender::new(&ann, kind.as_str(), verify).await;
        let body = json!({"type": "ping", "id": "evt_1", "n": 1}).to_string();
        let headers = [
            ("x-github-event", "ping"),
            ("x-gitlab-event", "Ping"),
            ("x-shopify-topic", "ping"),
        ];
        let answer = sender.send("d1", &headers, &body).await.expect(202).json();
        assert_eq!(
            answer["event_type"],
            format!("source.{kind}.ping"),
            "{kind}"
        );
        let events = sender.events().await;
        assert_eq!(events.len(), 1, "{kind}");
        assert_eq!(events[0]["event_id"], answer["event_id"]);
        assert_eq!(events[0]["data"]["n"], 1);
        assert_eq!(events[0]["data"]["_source"]["name"], kind.as_str());
        assert_eq!(events[0]["data"]["_source"]["verify"], kind.as_str());
        assert_eq!(events[0]["actor"]["kind"], "system");
        let record = sender.record().await;
        assert_eq!(
            (&record["accepted"], &record["rejected"]),
            (&json!(1), &json!(0))
        );
    }
}

#[tokio::test]
async fn the_same_delivery_makes_one_event_and_a_changed_header_does_not_matter() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    // The id of Standard Webhooks is signed: another body with the same id is the same delivery.
    let standard = Sender::of_type(&ann, VerifyType::Standard).await;
    let first = standard
        .send("msg_1", &[], r#"{"type":"a"}"#)
        .await
        .expect(202)
        .json();
    let again = standard
        .send("msg_1", &[("user-agent", "x")], r#"{"type":"a","retry":1}"#)
        .await;
    assert_eq!(again.expect(202).json(), first);
    let other = standard
        .send("msg_2", &[], r#"{"type":"a"}"#)
        .await
        .expect(202)
        .json();
    assert_ne!(other["event_id"], first["event_id"]);
    assert_eq!(standard.events().await.len(), 2);
    let outcomes: Vec<_> = standard
        .requests()
        .await
        .iter()
        .map(|one| one["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["accepted", "repeated", "accepted"]);

    // GitHub does not sign its id: a replay with another id is recognised by its body.
    let github = Sender::of_type(&ann, VerifyType::Github).await;
    let body = r#"{"zen":"x"}"#;
    let first = github
        .send("", &[("x-github-delivery", "1")], body)
        .await
        .expect(202)
        .json();
    let replayed = github
        .send("", &[("x-github-delivery", "2")], body)
        .await
        .expect(202)
        .json();
    assert_eq!(first, replayed);
    assert_eq!(github.events().await.len(), 1);

    // Requests without a signature: equal bodies are different deliveries.
    let open = Sender::of_type(&ann, VerifyType::None).await;
    for _ in 0..2 {
        open.send("", &[], "{}").await.expect(202);
    }
    assert_eq!(open.events().await.len(), 2);
    let key = [("idempotency-key", "k")];
    for _ in 0..2 {
        open.send("", &key, "{}").await.expect(202);
    }
    assert_eq!(open.events().await.len(), 3);

    // Two sources do not share deliveries.
    let second = Sender::new(&ann, "second", json!({"type": "standard"})).await;
    let elsewhere = second.send("msg_1", &[], "{}").await.expect(202).json();
    assert_eq!(elsewhere["event_type"], "source.second.event");
}

#[tokio::test]
async fn slack_gets_its_challenge_back_only_if_it_is_signed() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let slack = Sender::of_type(&ann, VerifyType::Slack).await;
    let question = r#"{"type":"url_verification","challenge":"3eZbrw1aBm2r","token":"x"}"#;
    let answer = slack.send("", &[], question).await.expect(200).json();
    assert_eq!(answer, json!({"challenge": "3eZbrw1aBm2r"}));
    let headers = [("content-type", "application/json")];
    let unsigned = slack
        .http()
        .request("POST", &slack.path, &headers, question)
        .await;
    let unsigned = unsigned.expect(401);
    assert_eq!(unsigned.code(), "verification_failed");
    assert!(!unsigned.text().contains("3eZbrw1aBm2r"));
    assert_eq!(slack.events().await.len(), 0);
}

#[tokio::test]
async fn sinks_match_events_of_sources_and_plain_emits_cannot_fake_them() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    let sink = json!({
        "name": "hook", "patterns": "source.shop.orders.*", "type": "webhook",
        "webhook": {"url": receiver.url("/hook")},
    });
    ann.post("/api/event-sinks", sink).await.expect(201);
    let shop = Sender::new(&ann, "shop", json!({"type": "shopify"})).await;
    shop.send("", &[("x-shopify-topic", "products/create")], "{}")
        .await
        .expect(202);
    shop.send("", &[("x-shopify-topic", "orders/create")], r#"{"id":7}"#)
        .await
        .expect(202);
    let fake = json!({"type": "source.shop.orders.create", "payload": {}});
    let emitted = ann.post("/api/events/emit", fake).await.expect(202).json();
    assert_eq!(emitted["event_type"], "custom.source.shop.orders.create");
    let delivered = receiver.wait_for("/hook", 1, SOON).await[0].json();
    assert_eq!(delivered["event_type"], "source.shop.orders.create");
    assert_eq!(delivered["data"]["id"], 7);
    assert_eq!(
        receiver.count("/hook"),
        1,
        "neither the other topic nor the fake matches"
    );
}

#[tokio::test]
async fn the_owners_permission_is_checked_at_each_request() {
    let server = TestServer::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let open = Sender::of_type(&ann, VerifyType::None).await;
    open.send("", &[], "{}").await.expect(202);
    let path = format!("/api/users/{}", ann.id);
    admin.patch(&path, json!({"roles": []})).await.expect(200);
    let refused = open.send("", &[], "{}").await.expect(403);
    assert_eq!(refused.code(), "permission_denied");
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    let reason = open.reason().await;
    assert!(
        reason.contains("may not emit") && reason.contains("use_spaces"),
        "{reason}"
    );
    // A request to a source of an inactive user is answered like a request to an unknown URL.
    admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    open.send("", &[], "{}").await.expect(404);
    admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    open.send("", &[], "{}").await.expect(202);
    assert_eq!(events_of(&ann).await.len(), 2);
    admin.delete(&path).await.expect(204);
    open.send("", &[], "{}").await.expect(404);
}

#[tokio::test]
async fn an_accepted_request_survives_a_kill() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let github = Sender::of_type(&ann, VerifyType::Github).await;
    for n in 0..20 {
        github
            .send("", &[], &json!({ "n": n }).to_string())
            .await
            .expect(202);
    }
    server.kill9();
    server.start_again().await;
    let sender = Sender {
        user: ann.at(&server),
        ..github
    };
    assert_eq!(sender.events().await.len(), 20);
    // The sender repeats all requests. No request becomes two events.
    for n in 0..20 {
        sender
            .send("", &[], &json!({ "n": n }).to_string())
            .await
            .expect(202);
    }
    assert_eq!(sender.events().await.len(), 20);
}
