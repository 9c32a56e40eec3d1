//! The history and the stream of events.

use serde_json::{Value, json};
use svc_testkit::{SseStream, TestReceiver, TestServer, TestUser, peak_resident_mib};

use crate::SOON;

const NIL: &str = "00000000-0000-0000-0000-000000000000";

async fn event(user: &TestUser, id: &str) -> Value {
    let path = format!("/api/events/{id}");
    user.get(&path).await.expect(200).json()
}

/// The ids of the events that a query finds, newest first.
async fn ids(user: &TestUser, query: &str) -> Vec<String> {
    let events = user.list(&format!("/api/events{query}"), "events").await;
    let id = |event: &Value| event["event_id"].as_str().unwrap().to_owned();
    events.iter().map(id).collect()
}

#[tokio::test]
async fn the_history_shows_own_events_and_all_with_view_audit() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let space = ann.space("lab").await;
    let mut own = vec![ann.emit("a.one", json!({})).await];
    own.push(ann.emit("b.two", json!({})).await);
    let bobs = bob.emit("a.three", json!({})).await;
    // Newest first. The oldest event is the creation of the space.
    let all = ids(&ann, "").await;
    assert_eq!(all[..2], [own[1].clone(), own[0].clone()]);
    assert_eq!(all.len(), 3);
    assert_eq!(ids(&ann, "?type=custom.a.*").await, [own[0].clone()]);
    assert_eq!(
        ids(&ann, &format!("?space_id={}", space.id)).await,
        [all[2].clone()]
    );
    assert_eq!(ids(&bob, "").await, std::slice::from_ref(&bobs));
    ann.get(&format!("/api/events/{bobs}")).await.expect(404);
    ann.get(&format!("/api/events/{NIL}")).await.expect(404);
    ann.get("/api/events/nonsense").await.expect(404);
    assert_eq!(
        ids(&admin, "?type=custom.*").await,
        [bobs.clone(), own[1].clone(), own[0].clone()]
    );
    assert_eq!(event(&admin, &bobs).await["owner_id"], bob.id);
    // Pages follow each other without gap or overlap.
    let first = ann.get("/api/events?limit=2").await.expect(200).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = ann
        .get(&format!("/api/events?limit=2&cursor={cursor}"))
        .await
        .expect(200)
        .json();
    assert_eq!(rest["events"].as_array().unwrap().len(), 1);
    assert_eq!(rest["next_cursor"], Value::Null);
    ann.get("/api/events?type=a.*.b").await.expect(400);
}

#[tokio::test]
async fn past_events_are_found_by_emitter_payload_and_time() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let of_ann = ann.emit("a", json!({"city": "Köln"})).await;
    let of_bob = bob.emit("b", json!({"city": "Bonn"})).await;
    for (query, found) in [
        ("?actor=bob", vec![&of_bob]),
        ("?text=k%C3%B6ln", vec![&of_ann]),
        ("?actor=bob&text=k%C3%B6ln", vec![]),
        ("?text=city&type=custom.a", vec![&of_ann]),
        (
            "?since=2020-01-01T00:00:00Z&type=custom.*",
            vec![&of_bob, &of_ann],
        ),
        ("?until=2020-01-01T00:00:00Z", vec![]),
    ] {
        let matching = ids(&admin, query).await;
        assert_eq!(matching.iter().collect::<Vec<_>>(), found, "{query}");
    }
    // Ann's search shows no event of another user.
    assert_eq!(ids(&ann, "?text=bonn").await, Vec::<String>::new());
    let long = "x".repeat(201);
    let refused = ann.get(&format!("/api/events?text={long}")).await;
    let refused = refused.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("201 bytes"));
}

async fn stream(user: &TestUser, query: &str) -> SseStream {
    let path = format!("/api/events/stream{query}");
    let request = user.request("GET", &path).body(Default::default()).unwrap();
    SseStream::open(&user.http(), request).await
}

#[tokio::test]
async fn patterns_of_a_stream_and_streams_of_a_user_are_limited() {
    let server = TestServer::builder()
        .config_table("quotas", "streams = 3")
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let patterns = |count: usize| vec!["custom.a"; count].join(",");
    for (route, name) in [("events", "type"), ("events/stream", "pattern")] {
        let path = format!("/api/{route}?{name}={}", patterns(101));
        let refused = ann.get(&path).await.expect(400);
        assert_eq!(refused.code(), "invalid_pattern", "{route}");
        assert!(refused.text().contains("101"), "{}", refused.text());
    }
    let mut open = vec![stream(&ann, &format!("?pattern={}", patterns(100))).await];
    open.push(stream(&ann, "").await);
    open.push(stream(&ann, "").await);
    let refused = ann.get("/api/events/stream").await.expect(429);
    assert!(refused.header("retry-after").is_some());
    let refused = refused.json();
    assert_eq!(refused["code"], "quota_exceeded");
    assert_eq!(
        (&refused["limit"], &refused["setting"]),
        (&json!(3), &json!("quotas.streams"))
    );
    // Streams of MCP count as well.
    let request = ann
        .request("GET", "/mcp")
        .header("accept", "text/event-stream");
    let answer = ann
        .http()
        .send(request.body(Default::default()).unwrap())
        .await;
    assert_eq!(answer.expect(429).code(), "quota_exceeded");
    stream(&bob, "").await;
    // A stream that is closed is not counted any more.
    drop(open.pop());
    svc_testkit::eventually("another stream can be opened", SOON, || async {
        let request = ann.request("GET", "/api/events/stream");
        let request = request.body(Default::default()).unwrap();
        let http = ann.http();
        // A timeout means that the stream was opened: its response never ends.
        let sending = http.try_send(request);
        let answer = tokio::time::timeout(std::time::Duration::from_millis(300), sending);
        answer.await.is_err()
    })
    .await;
}

#[tokio::test]
async fn the_stream_shows_own_events_that_match() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let mut all = stream(&ann, "").await;
    let mut some = stream(&ann, "?pattern=custom.a.*,space.created").await;
    let mut admins = stream(&admin, "?pattern=custom.*").await;
    let bobs = bob.emit("a.secret", json!({})).await;
    let first = ann.emit("b.one", json!({"text": "two\nlines"})).await;
    let second = ann.emit("a.two", json!({})).await;
    ann.space("lab").await;
    let message = all.next(SOON).await.unwrap();
    assert_eq!(
        (message.id.as_str(), message.event.as_str()),
        (first.as_str(), "custom.b.one")
    );
    let data: Value = serde_json::from_str(&message.data).unwrap();
    assert_eq!(data, event(&ann, &first).await);
    assert_eq!(all.next(SOON).await.unwrap().id, second);
    assert_eq!(all.next(SOON).await.unwrap().event, "space.created");
    assert_eq!(some.next(SOON).await.unwrap().id, second);
    assert_eq!(some.next(SOON).await.unwrap().event, "space.created");
    for id in [bobs, first, second] {
        assert_eq!(admins.next(SOON).await.unwrap().id, id);
    }
    ann.get("/api/events/stream?pattern=*.x").await.expect(400);
}

#[tokio::test]
async fn a_stream_ends_with_its_credential() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let token = ann.new_token(&[]).await;
    let other = ann.with_token(token["token"].as_str().unwrap());
    let mut open = stream(&other, "").await;
    let path = format!("/api/tokens/{}", token["id"].as_str().unwrap());
    ann.delete(&path).await.expect(204);
    assert_eq!(open.next(SOON).await, None);
}

/// The events are large. Their parsed data takes many times the memory of their text.
#[tokio::test]
async fn forty_long_histories_at_once_cost_little_memory_and_delay_no_request() {
    const EVENTS: usize = 60;
    const MEMORY_MIB: u64 = 150;
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    bob.webhook("hook", "custom.x", &receiver.url("/bob")).await;
    let numbers = vec![0; 100_000];
    for _ in 0..EVENTS {
        ann.emit("large", json!({ "numbers": numbers })).await;
    }
    let before = peak_resident_mib(server.id());
    let mut reads = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let ann = ann.clone();
        reads.spawn(async move {
            let page = ann.get("/api/events?limit=1000").await.expect(200).json();
            (
                page["events"].as_array().unwrap().len(),
                page["next_cursor"].is_string(),
            )
        });
    }
    bob.emit("x", json!({})).await;
    receiver.wait_for("/bob", 1, SOON).await;
    let http = server.http();
    http.request("GET", "/readyz", &[], "").await.expect(200);
    let mut pages = Vec::new();
    while let Some(page) = reads.join_next().await {
        pages.push(page.unwrap());
    }
    for (events, has_more) in pages {
        assert!((1..EVENTS).contains(&events) && has_more, "{events}");
    }
    let grown = peak_resident_mib(server.id()).saturating_sub(before);
    assert!(grown < MEMORY_MIB, "{grown} MiB more");
}

#[tokio::test]
async fn a_histogram_counts_the_events_that_the_caller_sees() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    for n in 0..5 {
        ann.emit("order.shipped", json!({"n": n})).await;
    }
    ann.emit("invoice", json!({})).await;
    bob.emit("order.shipped", json!({})).await;
    let histogram = async |user: &TestUser, query: &str| -> Value {
        let path = format!("/api/events/histogram{query}");
        user.get(&path).await.expect(200).json()
    };
    let seen = histogram(&ann, "?type=custom.order.*").await;
    assert_eq!(seen["total"], 5);
    assert_eq!(seen["counted_since"], Value::Null);
    let counts = seen["counts"].as_array().unwrap();
    assert_eq!(counts.len(), 60);
    let sum: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, 5);
    assert_eq!(histogram(&ann, "").await["total"], 6);
    assert_eq!(histogram(&bob, "").await["total"], 1);
    let later = histogram(&ann, "?since=2100-01-01T00:00:00Z").await;
    assert_eq!(later["total"], 0);
    for query in ["?text=n", "?actor=ann", "?type=%2A%2A"] {
        let path = format!("/api/events/histogram{query}");
        ann.get(&path).await.expect(400);
    }
}
