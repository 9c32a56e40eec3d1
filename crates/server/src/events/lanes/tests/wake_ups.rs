//! Without the regular scan: wake-ups alone find every due lane.

use std::{sync::atomic::Ordering, time::Duration};

use super::{Fixture, LanePolicy, Receiver, Reply, until};

/// Only the first scan runs during a test.
fn without_scans(fixture: &Fixture) -> LanePolicy {
    LanePolicy {
        poll: Duration::from_secs(3_600),
        ..fixture.policy()
    }
}

#[tokio::test]
async fn an_event_is_delivered_without_a_scan() {
    let fixture = Fixture::new();
    fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Deliver);
    let running = fixture.start_with(&receiver, without_scans(&fixture));
    for n in 1..=20 {
        fixture.emit("custom.x").await;
        until("the event is delivered", || receiver.count() == n).await;
    }
    running.stop().await;
}

/// The engine claims the lanes of an owner in several transactions.
#[tokio::test]
async fn all_due_lanes_of_an_owner_are_claimed_without_a_scan() {
    let fixture = Fixture::new();
    let lanes = 100;
    for n in 0..lanes {
        fixture.sink(&format!("s{n}"), "*").await;
    }
    let receiver = Receiver::new(Reply::Hang);
    let running = fixture.start_with(&receiver, without_scans(&fixture));
    fixture.emit("custom.first").await;
    until("every lane is in flight", || receiver.count() == lanes).await;
    receiver.let_go.send_replace(true);
    running.stop().await;
}

#[tokio::test]
async fn a_retry_begins_without_a_scan() {
    let fixture = Fixture::new();
    let (_, lane) = fixture.sink("s", "*").await;
    let receiver = Receiver::new(Reply::Pause);
    let policy = LanePolicy {
        pause: Duration::from_millis(20),
        ..without_scans(&fixture)
    };
    let running = fixture.start_with(&receiver, policy);
    fixture.emit("custom.x").await;
    until("the first attempt", || receiver.count() == 1).await;
    until("the pause has ended", || {
        // The clock of the store moves without a wake-up.
        fixture.now.fetch_add(1, Ordering::SeqCst);
        receiver.count() > 1
    })
    .await;
    assert_eq!(receiver.numbers(lane)[..2], [1, 1]);
    running.stop().await;
}
