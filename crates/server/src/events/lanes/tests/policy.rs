//! Delivery policies of sinks: retries, pauses, rates, and events about sinks.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use svc_core::delivery_policy::{DeliveryPolicy, OnExhausted, Ordering, Retry};
use svc_protocol::api::DeliveryState;
use svc_store::{
    records,
    sinks::{self, SinkRow},
};
use tokio::time::sleep;

use super::{Fixture, LanePolicy, Receiver, Reply, START, eventually, until};
use svc_core::LaneId;

impl Fixture {
    async fn sink_with(
        &self,
        name: &str,
        patterns: &str,
        policy: DeliveryPolicy,
    ) -> (SinkRow, LaneId) {
        let mut row = self.sink_row(&sinks::owner_key(self.owner), name, patterns);
        row.policy = policy;
        self.add(row).await
    }

    async fn stored(&self, sink: &SinkRow) -> SinkRow {
        let id = sink.id;
        self.write(move |tx| records::get::<SinkRow>(tx, id)).await
    }

    /// Waits until the first delivery of a lane has this many attempts.
    async fn until_attempts(&self, lane: LaneId, count: usize) {
        eventually("the attempts are made", async || {
            self.deliveries(lane).await[0].attempts.len() >= count
        })
        .await;
    }
}

#[tokio::test]
async fn a_policy_sets_the_number_of_attempts_and_their_waits() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        attempts: 12,
        retry: Some(Retry::Waits(vec![1, 3_600])),
        ..DeliveryPolicy::default()
    };
    let (sink, lane) = fixture.sink_with("s", "*", policy).await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    for attempt in 1..=12 {
        fixture.until_attempts(lane, attempt).await;
        fixture.advance(Duration::from_secs(if attempt == 1 { 1 } else { 3_600 }));
    }
    fixture.until_empty(&[&sink]).await;
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.state, DeliveryState::Dead);
    let times: Vec<_> = delivery
        .attempts
        .iter()
        .map(|one| one.at.0 - START)
        .collect();
    assert_eq!(times[..3], [0, 1_000, 3_601_000]);
    assert_eq!(times.len(), 12);
    running.stop().await;
}

#[tokio::test]
async fn an_exhausted_delivery_pauses_its_sink_and_stays_at_the_head() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        attempts: 1,
        on_exhausted: OnExhausted::Pause,
        ..DeliveryPolicy::default()
    };
    let (sink, lane) = fixture.sink_with("s", "*", policy).await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit_many(3).await;
    fixture.until_attempts(lane, 1).await;
    let mut paused = fixture.stored(&sink).await;
    assert!(!paused.active);
    let reason = paused.paused.as_ref().map(|pause| pause.reason.as_str());
    assert!(
        reason.is_some_and(|why| why.contains("the only attempt")),
        "{reason:?}"
    );
    assert_eq!(fixture.audited("event_sink.paused").await, 1);
    assert_eq!((fixture.depth(&sink).await, receiver.count()), (3, 1));

    // After the sink is enabled again, the same delivery is the first.
    receiver.set(Reply::Deliver);
    (paused.active, paused.paused) = (true, None);
    fixture.write(move |tx| sinks::update(tx, &paused)).await;
    fixture.hub.sinks_changed();
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.numbers(lane), [1, 1, 2, 3]);
    let first = fixture.deliveries(lane).await.remove(0);
    assert_eq!(
        (first.state, first.attempts.len()),
        (DeliveryState::Delivered, 2)
    );
    running.stop().await;
}

#[tokio::test]
async fn after_a_pause_a_delivery_gets_all_its_attempts_again() {
    for ordering in [Ordering::Strict, Ordering::Key] {
        let fixture = Fixture::new();
        let policy = DeliveryPolicy {
            attempts: 2,
            retry: Some(Retry::Waits(vec![1])),
            on_exhausted: OnExhausted::Pause,
            key: (ordering == Ordering::Key).then(|| "event.type".to_owned()),
            ordering,
            ..DeliveryPolicy::default()
        };
        let (sink, lane) = fixture.sink_with("s", "*", policy).await;
        let receiver = Receiver::new(Reply::Fail);
        let running = fixture.start(&receiver);
        fixture.emit("custom.x").await;
        for attempts in [1, 3] {
            fixture.until_attempts(lane, attempts).await;
            let mut stored = fixture.stored(&sink).await;
            assert!(stored.active, "{ordering:?}: paused after {attempts}");
            fixture.advance(Duration::from_secs(1));
            fixture.until_attempts(lane, attempts + 1).await;
            stored.paused = fixture.stored(&sink).await.paused;
            assert!(stored.paused.is_some(), "{ordering:?}: not paused");
            stored.paused = None;
            fixture.write(move |tx| sinks::update(tx, &stored)).await;
            fixture.hub.sinks_changed();
        }
        running.stop().await;
    }
}

#[tokio::test]
async fn a_rate_spreads_deliveries_and_attempts() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        rate_per_minute: Some(120),
        ..DeliveryPolicy::default()
    };
    let (sink, lane) = fixture.sink_with("s", "*", policy).await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    fixture.emit_many(10).await;
    // 120 per minute: one delivery is due now, and a burst of one second allows two more.
    until("the burst is sent", || receiver.count() == 3).await;
    eventually("the results are recorded", async || {
        fixture.depth(&sink).await == 7
    })
    .await;
    fixture.expect_no_writes().await;
    for expected in 4..=10 {
        sleep(Duration::from_millis(20)).await;
        assert_eq!(receiver.count(), expected - 1);
        fixture.advance(Duration::from_millis(500));
        until("one more is sent", || receiver.count() == expected).await;
    }
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.numbers(lane), (1..=10).collect::<Vec<_>>());
    running.stop().await;
}

#[tokio::test]
async fn a_delivery_that_the_rate_delays_is_sent_without_a_scan() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        rate_per_minute: Some(120),
        ..DeliveryPolicy::default()
    };
    let (sink, _) = fixture.sink_with("s", "*", policy).await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start_with(
        &receiver,
        LanePolicy {
            poll: Duration::from_secs(3_600),
            ..fixture.policy()
        },
    );
    fixture.emit_many(3).await;
    fixture.until_empty(&[&sink]).await;
    let commits = fixture.store.stats().commits;
    fixture.emit("custom.x").await;
    until("the emit and the claim are written", || {
        fixture.store.stats().commits >= commits + 2
    })
    .await;
    assert_eq!(receiver.count(), 3);
    // Nothing wakes the engine, and it never scans: only its timer is left.
    fixture.now.fetch_add(500, SeqCst);
    until("one more is sent", || receiver.count() == 4).await;
    running.stop().await;
}

#[tokio::test]
async fn changes_of_a_sinks_state_are_events_for_other_sinks() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        attempts: 5,
        notify: true,
        failing_after_failures: 2,
        retry: Some(Retry::Waits(vec![1])),
        ..DeliveryPolicy::default()
    };
    let (sink, lane) = fixture.sink_with("broken", "*", policy).await;
    let (_, other) = fixture.sink("watch", "sink.*").await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    for attempt in 1..=3 {
        fixture.until_attempts(lane, attempt).await;
        assert_eq!(
            fixture.deliveries(other).await.len(),
            usize::from(attempt >= 2)
        );
        fixture.advance(Duration::from_secs(1));
    }
    receiver.set(Reply::Deliver);
    fixture.advance(Duration::from_secs(15));
    fixture.until_empty(&[&sink]).await;
    let reported: Vec<_> = fixture.deliveries(other).await;
    let types: Vec<_> = reported.iter().map(|one| one.event_type.as_str()).collect();
    assert_eq!(types, ["sink.failing", "sink.recovered"]);
    // The patterns of the sink match every event, but it gets no events about itself.
    assert_eq!(fixture.deliveries(lane).await.len(), 1);
    running.stop().await;
}

#[tokio::test]
async fn failed_deliveries_of_events_about_sinks_raise_no_further_events() {
    let fixture = Fixture::new();
    let policy = || DeliveryPolicy {
        attempts: 1,
        notify: true,
        failing_after_failures: 1,
        ..DeliveryPolicy::default()
    };
    let (first, _) = fixture
        .sink_with("first", "custom.*, sink.*", policy())
        .await;
    let (second, lane) = fixture.sink_with("second", "sink.*", policy()).await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    until("the report has failed too", || receiver.count() == 2).await;
    fixture.until_empty(&[&first, &second]).await;
    assert_eq!(fixture.deliveries(lane).await.len(), 1);
    assert_eq!(receiver.count(), 2);
    running.stop().await;
}

#[tokio::test]
async fn a_sink_that_fails_for_too_long_is_paused() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        attempts: 50,
        retry: Some(Retry::Waits(vec![60])),
        pause_after_minutes: Some(3),
        ..DeliveryPolicy::default()
    };
    let (sink, lane) = fixture.sink_with("s", "*", policy).await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    for attempt in 1..=4 {
        assert!(fixture.stored(&sink).await.active);
        fixture.until_attempts(lane, attempt).await;
        fixture.advance(Duration::from_secs(60));
    }
    let paused = fixture.stored(&sink).await.paused.expect("paused");
    assert!(paused.reason.contains("3 minutes"), "{}", paused.reason);
    assert_eq!((fixture.depth(&sink).await, receiver.count()), (1, 4));
    running.stop().await;
}
