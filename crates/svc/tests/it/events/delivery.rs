//! Delivery: order, attempts, crashes, misbehaving receivers (spec 6.5).

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{
    Received, Reply, TestReceiver, TestServer, TestServerBuilder, TestSink, get_eventually,
};

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

fn numbers(received: &[Received]) -> Vec<u64> {
    let number = |one: &Received| one.json()["data"]["n"].as_u64().unwrap();
    received.iter().map(number).collect()
}

#[tokio::test]
async fn s6_5_a_sink_gets_its_events_in_order_and_one_at_a_time() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/slow", Reply::After(Duration::from_millis(10), 204));
    let sink = ann
        .webhook("slow", "custom.n", &receiver.url("/slow"))
        .await;
    for n in 0..60 {
        ann.emit("n", json!({ "n": n })).await;
        ann.emit("other", json!({ "n": n })).await;
    }
    let received = receiver.wait_for("/slow", 60, 2 * SOON).await;
    assert_eq!(numbers(&received), (0..60).collect::<Vec<_>>());
    assert_eq!(receiver.peak("/slow"), 1);
    let delivered = sink.wait_for("delivered", 60, SOON).await;
    let n: Vec<_> = delivered
        .iter()
        .map(|one| one["n"].as_u64().unwrap())
        .collect();
    assert_eq!(n, (1..=60).collect::<Vec<_>>());
    for (delivery, one) in delivered.iter().zip(&received) {
        assert_eq!(delivery["event_id"], one.header("x-service-event-id"));
        assert_eq!(delivery["event_type"], "custom.n");
        let attempts = delivery["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), 1, "{delivery}");
        assert_eq!(attempts[0]["status"], 204);
        assert_eq!(attempts[0]["error"], Value::Null);
        assert!(attempts[0]["ms"].as_u64().unwrap() >= 10);
    }
    let record = sink.record().await;
    assert_eq!(
        (&record["queue_depth"], &record["dropped"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(record["last_delivery"]["n"], 60);
    assert_eq!(record["last_delivery"]["state"], "delivered");
}

#[tokio::test]
async fn s6_5_three_attempts_at_the_configured_times_then_dead_and_a_resend_delivers() {
    let server = open().retries(1.0, 4.0).start().await;
    let receiver = TestReceiver::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    receiver.set("/hook", Reply::Body(500, "out of tea".to_owned()));
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    let id = ann.emit("n", json!({"n": 1})).await;
    ann.emit("n", json!({"n": 2})).await;
    // The failed attempt is shown while the delivery is still pending.
    let pending = get_eventually("a failed attempt shows", SOON, || async {
        let first = sink.deliveries().await.remove(0);
        (!first["attempts"].as_array().unwrap().is_empty()).then_some(first)
    })
    .await;
    assert_eq!(pending["state"], "pending", "{pending}");
    assert_eq!(pending["attempts"][0]["status"], 500);
    assert_eq!(pending["attempts"][0]["output"], "out of tea");
    let received = receiver.wait_for("/hook", 3, SOON).await;
    assert_eq!(
        numbers(&received[..3]),
        [1, 1, 1],
        "nothing overtakes a retry"
    );
    let ids = received[..3].iter().map(|one| one.header("webhook-id"));
    assert_eq!(ids.collect::<Vec<_>>(), [&id; 3]);
    let waits = [
        received[1].began - received[0].began,
        received[2].began - received[1].began,
    ];
    let expected = [1.0, 4.0].map(Duration::from_secs_f64);
    for (wait, expected) in waits.iter().zip(expected) {
        assert!(
            *wait >= expected && *wait < expected + Duration::from_secs(10),
            "{waits:?}"
        );
    }
    let dead = sink.wait_for("dead", 1, SOON).await.remove(0);
    assert_eq!(dead["event_id"], id);
    assert_eq!(dead["attempts"].as_array().unwrap().len(), 3);
    receiver.set("/hook", Reply::Status(200));
    sink.wait_for("delivered", 1, SOON).await;
    let entries = admin.audit_entries("event_sink.dead").await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0]["target_id"], sink.id);
    // A resend queues the event again, at the end of the queue and with the same event id.
    let path = format!("{}/deliveries/{}/resend", sink.path(), dead["n"]);
    let answer = ann.post(&path, "{}").await;
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    let delivered = sink.wait_for("delivered", 2, SOON).await;
    assert_eq!(delivered[1]["event_id"], id);
    assert_eq!(delivered[1]["n"], 3);
    let last = receiver.received("/hook").pop().unwrap();
    assert_eq!(last.header("x-service-event-id"), id);
    assert_eq!(admin.audit_entries("event_sink.resent").await.len(), 1);
    ann.post(&format!("{}/deliveries/99/resend", sink.path()), "{}")
        .await
        .expect(404);
}

#[tokio::test]
async fn s6_5_s8_the_back_off_is_5_and_15_seconds_by_default() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/hook", Reply::Status(503));
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    ann.emit("n", json!({"n": 1})).await;
    let received = receiver.wait_for("/hook", 3, 3 * SOON).await;
    let first = (received[1].began - received[0].began).as_secs_f64();
    let second = (received[2].began - received[1].began).as_secs_f64();
    assert!((5.0..14.0).contains(&first), "{first}");
    assert!((15.0..30.0).contains(&second), "{second}");
    sink.wait_for("dead", 1, SOON).await;
}

#[tokio::test]
async fn s6_5_attempts_survive_a_crash_of_the_server() {
    let mut server = open().retries(0.2, 10.0).start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/hook", Reply::Status(500));
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    ann.emit("n", json!({"n": 1})).await;
    receiver.wait_for("/hook", 2, SOON).await;
    get_eventually("two failures are written", SOON, || async {
        let first = sink.deliveries().await.remove(0);
        (first["attempts"].as_array().unwrap().len() == 2).then_some(())
    })
    .await;
    server.kill9();
    server.start_again().await;
    let dead = sink.wait_for("dead", 1, 2 * SOON).await.remove(0);
    assert_eq!(dead["attempts"].as_array().unwrap().len(), 3, "{dead}");
    assert_eq!(receiver.count("/hook"), 3);
}

#[tokio::test]
async fn s6_5_a_misbehaving_receiver_costs_one_failed_attempt_and_delays_no_other_sink() {
    // The second attempt would come long after the end of the test.
    let server = open().retries(60.0, 60.0).start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let bad = [
        ("hang", Reply::Hang),
        ("drip", Reply::Drip(Duration::from_millis(100))),
        ("close", Reply::Close),
        ("cut", Reply::CloseInBody),
        ("huge", Reply::Huge(100 * 1024 * 1024)),
        ("moved", Reply::Redirect(receiver.url("/elsewhere"))),
    ];
    let mut sinks: Vec<(&str, TestSink)> = Vec::new();
    for (name, reply) in bad {
        let path = format!("/{name}");
        receiver.set(&path, reply);
        sinks.push((name, ann.webhook(name, "*", &receiver.url(&path)).await));
    }
    let well = ann.webhook("well", "*", &receiver.url("/well")).await;
    let memory = svc_testkit::peak_resident_mib(server.id());
    for n in 0..20 {
        ann.emit("n", json!({ "n": n })).await;
    }
    let delivered = well.wait_for("delivered", 20, SOON).await;
    let hung_until = get_eventually("the hanging attempt ends", SOON, || async {
        receiver.received("/hang").first()?.ended
    })
    .await;
    assert!(
        receiver.received("/well")[0].began < hung_until,
        "other sinks wait for the hanging receiver"
    );
    assert!(
        delivered
            .iter()
            .all(|one| one["attempts"].as_array().unwrap().len() == 1)
    );
    for (name, sink) in &sinks {
        let first = get_eventually(&format!("`{name}` fails"), 2 * SOON, || async {
            let first = sink.deliveries().await.remove(0);
            (!first["attempts"].as_array().unwrap().is_empty()).then_some(first)
        })
        .await;
        let attempts = first["attempts"].as_array().unwrap();
        assert_eq!(
            (&first["state"], attempts.len()),
            (&json!("pending"), 1),
            "{name}: {first}"
        );
        let error = attempts[0]["error"].as_str().unwrap_or_default();
        assert!(!error.is_empty(), "{name} says why: {first}");
        let output = attempts[0]["output"].as_str().unwrap_or_default();
        assert!(
            output.len() <= 16 * 1024,
            "{name}: {} bytes kept",
            output.len()
        );
        assert_eq!(receiver.count(&format!("/{name}")), 1);
        assert_eq!(sink.record().await["queue_depth"], 20);
    }
    assert_eq!(
        receiver.count("/elsewhere"),
        0,
        "redirects are never followed"
    );
    let grown = svc_testkit::peak_resident_mib(server.id()).saturating_sub(memory);
    assert!(
        grown < 50,
        "a huge answer made the server grow by {grown} MiB"
    );
    // After about 10 s, the server ended the request that hung.
    let (_, hung) = &sinks[0];
    let lasted = hung.deliveries().await[0]["attempts"][0]["ms"].as_u64();
    assert!((9_000..30_000).contains(&lasted.unwrap()), "{lasted:?}");
    get_eventually("the receiver sees the end", SOON, || async {
        receiver.received("/hang")[0].ended
    })
    .await;
}
