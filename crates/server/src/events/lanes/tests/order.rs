//! Strict order, one delivery at a time, no work for idle lanes.

use std::{sync::atomic::Ordering, time::Duration};

use svc_core::LaneId;
use svc_store::sinks;
use uuid::Uuid;

use super::{DEADLINE, Fixture, Receiver, Reply, until};

#[tokio::test]
async fn every_lane_delivers_in_order_and_one_at_a_time() {
    let fixture = Fixture::new();
    let mut all = Vec::new();
    for n in 0..8 {
        all.push(fixture.sink(&format!("s{n}"), "*").await);
    }
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    // Emits single events and batches while the engine delivers.
    for _ in 0..10 {
        fixture.emit("custom.x").await;
        fixture.emit_many(5).await;
    }
    let sinks: Vec<_> = all.iter().map(|(sink, _)| sink).collect();
    fixture.until_empty(&sinks).await;
    for (_, lane) in &all {
        assert_eq!(receiver.numbers(*lane), (1..=60).collect::<Vec<_>>());
    }
    assert_eq!(*receiver.most_in_flight.lock(), 1);
    let counters = fixture.hub.counters();
    assert_eq!(counters.emitted.load(Ordering::Relaxed), 60);
    assert_eq!(receiver.count(), 480);
    running.stop().await;
}

#[tokio::test]
async fn more_lanes_than_slots_share_the_slots() {
    let fixture = Fixture::new();
    let mut all = Vec::new();
    for n in 0..10 {
        all.push(fixture.sink(&format!("s{n}"), "*").await.0);
    }
    let receiver = Receiver::new(Reply::Deliver);
    let mut policy = fixture.policy();
    policy.slots.webhook = 2;
    let running = fixture.start_with(&receiver, policy);
    fixture.emit_many(20).await;
    fixture.until_empty(&all.iter().collect::<Vec<_>>()).await;
    assert_eq!(receiver.count(), 200);
    running.stop().await;
}

#[tokio::test]
async fn a_slow_sink_delays_no_other_sink() {
    let fixture = Fixture::new();
    let (slow, slow_lane) = fixture.sink("slow", "custom.slow").await;
    let (fast, _) = fixture.sink("fast", "custom.fast").await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    fixture.emit("custom.slow").await;
    until("attempt hangs", || receiver.numbers(slow_lane).len() == 1).await;
    receiver.set(Reply::Deliver);
    fixture.emit("custom.fast").await;
    fixture.until_empty(&[&fast]).await;
    assert_eq!(fixture.depth(&slow).await, 1);
    receiver.let_go.send_replace(true);
    running.stop().await;
}

#[tokio::test]
async fn ten_thousand_idle_sinks_cost_no_write() {
    let fixture = Fixture::new();
    let rows: Vec<_> = (0..10_000)
        .map(|n| {
            let key = sinks::owner_key(svc_core::UserId(Uuid::from_u128(n)));
            fixture.sink_row(&key, "s", "*")
        })
        .collect();
    fixture
        .write(move |tx| rows.iter().try_for_each(|row| sinks::insert(tx, row)))
        .await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    // The engine's first write releases the lanes of an earlier run.
    let before = fixture.store.stats().commits;
    until("engine started", || fixture.store.stats().commits > before).await;
    fixture.expect_no_writes().await;
    running.stop().await;
}

#[tokio::test]
async fn the_scan_finds_due_lanes_without_a_wake_up() {
    let fixture = Fixture::new();
    let (sink, _) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    let event = fixture.event(fixture.owner, "custom.x");
    fixture
        .write(move |tx| crate::events::dispatch::emit_in(tx, &event))
        .await;
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
}

/// The delivery that was in flight during the crash is repeated before the deliveries behind it.
#[tokio::test]
async fn a_crash_between_begin_and_finish_loses_nothing_and_keeps_order() {
    let mut fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    fixture.emit_many(2).await;
    fixture.until_empty(&[&sink]).await;
    receiver.set(Reply::Hang);
    fixture.emit_many(3).await;
    until("the third is in flight", || receiver.count() == 3).await;
    running.kill().await;
    fixture.reopen().await;
    receiver.set(Reply::Deliver);
    // The lease of the killed server has not ended, because the clock stands still.
    let running = fixture.start(&receiver);
    until("delivery resumes", || receiver.count() > 3).await;
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.numbers(lane), [1, 2, 3, 3, 4, 5]);
    let attempts: Vec<_> = fixture
        .deliveries(lane)
        .await
        .iter()
        .map(|delivery| delivery.attempts.len())
        .collect();
    assert_eq!(attempts, [1; 5]);
    running.stop().await;
}

#[tokio::test]
async fn shutdown_waits_for_the_delivery_in_flight() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    fixture.emit_many(2).await;
    until("one is in flight", || receiver.count() == 1).await;
    running.shutdown.cancel();
    receiver.let_go.send_replace(true);
    tokio::time::timeout(DEADLINE, running.task)
        .await
        .expect("in time")
        .expect("no panic");
    // The second delivery was not begun, and the lane was released.
    assert_eq!(receiver.numbers(lane), [1]);
    assert_eq!(fixture.depth(&sink).await, 1);
    assert!(is_free(&fixture, lane).await);
}

#[tokio::test]
async fn a_delivery_cut_off_by_shutdown_spends_no_attempt() {
    let fixture = Fixture::new();
    let (_, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Hang);
    let mut policy = fixture.policy();
    policy.drain = Duration::from_millis(20);
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until("the delivery is in flight", || receiver.count() == 1).await;
    running.stop().await;
    assert!(is_free(&fixture, lane).await);
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.attempts, []);
    receiver.set(Reply::Deliver);
    let running = fixture.start(&receiver);
    until("the delivery is repeated", || receiver.count() == 2).await;
    assert_eq!(receiver.seen()[1].attempt, 1);
    running.stop().await;
}

async fn is_free(fixture: &Fixture, lane: LaneId) -> bool {
    let claimed = fixture.claim(fixture.now()).await;
    claimed.iter().any(|held| held.lane == lane)
}
