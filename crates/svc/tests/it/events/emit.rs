//! Emitting (spec 6.2).

use serde_json::{Value, json};
use svc_testkit::{Http, TestServer, TestUser, get_eventually};

use crate::SOON;

const NIL: &str = "00000000-0000-0000-0000-000000000000";

async fn event(user: &TestUser, id: &str) -> Value {
    let path = format!("/api/events/{id}");
    user.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn s6_2_emit_prepends_custom_and_the_event_belongs_to_the_caller_without_a_space() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (given, expected) in [
        ("build.done", "custom.build.done"),
        ("space.created", "custom.space.created"),
        ("custom.x", "custom.custom.x"),
    ] {
        let emitted = ann
            .try_emit(given, json!({"n": 1}))
            .await
            .expect(202)
            .json();
        assert_eq!(emitted["event_type"], expected);
        let id = emitted["event_id"].as_str().unwrap();
        assert_eq!(&id[14..15], "7", "events have version 7 ids: {id}");
        let record = event(&ann, id).await;
        assert_eq!(record["event_id"], id);
        assert_eq!(record["event_type"], expected);
        assert_eq!(record["owner_id"], ann.id);
        assert_eq!(record["space_id"], NIL);
        assert_eq!(record["data"], json!({"n": 1}));
        assert_eq!(record["actor"]["username"], "ann");
        assert_eq!(record["actor"]["kind"], "user");
    }
    // If the request has no payload, the event has an empty payload.
    let body = r#"{"type":"plain"}"#;
    let emitted = ann.post("/api/events/emit", body).await.expect(202).json();
    let record = event(&ann, emitted["event_id"].as_str().unwrap()).await;
    assert_eq!(record["data"], json!({}));
}

#[tokio::test]
async fn s4_2_s6_2_emit_through_the_agent_carries_its_space() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let url = agent.discovery().await["agent_url"].clone();
    let http = Http::to_url(url.as_str().unwrap());
    let json_body = [("content-type", "application/json")];
    let body = json!({"type": "space.created", "payload": {"a": [1, null]}}).to_string();
    let emitted = http
        .request("POST", "/event", &json_body, body)
        .await
        .expect(202)
        .json();
    assert_eq!(emitted["event_type"], "custom.space.created");
    let record = event(&ann, emitted["event_id"].as_str().unwrap()).await;
    assert_eq!(record["space_id"], space.id);
    assert_eq!(record["owner_id"], ann.id);
    assert_eq!(record["actor"]["kind"], "agent");
    assert_eq!(record["data"], json!({"a": [1, null]}));
    // Invalid input is refused with the reason; `a b` is not a type, `[]` is not a payload.
    for (body, status) in [
        (json!({"type": "a b", "payload": {}}).to_string(), 400),
        (json!({"type": "a", "payload": []}).to_string(), 400),
        (json!({"payload": {}}).to_string(), 400),
        ("{".to_owned(), 400),
        (large_emit(), 413),
    ] {
        let answer = http.request("POST", "/event", &json_body, body).await;
        let answer = answer.expect(status);
        assert!(!answer.code().is_empty(), "{}", answer.text());
    }
}

#[tokio::test]
async fn s4_2_s6_2_an_unlinked_agent_refuses_events_and_stores_none() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let url = agent.discovery().await["agent_url"].clone();
    let http = Http::to_url(url.as_str().unwrap());
    server.kill9();
    let emit = async || {
        let headers = [("content-type", "application/json")];
        let body = json!({"type": "kettle.boiled"}).to_string();
        http.request("POST", "/event", &headers, body).await
    };
    get_eventually("events are refused", SOON, || async {
        (emit().await.status == 503).then_some(())
    })
    .await;
    server.start_again().await;
    agent.wait_until_linked().await;
    let id = get_eventually("events are taken again", SOON, || async {
        let answer = emit().await;
        (answer.status == 202).then(|| answer.json()["event_id"].clone())
    })
    .await;
    let events = ann.list("/api/events?type=custom.kettle.*", "events").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["event_id"], id);
}

fn large_emit() -> String {
    json!({"type": "big", "payload": {"x": "y".repeat(300 * 1024)}}).to_string()
}

#[tokio::test]
async fn s6_2_invalid_emits_are_refused_with_the_reason() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let long = "x".repeat(129);
    for bad in ["", ".", "a..b", "a b", "a*", "a\nb", "\"", "ä", &long] {
        let answer = ann.try_emit(bad, json!({})).await.expect(400);
        assert!(!answer.code().is_empty(), "{}", answer.text());
    }
    for bad in [json!([]), json!(1), json!(null), json!("x"), json!(true)] {
        ann.try_emit("a", bad).await.expect(400);
    }
    for bad in [
        "",
        "{",
        "[]",
        "1",
        r#"{"payload":{}}"#,
        r#"{"type":"a","colour":1}"#,
    ] {
        ann.post("/api/events/emit", bad).await.expect(400);
    }
    ann.post("/api/events/emit", large_emit()).await.expect(413);
    // The largest payload that is allowed: the object around the text takes 8 bytes.
    let whole = json!({"x": "y".repeat(256 * 1024 - 8)});
    assert_eq!(whole.to_string().len(), 256 * 1024);
    ann.emit("whole", whole).await;
    let text = [("content-type", "text/plain")];
    let request = ann.request("POST", "/api/events/emit");
    let request = text.iter().fold(request, |r, (k, v)| r.header(*k, *v));
    let body = r#"{"type":"a"}"#;
    ann.http()
        .send(request.body(body.into()).unwrap())
        .await
        .expect(415);
    let events = ann.list("/api/events?type=custom.*", "events").await;
    assert_eq!(events.len(), 1, "a refused emit leaves nothing behind");
}

#[tokio::test]
async fn s5_s6_2_emit_needs_use_spaces_or_manage_spaces() {
    let server = TestServer::start().await;
    server.role("nothing", &[]).await;
    server.role("keeper", &["manage_spaces"]).await;
    let bob = server.user_with("bob", &["nothing"], &[]).await;
    let eve = server.user_with("eve", &["keeper"], &[]).await;
    let refused = bob.try_emit("a", json!({})).await.expect(403);
    assert_eq!(refused.code(), "permission_denied");
    eve.emit("a", json!({})).await;
    let ann = server.user("ann").await;
    let scoped = ann.scoped(&["methods"]).await;
    let refused = scoped.try_emit("a", json!({})).await.expect(403);
    assert_eq!(refused.code(), "scope_denied");
}

#[tokio::test]
async fn s6_2_requests_with_one_idempotency_key_create_one_event() {
    let mut server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let body = json!({"type": "paid", "payload": {"n": 1}});
    let emit = async |user: &TestUser, key: &str, body: &Value| {
        user.emit_with_key(key, body).await.unwrap()
    };
    let first = emit(&ann, "k1", &body).await.expect(202).json();
    assert_eq!(emit(&ann, "k1", &body).await.expect(202).json(), first);
    let other = json!({"type": "paid", "payload": {"n": 2}});
    emit(&ann, "k1", &other).await.expect(409);
    // Another key creates another event. So does the same key of another user.
    let second = emit(&ann, "k2", &body).await.expect(202).json();
    assert_ne!(second["event_id"], first["event_id"]);
    let bobs = emit(&bob, "k1", &other).await.expect(202).json();
    assert_ne!(bobs["event_id"], first["event_id"]);
    // Many requests at the same time.
    let many = (0..16).map(|_| {
        let (user, body) = (ann.clone(), body.clone());
        tokio::spawn(async move {
            user.emit_with_key("k3", body)
                .await
                .unwrap()
                .expect(202)
                .json()
        })
    });
    let mut answers = Vec::new();
    for one in many.collect::<Vec<_>>() {
        answers.push(one.await.unwrap());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(ann.list("/api/events", "events").await.len(), 3);
    // The key survives a crash.
    server.kill9();
    server.start_again().await;
    assert_eq!(emit(&ann, "k1", &body).await.expect(202).json(), first);
    emit(&ann, "k1", &other).await.expect(409);
    emit(&ann, &"k".repeat(256), &body).await.expect(400);
}

#[tokio::test]
async fn s6_2_emits_over_the_rate_limit_are_refused_with_retry_after() {
    let server = TestServer::builder()
        .config_table("events", "emits_per_second = 5")
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let mut taken = 0;
    let refused = loop {
        let answer = ann.try_emit("a", json!({})).await;
        if answer.status != 202 {
            break answer.expect(429);
        }
        taken += 1;
        assert!(taken < 1_000, "there is a limit");
    };
    assert!(taken >= 5, "{taken} were taken");
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&after), "{after}");
    bob.emit("a", json!({})).await;
    get_eventually("emits are taken again", SOON, || async {
        (ann.try_emit("a", json!({})).await.status == 202).then_some(())
    })
    .await;
}

#[tokio::test]
async fn s6_2_emits_over_the_storage_limit_remove_old_events_before_they_are_refused() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .config_table("quotas", "event_bytes = 20000")
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    // No sink waits for these events, so the oldest are removed.
    for _ in 0..60 {
        ann.emit("a", json!({})).await;
    }
    let kept = ann.list("/api/events", "events").await.len();
    assert!((20..40).contains(&kept), "{kept}");
    // Events that wait for an unreachable webhook are not removed.
    bob.webhook("hook", "custom.*", "http://127.0.0.1:1/").await;
    let refused = loop {
        let answer = bob.try_emit("b", json!({})).await;
        if answer.status != 202 {
            break answer.expect(409).json();
        }
    };
    assert_eq!(refused["code"], "quota_exceeded");
    assert_eq!(refused["limit"], 20_000);
    assert_eq!(refused["setting"], "quotas.event_bytes");
    ann.emit("a", json!({})).await;
}
