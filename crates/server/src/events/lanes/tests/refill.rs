//! Lanes that hold events instead of dropping them.

use std::time::Duration;

use serde_json::json;
use svc_core::{
    LaneId,
    delivery_policy::{DeliveryPolicy, Overflow},
    json_text::JsonText,
    lane::QUEUE_CAPACITY,
};
use svc_store::{
    events, lanes,
    sinks::{self, GLOBAL, SinkRow},
};
use uuid::Uuid;

use super::{Arc, EventId, Fixture, Receiver, Reply, emit_in, until};
use crate::events::{
    dispatch::emit_to_others,
    lanes::{Retention, prune},
};

fn holding() -> DeliveryPolicy {
    DeliveryPolicy {
        overflow: Overflow::Hold,
        ..DeliveryPolicy::default()
    }
}

impl Fixture {
    pub(super) async fn policy_sink(
        &self,
        name: &str,
        policy: DeliveryPolicy,
    ) -> (SinkRow, LaneId) {
        let mut row = self.sink_row(&sinks::owner_key(self.owner), name, "custom.*");
        row.policy = policy;
        self.add(row).await
    }

    pub(super) async fn set_active(&self, sink: &SinkRow, active: bool) {
        let mut row = sink.clone();
        row.active = active;
        self.write(move |tx| sinks::update(tx, &row)).await;
        self.hub.wake();
    }

    pub(super) async fn set_policy(&self, sink: &SinkRow, policy: DeliveryPolicy) {
        let mut row = sink.clone();
        row.policy = policy;
        self.write(move |tx| sinks::update(tx, &row)).await;
        self.hub.wake();
    }

    /// Emits events with the data `{"n": …}`, each in its own transaction. Returns their ids.
    pub(super) async fn emit_numbered(&self, numbers: std::ops::Range<u32>) -> Vec<EventId> {
        let mut ids = Vec::new();
        for n in numbers {
            ids.push(self.emit_data(&json!({"n": n})).await);
        }
        ids
    }

    /// Emits events whose data have about these sizes in bytes.
    pub(super) async fn emit_sizes(&self, sizes: &[usize]) -> Vec<EventId> {
        let mut ids = Vec::new();
        for size in sizes {
            ids.push(self.emit_data(&json!({"text": "x".repeat(*size)})).await);
        }
        ids
    }

    async fn emit_data(&self, data: &serde_json::Value) -> EventId {
        let mut event = self.event(self.owner, "custom.x");
        event.data = JsonText::from(data);
        let event = Arc::new(event);
        let writing = event.clone();
        let counts = self.write(move |tx| emit_in(tx, &writing)).await;
        self.hub.committed(std::slice::from_ref(&event));
        if counts.held > 0 {
            self.hub.wake_refill();
        }
        event.id
    }

    pub(super) async fn is_held(&self, sink: &SinkRow) -> bool {
        let id = sink.id;
        self.write(move |tx| sinks::status(tx, id)).await.held
    }

    pub(super) async fn until_caught_up(&self, sink: &SinkRow) {
        let deadline = std::time::Instant::now() + super::DEADLINE;
        while self.is_held(sink).await || self.depth(sink).await > 0 {
            assert!(std::time::Instant::now() < deadline, "never catches up");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// The events of a lane in the order in which they arrived, without repeats.
pub(super) fn arrived(receiver: &Receiver, lane: LaneId) -> Vec<EventId> {
    let mut ids = Vec::new();
    for job in receiver.seen() {
        if job.lane == lane && !ids.contains(&job.event.id) {
            ids.push(job.event.id);
        }
    }
    ids
}

#[tokio::test]
async fn a_full_lane_that_holds_delivers_every_event_later_in_order() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("away", holding()).await;
    let (other, _) = fixture.sink("drops", "custom.*").await;
    let receiver = Receiver::new(Reply::Pause);
    let engine = fixture.start(&receiver);
    let sent = fixture.emit_numbered(0..350).await;
    assert_eq!(fixture.depth(&sink).await, QUEUE_CAPACITY);
    assert!(fixture.is_held(&sink).await);
    assert!(!fixture.is_held(&other).await);
    assert_eq!(
        fixture.audited("event_sink.dropped").await,
        250,
        "the other sink drops"
    );
    receiver.set(Reply::Deliver);
    fixture.advance(Duration::from_secs(2));
    fixture.until_caught_up(&sink).await;
    assert_eq!(arrived(&receiver, lane), sent);
    // The lane is up to date, so the next event is queued directly.
    fixture.emit("custom.x").await;
    fixture.until_caught_up(&sink).await;
    assert_eq!(arrived(&receiver, lane).len(), 351);
    engine.stop().await;
}

#[tokio::test]
async fn events_that_arrive_while_a_lane_refills_do_not_overtake() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("away", holding()).await;
    let mut sent = fixture.emit_numbered(0..150).await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    for round in 0..20 {
        sent.extend(fixture.emit_numbered(round * 20..(round + 1) * 20).await);
    }
    fixture.until_caught_up(&sink).await;
    assert_eq!(arrived(&receiver, lane), sent);
    engine.stop().await;
}

#[tokio::test]
async fn an_inactive_sink_that_holds_gets_its_events_when_it_is_active_again() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("paused", holding()).await;
    let (dropping, dropping_lane) = fixture.sink("drops", "custom.*").await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    let mut sent = fixture.emit_numbered(0..1).await;
    fixture.until_caught_up(&sink).await;
    fixture.until_empty(&[&dropping]).await;
    fixture.set_active(&sink, false).await;
    fixture.set_active(&dropping, false).await;
    sent.extend(fixture.emit_numbered(1..220).await);
    fixture.emit("space.created").await;
    assert!(fixture.is_held(&sink).await);
    assert_eq!(fixture.depth(&sink).await, 0, "nothing is queued meanwhile");
    fixture.set_active(&sink, true).await;
    fixture.set_active(&dropping, true).await;
    fixture.until_caught_up(&sink).await;
    assert_eq!(arrived(&receiver, lane), sent);
    assert_eq!(arrived(&receiver, dropping_lane), sent[..1]);
    engine.stop().await;
}

#[tokio::test]
async fn a_global_lane_holds_events_of_all_owners_and_a_users_lane_only_its_own() {
    let fixture = Fixture::new();
    let mut row = fixture.sink_row(GLOBAL, "all", "*");
    row.policy = holding();
    let (global, global_lane) = fixture.add(row).await;
    let (own, own_lane) = fixture.policy_sink("own", holding()).await;
    fixture.set_active(&global, false).await;
    fixture.set_active(&own, false).await;
    let stranger = super::UserId(Uuid::now_v7());
    let first = fixture.emit_of(stranger, "custom.a").await;
    let second = fixture.emit("custom.b").await;
    let third = fixture.emit("space.created").await;
    fixture.set_active(&global, true).await;
    fixture.set_active(&own, true).await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    fixture.until_caught_up(&global).await;
    fixture.until_caught_up(&own).await;
    assert_eq!(arrived(&receiver, global_lane), [first, second, third]);
    assert_eq!(arrived(&receiver, own_lane), [second]);
    engine.stop().await;
}

#[tokio::test]
async fn the_order_of_a_refill_is_the_order_of_commits_and_not_of_ids() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("away", holding()).await;
    fixture.set_active(&sink, false).await;
    // A server whose clock is ahead commits first.
    let (early, late) = (EventId(Uuid::now_v7()), EventId(Uuid::now_v7()));
    for id in [late, early] {
        let mut event = fixture.event(fixture.owner, "custom.x");
        event.id = id;
        fixture.write(move |tx| emit_in(tx, &event)).await;
    }
    fixture.set_active(&sink, true).await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    fixture.until_caught_up(&sink).await;
    assert_eq!(arrived(&receiver, lane), [late, early]);
    engine.stop().await;
}

#[tokio::test]
async fn a_kill_at_any_moment_of_a_refill_loses_no_event() {
    let mut fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("away", holding()).await;
    let sent = fixture.emit_numbered(0..400).await;
    let mut seen = Vec::new();
    for round in 0..30_u64 {
        let receiver = Receiver::new(Reply::Deliver);
        let engine = fixture.start(&receiver);
        let wanted = usize::try_from(round % 7 * 4 + 3).expect("small");
        until("some arrive", || receiver.count() >= wanted || round > 20).await;
        engine.kill().await;
        fixture.reopen().await;
        seen.extend(arrived(&receiver, lane));
    }
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    fixture.until_caught_up(&sink).await;
    engine.stop().await;
    seen.extend(arrived(&receiver, lane));
    let mut first_arrivals = Vec::new();
    for id in seen {
        if !first_arrivals.contains(&id) {
            first_arrivals.push(id);
        }
    }
    assert_eq!(first_arrivals, sent);
    let queued = fixture.deliveries(lane).await;
    assert_eq!(queued.len(), sent.len(), "each event was queued once");
}

#[tokio::test]
async fn two_servers_refill_a_lane_together_and_queue_each_event_once() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("away", holding()).await;
    let sent = fixture.emit_numbered(0..500).await;
    let receiver = Receiver::new(Reply::Deliver);
    let first = fixture.start(&receiver);
    let mut beside = Fixture::new();
    beside.store = fixture.store.clone();
    beside.clock = fixture.clock.clone();
    let second = beside.start(&receiver);
    fixture.until_caught_up(&sink).await;
    first.stop().await;
    second.stop().await;
    assert_eq!(arrived(&receiver, lane), sent);
    assert_eq!(fixture.deliveries(lane).await.len(), sent.len());
}

#[tokio::test]
async fn a_change_from_hold_to_drop_drops_events_that_do_not_fit() {
    let fixture = Fixture::new();
    let (sink, _) = fixture.policy_sink("away", holding()).await;
    fixture.emit_numbered(0..130).await;
    fixture.set_policy(&sink, DeliveryPolicy::default()).await;
    let receiver = Receiver::new(Reply::Pause);
    let engine = fixture.start(&receiver);
    let deadline = std::time::Instant::now() + super::DEADLINE;
    while fixture.is_held(&sink).await {
        assert!(std::time::Instant::now() < deadline, "never catches up");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    engine.stop().await;
    assert_eq!(fixture.audited("event_sink.dropped").await, 30);
    assert_eq!(fixture.depth(&sink).await, QUEUE_CAPACITY);
}

#[tokio::test]
async fn retention_keeps_held_events_longer_and_audits_their_removal() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.policy_sink("away", holding()).await;
    // Ids contain the time of the machine's clock, so this test measures retention by that clock.
    fixture.emit_numbered(0..QUEUE_CAPACITY + 7).await;
    fixture.emit("space.created").await;
    let kept = || async {
        fixture
            .write(|tx| events::list_numbered(tx, None, 0, 1_000))
            .await
            .len()
    };
    let retention = Retention {
        keep: Duration::from_secs(3_600),
        ..Retention::default()
    };
    let later = |hours: u64| svc_clock::now().plus(Duration::from_secs(hours * 3_600 + 60));
    prune(&fixture.store, retention, later(2))
        .await
        .expect("pruned");
    assert_eq!(kept().await, 108, "waiting deliveries and held events");
    assert_eq!(fixture.audited("event_sink.lost").await, 0);
    prune(&fixture.store, retention, later(5))
        .await
        .expect("pruned");
    assert_eq!(kept().await, 100, "deliveries that wait keep their events");
    assert_eq!(fixture.audited("event_sink.lost").await, 1);
    // The lane continues with the remaining events.
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    fixture.until_caught_up(&sink).await;
    engine.stop().await;
    assert_eq!(arrived(&receiver, lane).len(), 100);
    let numbers = fixture.write(events::newest_number).await;
    assert_eq!(numbers, 108, "numbers are not used again");
}

#[tokio::test]
async fn many_lanes_that_are_behind_share_the_refiller() {
    let fixture = Fixture::new();
    let mut rows = Vec::new();
    for name in 0..30 {
        let (sink, _) = fixture.policy_sink(&format!("s{name}"), holding()).await;
        fixture.set_active(&sink, false).await;
        rows.push(sink);
    }
    fixture.emit_numbered(0..3).await;
    for sink in &rows {
        fixture.set_active(sink, true).await;
    }
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    for sink in &rows {
        fixture.until_caught_up(sink).await;
    }
    engine.stop().await;
    assert_eq!(receiver.count(), 90);
    let owners = fixture.write(lanes::list_ready_owners).await;
    assert_eq!(owners, Vec::<String>::new());
}

#[tokio::test]
async fn an_event_about_a_sink_does_not_reach_the_sink_by_its_refill() {
    let fixture = Fixture::new();
    let (mut rows, mut lanes) = (Vec::new(), Vec::new());
    for name in ["about", "other"] {
        let mut row = fixture.sink_row(&sinks::owner_key(fixture.owner), name, "*");
        row.policy = holding();
        let (row, lane) = fixture.add(row).await;
        fixture.set_active(&row, false).await;
        rows.push(row);
        lanes.push(lane);
    }
    let first = fixture.emit("custom.x").await;
    let mut event = fixture.event(fixture.owner, "sink.paused");
    event.data = JsonText::from(&json!({"sink_id": rows[0].id}));
    let (about, paused) = (lanes[0], event.id);
    fixture
        .write(move |tx| emit_to_others(tx, &event, about))
        .await;
    let last = fixture.emit("custom.x").await;
    let receiver = Receiver::new(Reply::Deliver);
    let engine = fixture.start(&receiver);
    for row in &rows {
        fixture.set_active(row, true).await;
        fixture.until_caught_up(row).await;
    }
    engine.stop().await;
    assert_eq!(arrived(&receiver, lanes[0]), [first, last]);
    assert_eq!(arrived(&receiver, lanes[1]), [first, paused, last]);
}
