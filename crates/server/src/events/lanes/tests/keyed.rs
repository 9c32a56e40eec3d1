//! Sinks that are ordered by a key: several deliveries in flight, in order for each key.

use std::{collections::HashMap, time::Duration};

use svc_core::{
    LaneId,
    delivery_policy::{DeliveryPolicy, Ordering, Retry},
};
use svc_protocol::api::DeliveryState;
use svc_store::{
    dispatch, lanes,
    sinks::{self, SinkRow},
};
use tokio::time::sleep;

use super::{Fixture, Receiver, Reply, eventually, until};

async fn keyed_sink(fixture: &Fixture, in_flight: u32) -> (SinkRow, LaneId) {
    let mut row = fixture.sink_row(&sinks::owner_key(fixture.owner), "s", "*");
    row.policy = DeliveryPolicy {
        ordering: Ordering::Key,
        key: Some("event.type".to_owned()),
        in_flight,
        retry: Some(Retry::Waits(vec![3_600])),
        ..DeliveryPolicy::default()
    };
    fixture.add(row).await
}

/// The numbers of the deliveries of each key, in the order of arrival.
fn by_key(receiver: &Receiver) -> HashMap<String, Vec<u64>> {
    let mut keys: HashMap<String, Vec<u64>> = HashMap::new();
    for job in receiver.seen() {
        keys.entry(job.key).or_default().push(job.n);
    }
    keys
}

#[tokio::test]
async fn keys_are_delivered_concurrently_and_each_key_in_order() {
    let fixture = Fixture::new();
    let (sink, lane) = keyed_sink(&fixture, 4).await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    for n in 0..30 {
        fixture.emit(&format!("custom.k{}", n % 6)).await;
    }
    until("four are in flight", || receiver.count() == 4).await;
    sleep(Duration::from_millis(250)).await;
    assert_eq!(receiver.count(), 4, "more than four are in flight");
    receiver.set(Reply::Deliver);
    receiver.let_go.send_replace(true);
    fixture.until_empty(&[&sink]).await;
    assert_eq!(*receiver.most_in_flight.lock(), 4);
    let keys = by_key(&receiver);
    assert_eq!(keys.len(), 6);
    for (key, numbers) in keys {
        assert!(
            numbers.is_sorted() && numbers.len() == 5,
            "{key}: {numbers:?}"
        );
    }
    let deliveries = fixture.deliveries(lane).await;
    let is_delivered = |state| state == DeliveryState::Delivered;
    assert!(deliveries.iter().all(|one| is_delivered(one.state)));
    running.stop().await;
}

#[tokio::test]
async fn deliveries_beside_others_release_their_slots() {
    let fixture = Fixture::new();
    let (sink, _) = keyed_sink(&fixture, 4).await;
    let receiver = Receiver::new(Reply::Hang);
    let mut policy = fixture.policy();
    policy.slots.webhook = 32;
    let running = fixture.start_with(&receiver, policy);
    // All rounds together need more slots than there are.
    for round in 1..=12 {
        receiver.let_go.send_replace(false);
        for key in 0..4 {
            fixture.emit(&format!("custom.k{key}")).await;
        }
        until("four are in flight", || receiver.count() == 4 * round).await;
        receiver.let_go.send_replace(true);
        fixture.until_empty(&[&sink]).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn a_failed_delivery_holds_back_its_key_only() {
    let fixture = Fixture::new();
    let (sink, lane) = keyed_sink(&fixture, 4).await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit("custom.bad").await;
    until("the first has failed", || receiver.count() == 1).await;
    eventually("the failure is recorded", async || {
        !fixture.deliveries(lane).await[0].attempts.is_empty()
    })
    .await;
    // The failed key waits an hour. Events with other keys are delivered meanwhile, even events
    // that were emitted later.
    receiver.set(Reply::Deliver);
    for event_type in ["custom.bad", "custom.good", "custom.bad", "custom.good"] {
        fixture.emit(event_type).await;
    }
    until("the others are delivered", || receiver.count() == 3).await;
    eventually("the others are recorded", async || {
        fixture.depth(&sink).await == 3
    })
    .await;
    assert_eq!(by_key(&receiver)["good"], [3, 5]);
    fixture.expect_no_writes().await;
    fixture.advance(Duration::from_secs(3_600));
    fixture.until_empty(&[&sink]).await;
    assert_eq!(by_key(&receiver)["bad"], [1, 1, 2, 4]);
    assert_eq!(receiver.seen()[3].attempt, 2);
    running.stop().await;
}

#[tokio::test]
async fn after_a_crash_every_key_is_complete_and_in_order() {
    let mut fixture = Fixture::new();
    let (sink, _) = keyed_sink(&fixture, 16).await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    for n in 0..40 {
        fixture.emit(&format!("custom.k{}", n % 20)).await;
    }
    until("sixteen are in flight", || receiver.count() == 16).await;
    running.kill().await;
    fixture.reopen().await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.count(), 40);
    for (key, numbers) in by_key(&receiver) {
        assert!(
            numbers.is_sorted() && numbers.len() == 2,
            "{key}: {numbers:?}"
        );
    }
    running.stop().await;
}

#[tokio::test]
async fn deliveries_in_flight_use_the_slots_of_their_owner() {
    let fixture = Fixture::new();
    let (sink, _) = keyed_sink(&fixture, 64).await;
    let receiver = Receiver::new(Reply::Hang);
    let mut policy = fixture.policy();
    // One owner gets a quarter of the slots.
    policy.slots.webhook = 32;
    let running = fixture.start_with(&receiver, policy);
    for n in 0..40 {
        fixture.emit(&format!("custom.k{n}")).await;
    }
    until("the share is in use", || receiver.count() == 8).await;
    sleep(Duration::from_millis(250)).await;
    assert_eq!(receiver.count(), 8);
    receiver.set(Reply::Deliver);
    receiver.let_go.send_replace(true);
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
}

#[tokio::test]
async fn events_of_a_refill_are_delivered_beside_a_key_that_waits() {
    let fixture = Fixture::new();
    let (sink, lane) = keyed_sink(&fixture, 4).await;
    let receiver = Receiver::new(Reply::Fail);
    let running = fixture.start(&receiver);
    fixture.emit("custom.bad").await;
    eventually("the failure is recorded", async || {
        !fixture.deliveries(lane).await[0].attempts.is_empty()
    })
    .await;
    let record = fixture
        .write(move |tx| lanes::find_by_sink(tx, sink.id))
        .await;
    assert_eq!(record.map(|lane| lane.failures), Some(1));
    receiver.set(Reply::Deliver);
    let (event, now) = (fixture.event(fixture.owner, "custom.good"), fixture.now());
    fixture
        .write(move |tx| {
            dispatch::store_event(tx, &event)?;
            lanes::append(tx, lane, &[(event.id, "custom.good")], now)
        })
        .await;
    fixture.hub.wake();
    until("the event is delivered", || receiver.count() == 2).await;
    assert_eq!(by_key(&receiver)["good"], [2]);
    running.stop().await;
}
