//! Leases and fences: a lane has one holder, and a stale holder changes nothing.

use std::time::Duration;

use svc_core::{
    EventId, LaneId,
    lane::{LEASE, STARTS_MAX},
};
use svc_protocol::api::DeliveryState;
use svc_store::lanes::{DeliveryKind, LaneLease};

use super::{Fixture, Receiver, Reply, until};
use crate::events::lanes::{
    AttemptDetail, Job,
    turn::{self, DeadDelivery, DeliveryEnd, EndedDelivery, LaneNext, RunState, TransactionTime},
};

/// The engine renews this lease every 20 ms of the machine's clock.
const SHORT_LEASE: Duration = Duration::from_millis(60);

#[tokio::test]
async fn a_held_lane_cannot_be_claimed_until_its_lease_ends() {
    let fixture = Fixture::new();
    fixture.sink("s", "*").await;
    fixture.emit("custom.x").await;
    let (started, _) = claim(&fixture).await;
    assert!(started.is_some());
    assert!(claim(&fixture).await.0.is_none());
    fixture.advance(LEASE - Duration::from_millis(1));
    assert!(claim(&fixture).await.0.is_none());
    fixture.advance(Duration::from_millis(1));
    assert!(claim(&fixture).await.0.is_some());
}

#[tokio::test]
async fn a_stale_holder_is_rejected_by_the_fence() {
    let fixture = Fixture::new();
    let (_, lane) = fixture.sink("s", "*").await;
    fixture.emit("custom.x").await;
    let first = claim(&fixture).await.0.expect("claimed");
    fixture.advance(LEASE);
    let second = claim(&fixture).await.0.expect("claimed by another server");
    assert!(second.held.fence > first.held.fence);
    let late = finish(&fixture, first.held, 1).await;
    assert!(!late, "the result of a stale holder is discarded");
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.state, DeliveryState::Pending);
    assert_eq!(delivery.attempts, []);
    assert!(finish(&fixture, second.held, 1).await);
    assert!(!finish(&fixture, second.held, 1).await, "only once");
}

#[tokio::test]
async fn a_delivery_that_kills_the_server_is_given_up() {
    let fixture = Fixture::new();
    let (sink, lane) = fixture.sink("s", "*").await;
    fixture.emit_many(2).await;
    for _ in 0..STARTS_MAX {
        let started = claim(&fixture).await.0.expect("started again");
        assert_eq!((started.job.n, started.job.attempt), (1, 1));
        fixture.advance(LEASE);
    }
    let (started, dead) = claim(&fixture).await;
    assert_eq!(started.expect("the next delivery").job.n, 2);
    assert!(dead[0].error.contains("10 attempts"), "{dead:?}");
    assert_eq!(fixture.audited("event_sink.dead").await, 1);
    assert_eq!(fixture.depth(&sink).await, 1);
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.state, DeliveryState::Dead);
}

#[tokio::test]
async fn a_long_delivery_keeps_its_lane() {
    let fixture = Fixture::new();
    let (sink, _) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Hang);
    let mut policy = fixture.policy();
    policy.lease = SHORT_LEASE;
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until("the delivery is in flight", || receiver.count() == 1).await;
    // Renewals are the only writes. Each round waits for two renewals. The second one began after
    // the clock moved, so the lease is valid until the clock moves again. The clock moves by four
    // lease times in total.
    for _ in 0..6 {
        let commits = fixture.store.stats().commits;
        until("the lease was renewed", || {
            fixture.store.stats().commits >= commits + 2
        })
        .await;
        fixture.advance(SHORT_LEASE * 2 / 3);
    }
    assert_eq!(receiver.count(), 1);
    receiver.let_go.send_replace(true);
    fixture.until_empty(&[&sink]).await;
    assert_eq!(receiver.count(), 1);
    running.stop().await;
}

#[tokio::test]
async fn a_worker_that_lost_its_lane_stops() {
    let fixture = Fixture::new();
    let (_, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Hang);
    let mut policy = fixture.policy();
    policy.lease = SHORT_LEASE;
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until("the delivery is in flight", || receiver.count() == 1).await;
    steal(&fixture, lane).await;
    until("the delivery was dropped", || {
        receiver.in_flight.lock().get(&lane) == Some(&0)
    })
    .await;
    let delivery = fixture.deliveries(lane).await.remove(0);
    assert_eq!(delivery.attempts, []);
    running.stop().await;
}

/// The first delivery of a claimed lane.
struct StartedDelivery {
    held: LaneLease,
    job: Job,
}

/// Claims a due lane and begins its delivery, as the engine does.
async fn claim(fixture: &Fixture) -> (Option<StartedDelivery>, Vec<DeadDelivery>) {
    let time = time(fixture);
    let claimed = fixture.claim(time.lease_until).await;
    let Some(&held) = claimed.first() else {
        return (None, Vec::new());
    };
    fixture
        .write(move |tx| {
            let claimed = [(DeliveryKind::Webhook, held)];
            let progress = turn::begin(tx, &claimed, time)?.remove(0);
            let started = match progress.next {
                LaneNext::Jobs { jobs, .. } => jobs.into_iter().next(),
                LaneNext::Released { .. } | LaneNext::Drain => None,
            };
            Ok((
                started.map(|job| StartedDelivery { held, job }),
                progress.dead,
            ))
        })
        .await
}

/// Finishes a delivery; `false` if the lane is no longer held.
async fn finish(fixture: &Fixture, held: LaneLease, n: u64) -> bool {
    let ended = EndedDelivery {
        n,
        attempt: 1,
        event_id: EventId::NIL,
        event_type: "custom.x".to_owned(),
        end: DeliveryEnd::Delivered(AttemptDetail::default()),
    };
    let state = RunState {
        last_sent: n,
        last_read: n,
        ..RunState::new(held)
    };
    fixture
        .write(move |tx| turn::record(tx, &[&(state, vec![ended])], LEASE))
        .await[0]
        .is_some()
}

fn time(fixture: &Fixture) -> TransactionTime {
    let now = fixture.now();
    TransactionTime {
        now,
        lease_until: now.plus(LEASE),
    }
}

/// Claims a lane as another server, with an endless lease.
async fn steal(fixture: &Fixture, lane: LaneId) {
    let far = fixture.now().plus(Duration::from_secs(1_000_000_000));
    fixture
        .write(move |tx| {
            let steal = format!(
                "UPDATE lanes SET fence = fence + 1, lease_until = {} WHERE id = '{lane}'",
                far.0
            );
            svc_store::testing::execute_script(tx, &steal)
        })
        .await;
}
