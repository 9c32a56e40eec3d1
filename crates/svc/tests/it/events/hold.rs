//! `overflow = "hold"`: no event is lost while a receiver is away, even with `kill -9` at any
//! moment. Also filters of sinks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use svc_testkit::{
    Reply, TestReceiver, TestServer, TestSink, TestUser, eventually, peak_resident_mib,
    resident_mib,
};

use super::crash::{first_arrivals, ids};

const CLIENTS: usize = 4;
/// Events for each round.
const PER_ROUND: usize = 800;

/// The number of rounds with `kill -9`. `SVC_HOLD_ROUNDS` sets another number, for a long run.
pub fn rounds() -> usize {
    let rounds = std::env::var("SVC_HOLD_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(4)
}

pub async fn holding_webhook(user: &TestUser, name: &str, patterns: &str, url: &str) -> TestSink {
    let delivery = json!({"overflow": "hold", "attempts": 50, "retry": {"waits": [1]}});
    user.sink(json!({
        "name": name, "patterns": patterns, "type": "webhook", "webhook": {"url": url},
        "delivery": delivery,
    }))
    .await
}

/// Emits one event, and repeats the emit with the same key until it is acknowledged.
async fn emit(user: &TestUser, key: &str, body: &Value) -> String {
    loop {
        if let Ok(answer) = user.emit_with_key(key, body).await
            && answer.status == 202
        {
            return answer.json()["event_id"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// One client: emits events in order until all clients together have emitted `total` events.
async fn run_client(
    user: TestUser,
    client: usize,
    next: Arc<AtomicUsize>,
    total: usize,
) -> Vec<String> {
    let mut sent = Vec::new();
    while next.fetch_add(1, Ordering::SeqCst) < total {
        let n = sent.len();
        let body =
            json!({"type": format!("hold.c{client}"), "payload": {"client": client, "n": n}});
        sent.push(emit(&user, &format!("hold-{client}-{n}"), &body).await);
    }
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_away_for_most_of_many_crashes_gets_every_event_in_order() {
    let (rounds, total) = (rounds(), rounds() * PER_ROUND);
    let mut server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.2, 0.2)
        .start()
        .await;
    let receiver = Arc::new(TestReceiver::start().await);
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let url = receiver.url("/hook");
    let sink = holding_webhook(&ann, "away", "custom.hold.*", &url).await;
    let next = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(run_client(ann.clone(), client, Arc::clone(&next), total)))
        .collect();
    for round in 0..rounds {
        // The receiver is away in three of four rounds: it answers no request.
        let is_away = round % 4 != 3;
        receiver.set(
            "/hook",
            if is_away {
                Reply::Hang
            } else {
                Reply::Status(200)
            },
        );
        let goal = ((round + 1) * total / rounds).saturating_sub(CLIENTS);
        eventually("events are emitted", 4 * crate::SOON, || async {
            next.load(Ordering::SeqCst) >= goal
        })
        .await;
        let moment = Duration::from_micros(getrandom::u64().unwrap() % 300_000);
        tokio::time::sleep(moment).await;
        server.kill9();
        server.start_again().await;
        println!(
            "round {round}: away {is_away}, {} requests so far",
            receiver.count("/hook")
        );
    }
    let mut expected = Vec::new();
    for client in clients {
        expected.push(client.await.unwrap());
    }
    // Many events may wait now. The server must not keep them in memory.
    let memory = resident_mib(server.id());
    let depth = sink.record().await["queue_depth"].as_u64().unwrap();
    assert!(depth <= 100, "{depth} events wait in the queue");
    receiver.set("/hook", Reply::Status(200));
    eventually("all events arrive", Duration::from_secs(300), || async {
        let record = sink.record().await;
        record["queue_depth"] == 0 && record["held"] == false
    })
    .await;
    let peak = peak_resident_mib(server.id());
    println!("{memory} MiB before the receiver came back, at most {peak} MiB");
    assert!(peak < memory + 100, "from {memory} to {peak} MiB");
    let arrived = first_arrivals(receiver.received("/hook"));
    let count: usize = expected.iter().map(Vec::len).sum();
    assert_eq!(count, total);
    assert_eq!(
        arrived.len(),
        total,
        "every acknowledged event, and no other"
    );
    assert_eq!(receiver.peak("/hook"), 1, "one request at a time");
    for (client, expected) in expected.iter().enumerate() {
        let of_client = |one: &&svc_testkit::Received| one.json()["data"]["client"] == client;
        let of_client: Vec<_> = arrived.iter().filter(of_client).cloned().collect();
        assert_eq!(
            &ids(&of_client),
            expected,
            "client {client} is out of order"
        );
    }
    let record = sink.record().await;
    assert_eq!(record["dropped"], 0);
    for lost in ["event_sink.dropped", "event_sink.lost", "event_sink.dead"] {
        assert_eq!(
            admin.audit_entries(lost).await,
            Vec::<Value>::new(),
            "{lost}"
        );
    }
}

#[tokio::test]
async fn a_disabled_sink_that_holds_gets_its_events_later_and_one_that_drops_gets_none() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let hold = holding_webhook(&ann, "hold", "*", &receiver.url("/hold")).await;
    let drop = ann.webhook("drop", "*", &receiver.url("/drop")).await;
    assert_eq!(hold.record().await["held"], false);
    for sink in [&hold, &drop] {
        sink.patch(json!({"active": false})).await;
    }
    let mut sent = Vec::new();
    for n in 0..130 {
        sent.push(ann.emit("x", json!({"n": n})).await);
    }
    assert_eq!(hold.record().await["held"], true);
    for sink in [&hold, &drop] {
        sink.patch(json!({"active": true})).await;
    }
    let received = receiver.wait_for("/hold", 130, crate::SOON).await;
    assert_eq!(ids(&received), sent);
    sent.push(ann.emit("x", json!({"n": 130})).await);
    let received = receiver.wait_for("/hold", 131, crate::SOON).await;
    assert_eq!(ids(&received), sent);
    let received = receiver.wait_for("/drop", 1, crate::SOON).await;
    assert_eq!(ids(&received), sent[130..]);
    assert_eq!(hold.record().await["held"], false);
}

#[tokio::test]
async fn a_filter_is_checked_when_stored_and_selects_the_events() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("ci", "*", &receiver.url("/hook")).await;
    for (filter, part) in [
        ("event.data.ok ==", "`==` cannot be read here"),
        ("evnt.data.ok == false", "`evnt` does not exist"),
        ("event.data.ok | shout", "`shout` does not exist"),
        ("event.data.a + event.data.b == 2", "operator `+`"),
    ] {
        let patch = json!({"delivery": {"filter": filter}});
        let refused = ann.patch(&sink.path(), patch).await.expect(400).json();
        assert_eq!(refused["code"], "invalid_expression", "{refused}");
        let message = refused["detail"].as_str().unwrap();
        assert!(message.contains(part), "{filter}: {message}");
    }
    let filter = "event.data.ok == false and event.data.build > 9007199254740993";
    sink.patch(json!({"delivery": {"filter": filter}})).await;
    ann.emit(
        "ci",
        json!({"ok": false, "build": 9_007_199_254_740_993_u64}),
    )
    .await;
    ann.emit(
        "ci",
        json!({"ok": true, "build": 9_007_199_254_740_994_u64}),
    )
    .await;
    let wanted = ann
        .emit(
            "ci",
            json!({"ok": false, "build": 9_007_199_254_740_994_u64}),
        )
        .await;
    ann.emit("other", json!({})).await;
    let received = receiver.wait_for("/hook", 1, crate::SOON).await;
    eventually("all events are filtered", crate::SOON, || async {
        sink.record().await["held"] == false
    })
    .await;
    assert_eq!(ids(&received), [wanted]);
    assert_eq!(receiver.count("/hook"), 1);
    assert_eq!(sink.record().await["filter_errors"], 0);
    // Without the filter, the sink gets every new event.
    sink.patch(json!({"delivery": {"filter": null}})).await;
    let next = ann.emit("ci", json!({})).await;
    let received = receiver.wait_for("/hook", 2, crate::SOON).await;
    assert_eq!(ids(&received)[1], next);
}
