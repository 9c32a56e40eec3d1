use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

use super::*;

/// The clock of these tests stands still while they run, so a reservation never expires too early.
const SOON: Duration = Duration::from_millis(50);

fn owner(n: u128) -> UserId {
    UserId(Uuid::from_u128(n))
}

fn lane(n: u128) -> WaitingDelivery {
    WaitingDelivery {
        lane: LaneId(Uuid::from_u128(n)),
        failures: 0,
    }
}

/// Slots, and the lanes that they woke.
fn slots(capacity: usize) -> (ScriptSlots, Arc<Mutex<Vec<WaitingDelivery>>>) {
    let woken = Arc::new(Mutex::new(Vec::new()));
    let waking = woken.clone();
    let slots = ScriptSlots::new(capacity, move |waiting| waking.lock().push(waiting));
    (slots, woken)
}

#[tokio::test(start_paused = true)]
async fn one_owner_leaves_a_slot_for_others() {
    let (ann, ben) = (owner(1), owner(2));
    let (slots, _) = slots(2);
    let first = slots.take(ann).await;
    assert!(timeout(SOON, slots.take(ann)).await.is_err());
    assert!(
        slots.enter(ann, lane(1)).is_none(),
        "a sink does not get the last slot either"
    );
    let other = timeout(SOON, slots.take(ben)).await.expect("a slot");
    drop(other);
    assert!(slots.enter(ben, lane(2)).is_some());
    drop(first);
    assert!(slots.enter(ann, lane(1)).is_some(), "free again");
    let state = slots.0.state.lock();
    assert!(state.slots.is_idle() && state.queues.is_empty());
    assert_eq!(state.slots.free(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lane_without_a_slot_is_woken_and_gets_a_reserved_slot() {
    let (ann, ben) = (owner(1), owner(2));
    let (slots, woken) = slots(1);
    let first = slots.enter(ann, lane(1)).expect("a slot");
    for _ in 0..2 {
        assert!(slots.enter(ben, lane(2)).is_none(), "the lane is queued");
    }
    assert!(woken.lock().is_empty());
    drop(first);
    assert_eq!(*woken.lock(), [lane(2)]);
    assert!(
        slots.enter(ann, lane(1)).is_none(),
        "reserved for another lane"
    );
    let second = slots.enter(ben, lane(2)).expect("its reserved slot");
    drop(second);
    assert_eq!(*woken.lock(), [lane(2), lane(1)]);
}

/// An owner waits for at most one run of each other owner, no matter how many lanes the others
/// have.
#[tokio::test(start_paused = true)]
async fn owners_take_turns() {
    let (slots, woken) = slots(2);
    let mut held = Vec::new();
    for sink in 0..100 {
        for one in 1..=3 {
            held.extend(slots.enter(owner(one), lane(one * 1_000 + sink)));
        }
    }
    assert_eq!(held.len(), 2);
    let late = lane(9);
    assert!(slots.enter(owner(9), late).is_none());
    // The freed slots go to one lane of each of the three owners, then to the late owner.
    for _ in 0..4 {
        held.remove(0);
        let next = *woken.lock().last().expect("a lane is woken");
        let whose = match next.lane.0.as_u128() / 1_000 {
            0 => 9,
            one => one,
        };
        held.push(slots.enter(owner(whose), next).expect("reserved for it"));
    }
    assert_eq!(woken.lock().last(), Some(&late));
}

#[tokio::test(start_paused = true)]
async fn a_reservation_expires_if_the_lane_does_not_claim_it() {
    let (ann, ben) = (owner(1), owner(2));
    let (slots, woken) = slots(1);
    let first = slots.take(ann).await;
    assert!(slots.enter(ben, lane(2)).is_none());
    drop(first);
    assert_eq!(*woken.lock(), [lane(2)]);
    let next = timeout(3 * RESERVED_FOR, slots.take(ann)).await;
    drop(next.expect("the waiting task gets it"));
    assert!(
        slots.enter(ben, lane(2)).is_some(),
        "it may claim a slot later"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_delays_no_other_owner() {
    let (ann, ben) = (owner(1), owner(2));
    let (slots, _) = slots(1);
    let first = slots.take(ann).await;
    assert!(timeout(SOON, slots.take(ben)).await.is_err());
    drop(first);
    assert!(slots.enter(ann, lane(1)).is_some());
}
