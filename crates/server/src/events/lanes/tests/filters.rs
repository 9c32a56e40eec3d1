//! Lanes of sinks with a filter.

use std::time::Duration;

use svc_core::{
    delivery_policy::{DeliveryPolicy, Overflow},
    lane::QUEUE_CAPACITY,
};
use svc_store::sinks;

use super::{Fixture, Receiver, Reply, eventually, refill::arrived};

pub(super) fn filtering(filter: &str) -> DeliveryPolicy {
    DeliveryPolicy {
        filter: Some(filter.to_owned()),
        ..DeliveryPolicy::default()
    }
}

#[tokio::test]
async fn a_filter_selects_events_and_its_errors_are_counted() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture
        .policy_sink("some", filtering("event.data.n >= 3 and event.data.n < 5"))
        .await;
    let (broken, broken_lane) = fixture
        .policy_sink("broken", filtering("event.data.n"))
        .await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    let sent = fixture.emit_numbered(0..10).await;
    fixture.until_caught_up(&sink).await;
    fixture.until_caught_up(&broken).await;
    engine.stop().await;
    assert_eq!(arrived(&receiver, lane), sent[3..5]);
    assert_eq!(arrived(&receiver, broken_lane), []);
    let status = fixture.write(move |tx| sinks::status(tx, broken.id)).await;
    assert_eq!(status.filter_errors, 10);
    let error = status.filter_error.expect("an error");
    assert!(error.contains("neither true nor false"), "{error}");
    let status = fixture.write(move |tx| sinks::status(tx, sink.id)).await;
    assert_eq!((status.filter_errors, status.dropped), (0, 0));
}

#[tokio::test]
async fn a_full_lane_with_a_filter_drops_only_events_that_match() {
    let fixture = Fixture::new();
    let (sink, _) = fixture
        .policy_sink("half", filtering("event.data.n >= 100"))
        .await;
    let receiver = Receiver::new(Reply::Pause);
    let engine = fixture.start(&receiver);
    fixture.emit_numbered(0..230).await;
    let deadline = std::time::Instant::now() + super::DEADLINE;
    while fixture.is_held(&sink).await {
        assert!(std::time::Instant::now() < deadline, "never filtered");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    engine.stop().await;
    assert_eq!(fixture.depth(&sink).await, QUEUE_CAPACITY);
    assert_eq!(fixture.audited("event_sink.dropped").await, 30);
}

#[tokio::test]
async fn a_full_lane_with_a_filter_that_holds_delivers_every_matching_event_later() {
    let fixture = Fixture::new();
    let policy = DeliveryPolicy {
        overflow: Overflow::Hold,
        ..filtering("event.data.n >= 50")
    };
    let (sink, lane) = fixture.policy_sink("half", policy).await;
    let sent = fixture.emit_numbered(0..350).await;
    let receiver = Receiver::new(Reply::Pause);
    let engine = fixture.start(&receiver);
    // The first step queues 50 events. The second step finds 100, and 50 of them fit.
    eventually("the queue is full", async || {
        fixture.depth(&sink).await == QUEUE_CAPACITY
    })
    .await;
    assert!(fixture.is_held(&sink).await);
    receiver.set(Reply::Deliver);
    fixture.advance(Duration::from_secs(2));
    fixture.until_caught_up(&sink).await;
    engine.stop().await;
    assert_eq!(arrived(&receiver, lane), sent[50..]);
    assert_eq!(fixture.audited("event_sink.dropped").await, 0);
}

#[tokio::test]
async fn one_step_filters_many_small_events_but_not_much_more_than_a_mebibyte() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("all", filtering("true")).await;
    let (large, huge, small) = (700 * 1024, 1536 * 1024, 10);
    let mut sizes = vec![large, large, large, huge];
    sizes.extend([small; 40]);
    let sent = fixture.emit_sizes(&sizes).await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    fixture.until_caught_up(&sink).await;
    engine.stop().await;
    assert_eq!(arrived(&receiver, lane), sent);
    assert_eq!(*receiver.filtered.lock(), [1, 1, 1, 1, 40]);
}
