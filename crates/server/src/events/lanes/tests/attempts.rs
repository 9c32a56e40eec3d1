//! Three attempts, then dead; pauses; resending (spec 6.5).

use std::{sync::atomic::Ordering, time::Duration};

use svc_core::ServerId;
use svc_protocol::api::DeliveryState;
use svc_store::{
    lanes::{self, DeliveryKind},
    sinks,
};
use uuid::Uuid;

use super::{AttemptDetail, AttemptResult, Fixture, Receiver, Reply, START, until};

#[tokio::test]
async fn attempts_are_5_and_15_seconds_apart_and_the_third_failure_is_dead() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    let first = fixture.emit("custom.first").await;
    until_due(&fixture, START + 5_000).await;
    fixture.advance(Duration::from_millis(4_999));
    fixture.emit("custom.second").await;
    // A later event does not change the back-off.
    until_due(&fixture, START + 5_000).await;
    assert_eq!(receiver.count(), 1);
    fixture.advance(Duration::from_millis(1));
    until_due(&fixture, START + 20_000).await;
    assert_eq!(receiver.count(), 2);
    fixture.advance(Duration::from_secs(15));
    // The first delivery is dead. The next one starts, and its first attempt fails.
    until_due(&fixture, START + 25_000).await;
    let attempts: Vec<_> = receiver.seen().iter().map(|j| (j.n, j.attempt)).collect();
    assert_eq!(attempts, [(1, 1), (1, 2), (1, 3), (2, 1)]);
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.state, DeliveryState::Dead);
    let times: Vec<_> = delivery.attempts.iter().map(|a| a.at.0 - START).collect();
    assert_eq!(times, [0, 5_000, 20_000]);
    assert_eq!(delivery.attempts[0].status, Some(500));
    assert_eq!(fixture.audited("event_sink.dead").await, 1);
    assert_eq!(fixture.hub.counters().dead.load(Ordering::Relaxed), 1);

    // A resent event goes to the tail of the queue, with a new count of attempts.
    receiver.set(Reply::Deliver);
    let now = fixture.now();
    let n = fixture
        .write(move |tx| lanes::enqueue(tx, lane, (first, "custom.first"), now))
        .await;
    assert_eq!(n, Some(3));
    fixture.advance(Duration::from_secs(5));
    fixture.until_empty(&[&sink]).await;
    let last = receiver.seen().pop().expect("delivered");
    assert_eq!((last.n, last.attempt, last.event.id), (3, 1, first));
    running.stop().await;
}

#[tokio::test]
async fn an_event_that_cannot_be_rendered_is_dead_at_once() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Die);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    fixture.until_empty(&[&sink]).await;
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.state, DeliveryState::Dead);
    assert_eq!(delivery.attempts.len(), 1);
    assert_eq!(fixture.audited("event_sink.dead").await, 1);
    running.stop().await;
}

#[tokio::test]
async fn a_pause_spends_no_attempt() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Pause);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    // More rounds than `STARTS_MAX`: a pause does not count as an attempt that a crash interrupted.
    for round in 1..=15 {
        until("another attempt began", || receiver.count() == round).await;
        until_due(&fixture, fixture.now().0 + 1_000).await;
        fixture.advance(Duration::from_secs(1));
    }
    receiver.set(Reply::Deliver);
    fixture.advance(Duration::from_secs(1));
    fixture.until_empty(&[&sink]).await;
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.state, DeliveryState::Delivered);
    assert_eq!(delivery.attempts.len(), 1);
    assert!(receiver.seen().iter().all(|job| job.attempt == 1));
    running.stop().await;
}

#[tokio::test]
async fn a_wake_up_ends_a_pause_but_not_a_back_off() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Pause);
    let mut policy = fixture.policy();
    policy.pause = Duration::from_secs(3_600);
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until_due(&fixture, START + 3_600_000).await;
    receiver.set(Reply::Fail);
    fixture.hub.wake_lane(lane);
    until_due(&fixture, START + 5_000).await;
    let seen = receiver.count();
    fixture.hub.wake_lane(lane);
    until_due(&fixture, START + 5_000).await;
    assert_eq!(receiver.count(), seen);
    receiver.set(Reply::Deliver);
    fixture.advance(Duration::from_secs(5));
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
}

/// The wake-up arrives while an attempt is in flight. Then the attempt pauses the lane.
#[tokio::test]
async fn a_lane_woken_while_held_continues_when_it_is_released() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "custom.x").await;
    let (other, _) = fixture.sink("o", "custom.o").await;
    let receiver = Receiver::new(Reply::PauseLater);
    let mut policy = fixture.policy();
    policy.pause = Duration::from_secs(3_600);
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until("the delivery is offered", || receiver.count() == 1).await;
    fixture.hub.wake_lane(lane);
    receiver.set(Reply::Deliver);
    // When this event is delivered, the engine has seen the wake-up.
    fixture.emit("custom.o").await;
    fixture.until_empty(&[&other]).await;
    receiver.let_go.send_replace(true);
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
}

#[tokio::test]
async fn a_wake_up_also_ends_the_pause_of_a_retry() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Fail);
    let mut policy = fixture.policy();
    policy.pause = Duration::from_secs(3_600);
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until_due(&fixture, START + 5_000).await;
    receiver.set(Reply::Pause);
    fixture.advance(Duration::from_secs(5));
    until_due(&fixture, START + 3_605_000).await;
    receiver.set(Reply::Deliver);
    fixture.hub.wake_attempt(lane, 1);
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
}

/// Waits until the only lane is released and due at this time.
async fn until_due(fixture: &Fixture, at: i64) {
    let deadline = std::time::Instant::now() + super::DEADLINE;
    loop {
        let (now, key) = (fixture.now(), sinks::owner_key(fixture.owner));
        let due = fixture
            .write(move |tx| {
                let claim = lanes::Claim {
                    kind: DeliveryKind::Webhook,
                    owner_key: &key,
                    limit: 1,
                };
                lanes::first_due(tx, ServerId(Uuid::nil()), &[claim], now)
            })
            .await[0];
        if due.is_some_and(|due| due.0 == at) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "due at {due:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn metrics_count_attempts_by_their_result() {
    let detail = AttemptDetail::default;
    for (result, outcome) in [
        (AttemptResult::Delivered(detail()), Some("delivered")),
        (AttemptResult::Failed(detail()), Some("failed")),
        (AttemptResult::Dead(detail()), Some("unrenderable")),
        (AttemptResult::Paused, None),
        (AttemptResult::Withheld("no".to_owned()), None),
    ] {
        assert_eq!(result.outcome(), outcome);
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_at_first_is_stored_later() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    until("the delivery is in flight", || receiver.count() == 1).await;
    fixture.execute("ALTER TABLE lanes RENAME TO away").await;
    receiver.let_go.send_replace(true);
    // Time to fail a few times. A failure has no effect that could be awaited.
    tokio::time::sleep(Duration::from_millis(300)).await;
    fixture.execute("ALTER TABLE away RENAME TO lanes").await;
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.count(), 1, "the delivery is not repeated");
    assert_eq!(fixture.deliveries(lane).await[0].attempts.len(), 1);
    running.stop().await;
}
