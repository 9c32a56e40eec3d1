//! The window of a webhook: up to `max_repeats` deliveries are sent before the result of the first
//! one is recorded. Their results are recorded together.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use svc_core::{LaneId, delivery_policy::DeliveryPolicy};
use svc_protocol::api::{DeliveryState, SinkType};
use svc_store::sinks;
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::{Fixture, Receiver, Reply, Running, eventually, until};

/// How long a test waits to see that a delivery is not sent.
const QUIET: Duration = Duration::from_millis(50);

/// A transaction that blocks all other writes, as a slow disk does.
struct SlowDisk {
    release: mpsc::Sender<()>,
    task: JoinHandle<()>,
}

impl SlowDisk {
    async fn block(fixture: &Fixture) -> Self {
        let (release, released) = mpsc::channel();
        let (entered, has_entered) = oneshot::channel();
        let store = fixture.store.clone();
        let task = tokio::spawn(async move {
            let waiting = store.write(move |_| {
                let _ = entered.send(());
                let _ = released.recv();
                Ok(())
            });
            waiting.await.expect("committed");
        });
        has_entered.await.expect("the writer waits");
        Self { release, task }
    }

    async fn release(self) {
        let _ = self.release.send(());
        self.task.await.expect("no panic");
    }
}

/// A lane with 20 events. The first event was sent, and its result cannot be recorded before
/// [`SlowDisk::release`].
struct Stalled {
    lane: LaneId,
    receiver: Arc<Receiver>,
    disk: SlowDisk,
    running: Running,
}

impl Stalled {
    async fn new(fixture: &Fixture, kind: SinkType, max_repeats: u32) -> Self {
        let mut row = fixture.sink_row(&sinks::owner_key(fixture.owner), "s", "*");
        row.kind = kind;
        row.policy = DeliveryPolicy {
            max_repeats,
            ..DeliveryPolicy::default()
        };
        let (_, lane) = fixture.add(row).await;
        let receiver = Receiver::new(Reply::Hang);
        let running = fixture.start(&receiver);
        fixture.emit_many(20).await;
        until("the first delivery is in flight", || receiver.count() == 1).await;
        let disk = SlowDisk::block(fixture).await;
        receiver.set(Reply::Deliver);
        receiver.let_go.send_replace(true);
        Self {
            lane,
            receiver,
            disk,
            running,
        }
    }
}

#[tokio::test]
async fn a_webhook_gets_at_most_max_repeats_deliveries_before_a_result_is_recorded() {
    for (kind, max_repeats, expected) in [
        (SinkType::Webhook, 8, 8),
        (SinkType::Webhook, 64, 20),
        (SinkType::Webhook, 1, 1),
        (SinkType::Script, 8, 1),
    ] {
        let fixture = Fixture::new();
        let stalled = Stalled::new(&fixture, kind, max_repeats).await;
        let receiver = &stalled.receiver;
        // The transaction before the first delivery has read further deliveries ahead, as many as
        // the window allows.
        until("the window is full", || receiver.count() == expected).await;
        sleep(QUIET).await;
        assert_eq!(receiver.count(), expected, "{kind:?} {max_repeats}");
        stalled.disk.release().await;
        until("all events are delivered", || receiver.count() == 20).await;
        let in_order: Vec<u64> = (1..=20).collect();
        assert_eq!(receiver.numbers(stalled.lane), in_order);
        assert_eq!(*receiver.most_in_flight.lock(), 1);
        stalled.running.stop().await;
        let delivered = fixture.deliveries(stalled.lane).await;
        let is_recorded = |delivery: &svc_protocol::api::Delivery| {
            delivery.state == DeliveryState::Delivered && delivery.attempts.len() == 1
        };
        assert!(delivered.len() == 20 && delivered.iter().all(is_recorded));
    }
}

#[tokio::test]
async fn a_crash_repeats_at_most_max_repeats_deliveries_and_then_sends_one_by_one() {
    let mut fixture = Fixture::new();
    let stalled = Stalled::new(&fixture, SinkType::Webhook, 8).await;
    until("the window is full", || stalled.receiver.count() == 8).await;
    stalled.running.kill().await;
    stalled.disk.release().await;
    fixture.reopen().await;

    // At most one result was recorded before the crash. The other deliveries are repeated. Each of
    // them is sent only after the result of the previous one is recorded.
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    until("the first delivery is in flight", || receiver.count() == 1).await;
    let disk = SlowDisk::block(&fixture).await;
    receiver.set(Reply::Deliver);
    receiver.let_go.send_replace(true);
    sleep(QUIET).await;
    assert_eq!(
        receiver.count(),
        1,
        "the result of the first delivery is not recorded"
    );
    disk.release().await;
    until("the last is delivered", || {
        receiver.numbers(stalled.lane).last() == Some(&20)
    })
    .await;
    let numbers = receiver.numbers(stalled.lane);
    assert!(numbers[0] <= 2, "{numbers:?}");
    assert_eq!(numbers, (numbers[0]..=20).collect::<Vec<_>>());
    running.stop().await;
}

#[tokio::test]
async fn no_delivery_is_sent_after_a_failure_until_the_failure_is_recorded() {
    let fixture = Fixture::new();
    let stalled = Stalled::new(&fixture, SinkType::Webhook, 8).await;
    stalled.receiver.set(Reply::Fail);
    let receiver = &stalled.receiver;
    until("the second delivery has failed", || receiver.count() == 2).await;
    sleep(QUIET).await;
    assert_eq!(receiver.count(), 2);
    stalled.disk.release().await;
    let attempts = async || {
        let deliveries = fixture.deliveries(stalled.lane).await;
        let attempts = deliveries.iter().map(|one| one.attempts.len());
        attempts.take(3).collect::<Vec<_>>()
    };
    eventually("the failure is recorded", async || {
        attempts().await == [1, 1, 0]
    })
    .await;
    // The second delivery is retried, and the third follows it.
    receiver.set(Reply::Deliver);
    fixture.advance(Duration::from_secs(5));
    until("all events are delivered", || receiver.count() == 21).await;
    let mut expected: Vec<u64> = (1..=20).collect();
    expected.insert(1, 2);
    assert_eq!(receiver.numbers(stalled.lane), expected);
    stalled.running.stop().await;
}

#[tokio::test]
async fn deliveries_that_were_read_ahead_use_the_changed_sink() {
    let fixture = Fixture::new();
    let mut row = fixture.sink_row(&sinks::owner_key(fixture.owner), "s", "*");
    let (_, lane) = fixture.add(row.clone()).await;
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start(&receiver);
    fixture.emit_many(20).await;
    until("the first delivery is in flight", || receiver.count() == 1).await;
    row.description = "changed".to_owned();
    fixture.write(move |tx| sinks::update(tx, &row)).await;
    fixture.hub.sinks_changed();
    receiver.set(Reply::Deliver);
    receiver.let_go.send_replace(true);
    until("all events are delivered", || receiver.count() == 20).await;
    let changed = receiver.seen().into_iter().skip(1).all(|job| {
        matches!(&job.destination, super::super::Destination::Sink(sink)
            if sink.description == "changed")
    });
    assert!(
        changed,
        "a delivery used the sink as it was before the change"
    );
    assert_eq!(receiver.numbers(lane), (1..=20).collect::<Vec<_>>());
    running.stop().await;
}
