//! A wall clock that is moved by hours, and a machine that was suspended.

use serde_json::{Value, json};
use svc_core::Timestamp;
use svc_testkit::{Reply, TestSink, TestUser, eventually, fixture, get_eventually, result};

use super::{Faults, Field, HOOK, Stream};
use crate::SOON;

const HOUR: i64 = 60 * 60 * 1_000;

fn millis(time: &Value) -> i64 {
    let time: Timestamp = serde_json::from_value(time.clone()).unwrap();
    time.0
}

/// The time of the next attempt of the only pending delivery, in milliseconds.
async fn next_attempt(sink: &TestSink) -> i64 {
    get_eventually("a delivery waits for its next attempt", SOON, || async {
        let pending = sink.wait_for("pending", 1, SOON).await;
        let is_failed = pending[0]["attempts"].as_array()?.len() == 1;
        is_failed.then(|| millis(&pending[0]["next_attempt_at"]))
    })
    .await
}

/// Checks that calls, emits, logins and lists work.
async fn check_work(ann: &TestUser, stream: &mut Stream) {
    result(&ann.call("echo", json!([1])).await);
    ann.login().await;
    ann.get("/api/spaces").await.expect(200);
    stream.emit_all(5).await;
    stream.wait_for_all().await;
}

#[tokio::test]
async fn a_clock_that_is_set_by_hours_disturbs_no_call_and_no_delivery() {
    let Some(faults) = Faults::find() else { return };
    let mut server = faults.server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let mut stream = Stream::start(&ann).await;
    for hours in [0, 5, -7, 3, 0] {
        faults.set(Field::ClockMillis, hours * HOUR);
        check_work(&ann, &mut stream).await;
        let events = ann.list("/api/events", "events").await;
        let newest = millis(&events.first().unwrap()["event_ts"]);
        let expected = svc_clock::now().0 + hours * HOUR;
        assert!((newest - expected).abs() < HOUR / 2, "{hours}: {newest}");
    }
    // No event was delivered twice.
    assert_eq!(stream.hook.count(HOOK), stream.acknowledged.len());
    assert!(server.log().contains("the system clock was set"));
    assert_eq!(server.terminate().await.code(), Some(0));
}

#[tokio::test]
async fn a_retry_keeps_its_wait_when_the_clock_is_set_back() {
    let Some(faults) = Faults::find() else { return };
    let server = faults.server().retries(10.0, 10.0).start().await;
    let ann = server.user("ann").await;
    let hook = svc_testkit::TestReceiver::start().await;
    hook.set(HOOK, Reply::Status(500));
    let sink = ann.webhook("one", "custom.one", &hook.url(HOOK)).await;
    ann.emit("one", json!({})).await;
    next_attempt(&sink).await;
    hook.set(HOOK, Reply::Status(200));
    faults.set(Field::ClockMillis, -5 * HOUR);
    // A retry at the stored wall-clock time would come five hours later.
    sink.wait_for("delivered", 1, 2 * SOON).await;
    assert_eq!(hook.count(HOOK), 2);
}

#[tokio::test]
async fn a_retry_keeps_its_wait_when_the_clock_is_set_back_during_a_restart() {
    let Some(faults) = Faults::find() else { return };
    let mut server = faults.server().retries(10.0, 10.0).start().await;
    let ann = server.user("ann").await;
    let hook = svc_testkit::TestReceiver::start().await;
    hook.set(HOOK, Reply::Status(500));
    let sink = ann.webhook("one", "custom.one", &hook.url(HOOK)).await;
    ann.emit("one", json!({})).await;
    next_attempt(&sink).await;
    server.kill9();
    hook.set(HOOK, Reply::Status(200));
    faults.set(Field::ClockMillis, -5 * HOUR);
    server.start_again().await;
    hook.wait_for(HOOK, 2, 3 * SOON).await;
    sink.wait_for("delivered", 1, SOON).await;
}

#[tokio::test]
async fn a_retry_does_not_come_early_when_the_clock_is_set_forward() {
    let Some(faults) = Faults::find() else { return };
    let server = faults.server().start().await;
    let ann = server.user("ann").await;
    let hook = svc_testkit::TestReceiver::start().await;
    hook.set(HOOK, Reply::Status(500));
    let patient = ann.sink(json!({
        "name": "patient", "patterns": "custom.one", "type": "webhook",
        "webhook": {"url": hook.url(HOOK)}, "delivery": {"retry": {"waits": [3600]}},
    }));
    let sink = patient.await;
    ann.emit("one", json!({})).await;
    let before = next_attempt(&sink).await;
    faults.set(Field::ClockMillis, 5 * HOUR);
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(5).await;
    stream.wait_for_all().await;
    eventually("the wait was moved", SOON, || async {
        let moved = next_attempt(&sink).await - before;
        (moved - 5 * HOUR).abs() < 60_000
    })
    .await;
    assert_eq!(hook.count(HOOK), 1, "the retry came early");
}

#[tokio::test]
async fn a_suspended_machine_continues_where_it_stopped() {
    let Some(faults) = Faults::find() else { return };
    let server = faults.server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(5).await;
    stream.wait_for_all().await;
    // The machine is suspended with a delivery in flight. Its clock then shows 70 s more, which is
    // longer than two leases or two grace periods (30 s each).
    stream.hook.set(HOOK, Reply::Hang);
    stream.emit_all(3).await;
    stream.hook.wait_for(HOOK, 6, SOON).await;
    server.freeze();
    faults.set(Field::ClockMillis, 70_000);
    stream.hook.set(HOOK, Reply::Status(200));
    server.thaw();
    stream.wait_for_all().await;
    check_work(&ann, &mut stream).await;
    assert_eq!(agent.status().await["linked"], true);
    stream.sink.wait_for("delivered", 13, 2 * SOON).await;
}
