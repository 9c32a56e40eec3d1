//! Recovery: past events are sent again, even more events than the queue can hold. They are queued
//! as the queue drains. Also backtests of changed sinks.

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestSink, eventually};

use super::crash::ids;
use crate::SOON;

async fn start() -> TestServer {
    TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.05, 0.05)
        .start()
        .await
}

async fn post(sink: &TestSink, action: &str, body: Value) -> Value {
    let path = format!("{}/{action}", sink.path());
    sink.owner.post(&path, body).await.expect(200).json()
}

#[tokio::test]
async fn all_dead_deliveries_are_sent_again_and_refer_to_the_new_deliveries() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    let mut sent = Vec::new();
    receiver.set("/hook", Reply::Status(500));
    for n in 0..60 {
        sent.push(ann.emit("x", json!({ "n": n })).await);
    }
    sink.wait_for("dead", 60, 6 * SOON).await;
    receiver.set("/hook", Reply::Status(200));
    let selected = post(
        &sink,
        "resend",
        json!({"deliveries": [2, 1, 99], "dry_run": true}),
    )
    .await;
    assert_eq!(selected, json!({"feeding": 2, "skipped": [99]}));
    let since = json!({"dead_since": "2020-01-01T00:00:00Z"});
    let counted = post(
        &sink,
        "resend",
        json!({"dead_since": "2020-01-01T00:00:00Z", "dry_run": true}),
    );
    assert_eq!(counted.await, json!({"feeding": 60, "skipped": []}));
    assert_eq!(post(&sink, "resend", since.clone()).await["feeding"], 60);
    let delivered = sink.wait_for("delivered", 60, 2 * SOON).await;
    let again: Vec<_> = delivered
        .iter()
        .map(|one| one["event_id"].as_str().unwrap())
        .collect();
    assert_eq!(again, sent, "in the order of the deliveries");
    let all = sink.deliveries().await;
    for (past, new) in all[..60].iter().zip(&all[60..]) {
        assert_eq!(
            (&past["resent_as"], &new["resend_of"]),
            (&new["n"], &past["n"])
        );
    }
    // All of them were sent again, so nothing is left to resend.
    assert_eq!(post(&sink, "resend", since).await["feeding"], 0);
    eventually("the resend has ended", SOON, || async {
        sink.record().await["feeds"] == 0
    })
    .await;
}

#[tokio::test]
async fn a_replay_of_undelivered_events_feeds_more_than_the_queue_holds() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let first = ann
        .webhook("hook", "custom.x", &receiver.url("/hook"))
        .await;
    let mut sent = vec![ann.emit("x", json!({})).await];
    first.wait_for("delivered", 1, SOON).await;
    first.patch(json!({"active": false})).await;
    for n in 0..250 {
        sent.push(ann.emit("x", json!({ "n": n })).await);
    }
    ann.emit("other", json!({})).await;
    first.patch(json!({"active": true})).await;
    let only = json!({"only": "undelivered", "dry_run": true});
    assert_eq!(post(&first, "replay", only).await["matching"], 250);
    let fed = post(&first, "replay", json!({"only": "undelivered"})).await;
    assert_eq!(fed, json!({"queued": 0, "dropped": 0, "feeding": 250}));
    let received = receiver.wait_for("/hook", 251, 6 * SOON).await;
    assert_eq!(ids(&received), sent);
    first.wait_for("delivered", 251, SOON).await;
    let only = json!({"only": "undelivered", "dry_run": true});
    assert_eq!(post(&first, "replay", only).await["matching"], 0);
    assert_eq!(receiver.count("/hook"), 251, "each event once");
}

/// The lane of a disabled sink that holds events has checked no event, so none counts as
/// undelivered. The replay reads the history in windows of 500 events, on the threads for lists.
#[tokio::test]
async fn a_replay_without_a_match_reads_the_whole_history_and_counts_as_a_test() {
    let server = start().await;
    let ann = server.user("ann").await;
    let held = ann.sink(json!({
        "name": "held", "patterns": "*", "type": "webhook", "active": false,
        "delivery": {"overflow": "hold"}, "webhook": {"url": "http://127.0.0.1:9/x"},
    }));
    let held = held.await;
    for n in 0..1_100 {
        ann.emit("x", json!({ "n": n })).await;
    }
    let path = format!("{}/replay", held.path());
    let only = json!({"only": "undelivered", "dry_run": true, "since": "2020-01-01T00:00:00Z"});
    let none = json!({"queued": 0, "dropped": 0, "matching": 0});
    assert_eq!(post(&held, "replay", only.clone()).await, none);
    let all = json!({"dry_run": true, "since": "2020-01-01T00:00:00Z"});
    assert_eq!(post(&held, "replay", all).await["matching"], 1_100);
    for _ in 2..10 {
        ann.post(&path, only.clone()).await.expect(200);
    }
    let over = ann.post(&path, only).await;
    over.expect(429);
    ann.get("/api/spaces").await.expect(200);
}

#[tokio::test]
async fn dropped_events_count_as_lost_until_a_replay_covers_them() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/hook", Reply::Hang);
    let sink = ann
        .webhook("hook", "custom.x", &receiver.url("/hook"))
        .await;
    assert_eq!(sink.record().await.get("lost"), None);
    for n in 0..103 {
        ann.emit("x", json!({ "n": n })).await;
    }
    assert_eq!(sink.record().await["lost"], 3);
    let only = json!({"only": "undelivered", "dry_run": true});
    assert_eq!(post(&sink, "replay", only).await["matching"], 3);
    assert_eq!(sink.record().await["lost"], 3, "a dry run changes nothing");
    let late = json!({"only": "undelivered", "since": svc_clock::now()});
    assert_eq!(post(&sink, "replay", late).await.get("feeding"), None);
    assert_eq!(sink.record().await["lost"], 3, "the replay covers no event");
    let fed = post(&sink, "replay", json!({"only": "undelivered"})).await;
    assert_eq!(fed["feeding"], 3);
    let record = sink.record().await;
    assert_eq!((record.get("lost"), &record["dropped"]), (None, &json!(3)));
}

#[tokio::test]
async fn a_feed_leaves_half_of_the_queue_to_new_events() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    for n in 0..120 {
        ann.emit("x", json!({ "n": n })).await;
    }
    receiver.set("/hook", Reply::Hang);
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    let fed = post(&sink, "replay", json!({"feed": true})).await;
    assert_eq!(fed["feeding"], 120);
    eventually("half of the queue is filled", SOON, || async {
        sink.record().await["queue_depth"] == 50
    })
    .await;
    for _ in 0..50 {
        ann.emit("new", json!({})).await;
    }
    let record = sink.record().await;
    assert_eq!(
        (&record["queue_depth"], &record["dropped"]),
        (&json!(100), &json!(0))
    );
    assert_eq!(record["feeds"], 1);
}

#[tokio::test]
async fn a_kill_during_a_feed_neither_loses_nor_repeats_an_event() {
    let mut server = start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let mut sent = Vec::new();
    for n in 0..300 {
        sent.push(ann.emit("x", json!({ "n": n })).await);
    }
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    post(&sink, "replay", json!({"feed": true})).await;
    for round in 1..5 {
        receiver.wait_for("/hook", round * 40, 2 * SOON).await;
        server.kill9();
        server.start_again().await;
    }
    eventually("all events are delivered", 6 * SOON, || async {
        let record = sink.record().await;
        record["feeds"] == 0 && record["queue_depth"] == 0
    })
    .await;
    let deliveries = sink.deliveries().await;
    let queued: Vec<_> = deliveries
        .iter()
        .map(|one| one["event_id"].as_str().unwrap())
        .collect();
    assert_eq!(queued, sent, "each event was queued once, in order");
}

#[tokio::test]
async fn a_backtest_compares_a_changed_sink_with_history_and_sends_nothing() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann
        .webhook("hook", "custom.ci", &receiver.url("/hook"))
        .await;
    for n in 0..5 {
        ann.emit("ci", json!({"ok": n % 2 == 0, "n": n})).await;
    }
    receiver.wait_for("/hook", 5, SOON).await;
    let template = r#"{"n": ${{ event.data.n }}}"#;
    let change = json!({"filter": "event.data.ok == false", "body_template": template});
    let found = post(&sink, "backtest", change).await;
    assert_eq!(found["events"], 5);
    assert_eq!(
        (&found["removed"], &found["changed"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(found["after"], json!({"matching": 2, "failures": 0}));
    let differences = found["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 5);
    assert!(
        differences.iter().any(|one| one["after"] == r#"{"n": 1}"#),
        "{found}"
    );
    let script = json!({"script": {"script_id": null, "source": "print(1)"}});
    let path = format!("{}/backtest", sink.path());
    let refused = ann.post(&path, script).await.expect(400).json();
    let message = refused["detail"].as_str().unwrap();
    assert!(message.contains("effects"), "{message}");
    assert_eq!(receiver.count("/hook"), 5);
}
