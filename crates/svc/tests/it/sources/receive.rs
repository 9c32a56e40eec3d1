//! Verified requests become events, each delivery once.

use serde_json::{Value, json};
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

/// The answer to a repetition of the request that got this answer.
fn repeated(first: &Value) -> Value {
    let mut answer = first.clone();
    answer["repeated"] = json!(true);
    answer
}

#[tokio::test]
async fn a_signed_time_makes_two_requests_with_one_body_two_deliveries() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let verify = json!({"type": "hmac", "header": "X-Sig", "timestamp_header": "X-Time",
        "signed": "{timestamp}.{body}"});
    let monitor = Sender::new(&ann, "monitor", verify).await;
    let (down, up) = (r#"{"state":"down"}"#, r#"{"state":"up"}"#);
    let now = svc_clock::now();
    let ago = |seconds| now.minus(std::time::Duration::from_secs(seconds));
    for (seconds, body) in [(200, down), (100, up), (0, down)] {
        monitor
            .send_at("", ago(seconds), &[], body)
            .await
            .expect(202);
    }
    // A copy of a request, signed time included, is a repetition.
    let first = monitor.requests().await[0]["event_id"].clone();
    let copy = monitor.send_at("", ago(0), &[], down).await.expect(202);
    assert_eq!(copy.json()["event_id"], first, "{}", copy.text());
    let states: Vec<_> = monitor.events().await;
    let states: Vec<_> = states.iter().map(|event| &event["data"]["state"]).collect();
    assert_eq!(states, ["down", "up", "down"]);
    // Commands of Slack have no id, but a signed time.
    let slack = Sender::of_type(&ann, VerifyType::Slack).await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for seconds in [2, 1] {
        let at = ago(seconds);
        slack
            .send_at("", at, &form, "command=%2Fdeploy")
            .await
            .expect(202);
    }
}

#[tokio::test]
async fn the_owner_chooses_whether_equal_bodies_are_one_delivery() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let github = Sender::of_type(&ann, VerifyType::Github).await;
    for status in [202, 200] {
        github.send("", &[], "{}").await.expect(status);
    }
    let requests = github.requests().await;
    let shown: Vec<_> = requests
        .iter()
        .map(|one| (&one["outcome"], &one["status"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("repeated"), &json!(200)),
            (&json!("accepted"), &json!(202))
        ]
    );
    let path = format!("/api/sources/{}", github.id);
    let change = json!({"verify": {"deduplicate": "none"}});
    let changed = ann.patch(&path, change).await.expect(200).json();
    assert_eq!(changed["verify"]["deduplicate"], "none");
    for _ in 0..2 {
        github.send("", &[], "{}").await.expect(202);
    }
    assert_eq!(github.events().await.len(), 3);
    let change = json!({"verify": {"deduplicate": null}});
    ann.patch(&path, change).await.expect(200);
    github.send("", &[], "{}").await.expect(200);
    // A signed time or id tells deliveries apart, so there is nothing to choose.
    for verify in [
        json!({"type": "slack", "deduplicate": "none"}),
        json!({"type": "basic", "deduplicate": "body"}),
        json!({"type": "hmac", "header": "X-Sig", "timestamp_header": "X-Time",
            "signed": "{timestamp}.{body}", "deduplicate": "none"}),
    ] {
        let body = json!({"name": "other", "verify": verify});
        let refused = ann.post("/api/sources", body).await.expect(400);
        assert!(
            refused.text().contains("verify.deduplicate"),
            "{}",
            refused.text()
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
        .expect(200)
        .json();
    assert_eq!(replayed, repeated(&first));
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
async fn a_source_that_is_off_answers_like_an_unknown_url() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let open = Sender::of_type(&ann, VerifyType::None).await;
    let path = format!("/api/sources/{}", open.id);
    ann.patch(&path, json!({"active": false})).await.expect(200);
    // More than the rejected requests that one address may send within a minute.
    for _ in 0..70 {
        open.send("", &[], "{}").await.expect(404);
    }
    assert!(open.reason().await.contains("not active"));
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
            .expect(200);
    }
    assert_eq!(sender.events().await.len(), 20);
}
