//! A lane as a queue: its capacity, pausing, deleting, and sending past events again (spec 6.5).

use serde_json::json;
use svc_testkit::{Received, Reply, TestReceiver, TestServer, TestServerBuilder, eventually};

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

fn numbers(received: &[Received]) -> Vec<u64> {
    let number = |one: &Received| one.json()["data"]["n"].as_u64().unwrap();
    received.iter().map(number).collect()
}

async fn metric(server: &TestServer, name: &str) -> Option<f64> {
    let answer = server.http().request("GET", "/metrics", &[], "").await;
    let text = answer.expect(200).text();
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value?.trim().parse().ok()
}

#[tokio::test]
async fn s6_5_s7_s8_a_full_queue_holds_exactly_100_events_and_every_drop_is_logged_and_audited() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    receiver.set("/stuck", Reply::Hang);
    let stuck = ann.webhook("stuck", "*", &receiver.url("/stuck")).await;
    let well = ann.webhook("well", "*", &receiver.url("/well")).await;
    let mut ids = Vec::new();
    for n in 0..150 {
        ids.push(ann.emit("n", json!({ "n": n })).await);
    }
    let record = stuck.record().await;
    assert_eq!(
        (&record["queue_depth"], &record["dropped"]),
        (&json!(100), &json!(50))
    );
    let entries = admin.audit_entries("event_sink.dropped").await;
    assert_eq!(entries.len(), 50);
    let mut dropped: Vec<_> = entries
        .iter()
        .map(|entry| entry["detail"]["event_id"].as_str().unwrap())
        .collect();
    dropped.sort_unstable();
    let mut expected: Vec<_> = ids[100..].iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(dropped, expected);
    assert!(entries.iter().all(|entry| entry["target_id"] == stuck.id));
    assert!(entries.iter().all(|entry| entry["actor"] == "system"));
    assert_eq!(metric(&server, "svc_event_drops_total").await, Some(50.0));
    // Another sink gets every event.
    receiver.wait_for("/well", 150, SOON).await;
    assert_eq!(well.record().await["dropped"], 0);
    // When the receiver of the stuck sink answers again, it gets the 100 queued events in order.
    receiver.set("/stuck", Reply::Status(200));
    let received = receiver.wait_for("/stuck", 100, 2 * SOON).await;
    eventually("the queue is empty", SOON, || async {
        stuck.record().await["queue_depth"] == 0
    })
    .await;
    let received_last = receiver.received("/stuck");
    assert_eq!(received.len(), received_last.len());
    assert_eq!(numbers(&received_last), (0..100).collect::<Vec<_>>());
    assert_eq!(receiver.peak("/stuck"), 1);
}

#[tokio::test]
async fn the_log_lines_that_a_user_causes_are_limited() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/stuck", Reply::Hang);
    for n in 0..4 {
        let name = format!("stuck{n}");
        ann.webhook(&name, "*", &receiver.url("/stuck")).await;
    }
    let is_limited = || {
        let log = server.log();
        log.contains("are left out for up to a minute: the limit is 300 lines a minute")
    };
    // Each event beyond the first hundred is dropped four times.
    for n in 0..2_000 {
        if is_limited() {
            return;
        }
        ann.emit("n", json!({ "n": n })).await;
    }
    panic!("a user can cause any number of lines");
}

#[tokio::test]
async fn s6_5_an_inactive_sink_pauses_and_matches_no_new_event() {
    let server = open().retries(0.2, 0.2).start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/hook", Reply::Hang);
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    for n in 0..3 {
        ann.emit("n", json!({ "n": n })).await;
    }
    receiver.wait_for("/hook", 1, SOON).await;
    assert_eq!(sink.patch(json!({"active": false})).await["active"], false);
    ann.emit("n", json!({"n": 99})).await;
    receiver.set("/hook", Reply::Status(200));
    sink.wait_for("delivered", 1, SOON).await;
    assert_eq!(sink.record().await["queue_depth"], 2, "queued events stay");
    // A change of the sink applies to queued events too.
    sink.patch(json!({"active": true, "webhook": {"url": receiver.url("/new")}}))
        .await;
    let received = receiver.wait_for("/new", 2, SOON).await;
    assert_eq!(numbers(&received), [1, 2]);
    assert_eq!(receiver.count("/hook"), 1);
}

#[tokio::test]
async fn s6_5_deleting_a_sink_drops_its_queue_and_audits_the_number_of_events() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    receiver.set("/hook", Reply::Hang);
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    for n in 0..3 {
        ann.emit("n", json!({ "n": n })).await;
    }
    receiver.wait_for("/hook", 1, SOON).await;
    ann.delete(&sink.path()).await.expect(204);
    ann.get(&sink.path()).await.expect(404);
    let entries = admin.audit_entries("event_sink.deleted").await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["detail"]["queued"], 3, "{}", entries[0]);
    receiver.set("/hook", Reply::Status(200));
    // A new sink may have the name of the deleted sink. The new sink gets no event of the old
    // queue.
    let again = ann.webhook("hook", "*", &receiver.url("/again")).await;
    ann.emit("n", json!({"n": 7})).await;
    again.wait_for("delivered", 1, SOON).await;
    assert_eq!(numbers(&receiver.received("/again")), [7]);
    assert_eq!(receiver.count("/hook"), 1);
}

#[tokio::test]
async fn s6_5_replay_requeues_past_events_up_to_the_free_capacity() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    bob.emit("n", json!({"n": 1_000})).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(ann.emit("n", json!({ "n": n })).await);
        ann.emit("other", json!({})).await;
    }
    let sink = ann
        .webhook("late", "custom.n", &receiver.url("/late"))
        .await;
    let path = format!("{}/replay", sink.path());
    let answer = ann.post(&path, "{}").await;
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    assert_eq!(answer.json(), json!({"queued": 5, "dropped": 0}));
    let received = receiver.wait_for("/late", 5, SOON).await;
    assert_eq!(numbers(&received), [0, 1, 2, 3, 4]);
    let got: Vec<_> = received
        .iter()
        .map(|one| one.header("webhook-id"))
        .collect();
    assert_eq!(got, ids);
    assert_eq!(admin.audit_entries("event_sink.replayed").await.len(), 1);
    // When the queue is full, a replay queues no event, and a resend is refused.
    sink.wait_for("delivered", 5, SOON).await;
    receiver.set("/late", Reply::Hang);
    for n in 5..110 {
        ann.emit("n", json!({ "n": n })).await;
    }
    assert_eq!(sink.record().await["queue_depth"], 100);
    let replayed = ann.post(&path, "{}").await.json();
    assert_eq!(replayed["queued"], 0, "{replayed}");
    let resend = format!("{}/deliveries/1/resend", sink.path());
    assert_eq!(
        ann.post(&resend, "{}").await.expect(409).code(),
        "queue_full"
    );
}
