//! Which lanes get an event, the capacity of a queue, retention.

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use svc_core::{UserId, lane::QUEUE_CAPACITY};
use svc_protocol::api::{DeliveryState, ScriptConfig, SinkType};
use svc_store::{
    events, lanes,
    sinks::{self, GLOBAL, SinkConfig},
};
use uuid::Uuid;

use super::{Fixture, Receiver, Reply, START, until};
use crate::{
    events::lanes::{Pruned, Retention, prune},
    identity::delete_sink,
};

#[tokio::test]
async fn a_queue_holds_exactly_100_events_and_every_drop_is_audited() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("full", "*").await;
    fixture.emit_many(QUEUE_CAPACITY as usize + 5).await;
    assert_eq!(fixture.depth(&sink).await, QUEUE_CAPACITY);
    let id = sink.id;
    let status = fixture.write(move |tx| sinks::status(tx, id)).await;
    assert_eq!(status.dropped, 5);
    assert_eq!(fixture.audited("event_sink.dropped").await, 5);
    let totals = fixture.write(lanes::totals).await;
    assert_eq!((totals.queued, totals.dropped), (100, 5));
    // The oldest events are kept.
    let numbers: Vec<_> = fixture.deliveries(lane).await.iter().map(|d| d.n).collect();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_delivery_in_flight_counts_toward_the_capacity() {
    let fixture = Fixture::new();
    let (sink, _) = fixture.sink("hanging", "*").await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    fixture.emit("custom.x").await;
    until("the first is in flight", || receiver.count() == 1).await;
    fixture.emit_many(100).await;
    assert_eq!(fixture.depth(&sink).await, QUEUE_CAPACITY);
    assert_eq!(fixture.audited("event_sink.dropped").await, 1);
    receiver.set(Reply::Deliver);
    receiver.let_go.send_replace(true);
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.count(), 100);
    running.stop().await;
}

#[tokio::test]
async fn a_sink_gets_the_events_of_its_owner_and_a_global_sink_gets_all_events() {
    let fixture = Fixture::new();
    let (_, own) = fixture.sink("own", "*").await;
    let (_, narrow) = fixture.sink("narrow", "custom.a.*,space.started").await;
    let (_, global) = fixture.global_sink("global", "*").await;
    let stranger = UserId(Uuid::now_v7());
    fixture.emit("custom.a.b").await;
    fixture.emit("space.stopped").await;
    fixture.emit_of(stranger, "custom.a.b").await;
    for (lane, expected) in [(own, 2), (narrow, 1), (global, 3)] {
        assert_eq!(fixture.deliveries(lane).await.len(), expected);
    }
}

#[tokio::test]
async fn an_inactive_sink_gets_no_new_events_and_keeps_its_queue() {
    let fixture = Fixture::new();
    let (mut sink, lane) = fixture.sink("off", "*").await;
    let (other, _) = fixture.sink("on", "*").await;
    fixture.emit("custom.before").await;
    sink.active = false;
    let row = sink.clone();
    fixture.write(move |tx| sinks::update(tx, &row)).await;
    fixture.emit("custom.meanwhile").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    fixture.until_empty(&[&other]).await;
    assert_eq!(receiver.numbers(lane), Vec::<u64>::new());
    sink.active = true;
    let row = sink.clone();
    fixture.write(move |tx| sinks::update(tx, &row)).await;
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.numbers(lane), [1]);
    running.stop().await;
}

#[tokio::test]
async fn the_sinks_of_a_deactivated_user_get_no_events() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("theirs", "*").await;
    let (_, global) = fixture.global_sink("global", "*").await;
    // A global script sink runs as the user who created it, so it gets no events either.
    let mut acting = fixture.sink_row(GLOBAL, "acting", "*");
    acting.kind = SinkType::Script;
    acting.config = SinkConfig::Script(ScriptConfig {
        script_id: None,
        source: Some("pass".to_owned()),
    });
    let (acting, acting_lane) = fixture.add(acting).await;
    let owner = fixture.owner;
    fixture
        .write(move |tx| lanes::set_owner_active(tx, owner, false))
        .await;
    fixture.emit("custom.x").await;
    assert_eq!(fixture.deliveries(lane).await.len(), 0);
    assert_eq!(fixture.deliveries(global).await.len(), 1);
    assert_eq!(fixture.deliveries(acting_lane).await.len(), 0);
    fixture
        .write(move |tx| lanes::set_owner_active(tx, owner, true))
        .await;
    fixture.emit("custom.x").await;
    assert_eq!(fixture.depth(&sink).await, 1);
    assert_eq!(fixture.depth(&acting).await, 1);
}

#[tokio::test]
async fn deleting_a_sink_drops_its_queue_and_returns_the_count() {
    let fixture = Fixture::new();
    let (sink, _) = fixture.sink("gone", "*").await;
    fixture.emit_many(3).await;
    let now = fixture.now();
    let queued = fixture
        .write(move |tx| delete_sink(tx, sink.id, "ada", now))
        .await;
    assert_eq!(queued, 3);
    assert_eq!(fixture.audited("event_sink.deleted").await, 1);
    assert_eq!(fixture.write(lanes::totals).await.queued, 0);
}

#[tokio::test]
async fn an_event_is_not_added_to_a_full_queue() {
    let fixture = Fixture::new();
    let (_, lane) = fixture.sink("full", "*").await;
    fixture.emit_many(99).await;
    let event = fixture.emit("custom.last").await;
    let now = fixture.now();
    let queued = fixture
        .write(move |tx| lanes::enqueue(tx, lane, (event, "custom.last"), now))
        .await;
    assert_eq!(queued, None);
}

#[tokio::test]
async fn old_events_are_removed_unless_they_wait_for_delivery() {
    let fixture = Fixture::new();
    // Event ids contain the real time, so the test clock must start at the real time.
    let real = svc_clock::now();
    fixture.now.store(real.0, Ordering::SeqCst);
    let (sink, lane) = fixture.sink("s", "custom.delivered,custom.waiting").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    let delivered = fixture.emit("custom.delivered").await;
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
    let waiting = fixture.emit("custom.waiting").await;
    fixture.emit("custom.unwanted").await;
    let retention = Retention::default();
    let kept = prune(&fixture.store, retention, real)
        .await
        .expect("pruned");
    assert_eq!(kept, Pruned::default());
    let later = real.plus(retention.keep + Duration::from_secs(60));
    let pruned = prune(&fixture.store, retention, later)
        .await
        .expect("pruned");
    assert_eq!((pruned.deliveries, pruned.events), (1, 2));
    let left = fixture.deliveries(lane).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].state, DeliveryState::Pending);
    let found = fixture
        .write(move |tx| Ok((events::find(tx, waiting)?, events::find(tx, delivered)?)))
        .await;
    assert!(found.0.is_some() && found.1.is_none());
}

#[tokio::test]
async fn a_lane_keeps_its_newest_deliveries_only() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    fixture.emit_many(30).await;
    fixture.until_empty(&[&sink]).await;
    running.stop().await;
    let retention = Retention {
        per_lane: 10,
        ..Retention::default()
    };
    let now = svc_core::Timestamp(START);
    let pruned = prune(&fixture.store, retention, now).await.expect("pruned");
    assert_eq!(pruned.deliveries, 20);
    let left: HashSet<_> = fixture.deliveries(lane).await.iter().map(|d| d.n).collect();
    assert_eq!(left, (21..=30).collect());
}

#[tokio::test]
async fn a_wrong_depth_is_corrected() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start(&receiver);
    fixture.execute("UPDATE lanes SET depth = 100").await;
    fixture.hub.wake();
    fixture.until_empty(&[&sink]).await;
    fixture.emit("custom.x").await;
    until("the event arrives", || receiver.numbers(lane) == [1]).await;
    running.stop().await;
}
