use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

use super::*;

const SOON: Duration = Duration::from_millis(50);

fn owner(n: u128) -> UserId {
    UserId(Uuid::from_u128(n))
}

fn lane(n: u128) -> Waiting {
    Waiting {
        lane: LaneId(Uuid::from_u128(n)),
        failures: 0,
    }
}

/// Slots, and the lanes that they woke.
fn turns(places: usize) -> (Turns, Arc<Mutex<Vec<Waiting>>>) {
    let woken = Arc::new(Mutex::new(Vec::new()));
    let told = woken.clone();
    let turns = Turns::new(places, move |waiting| told.lock().push(waiting));
    (turns, woken)
}

#[tokio::test]
async fn one_owner_leaves_a_place_for_others() {
    let (ann, ben) = (owner(1), owner(2));
    let (turns, _) = turns(2);
    let first = turns.take(ann).await;
    assert!(timeout(SOON, turns.take(ann)).await.is_err());
    assert!(turns.enter(ann, lane(1)).is_none(), "nor is it a sink's");
    let other = timeout(SOON, turns.take(ben)).await.expect("a place");
    drop(other);
    assert!(turns.enter(ben, lane(2)).is_some());
    drop(first);
    assert!(turns.enter(ann, lane(1)).is_some(), "free again");
    let state = turns.0.state.lock();
    assert!(state.slots.is_idle() && state.lines.is_empty());
    assert_eq!(state.slots.free(), 2);
}

#[tokio::test]
async fn a_lane_without_a_place_is_woken_and_its_place_is_kept() {
    let (ann, ben) = (owner(1), owner(2));
    let (turns, woken) = turns(1);
    let first = turns.enter(ann, lane(1)).expect("a place");
    for _ in 0..2 {
        assert!(turns.enter(ben, lane(2)).is_none(), "it stands in line");
    }
    assert!(woken.lock().is_empty());
    drop(first);
    assert_eq!(*woken.lock(), [lane(2)]);
    assert!(turns.enter(ann, lane(1)).is_none(), "kept for another");
    let second = turns.enter(ben, lane(2)).expect("its place");
    drop(second);
    assert_eq!(*woken.lock(), [lane(2), lane(1)]);
}

/// An owner waits for at most one run of each other owner, no matter how many lanes those have.
#[tokio::test]
async fn owners_take_turns() {
    let (turns, woken) = turns(2);
    let mut held = Vec::new();
    for sink in 0..100 {
        for one in 1..=3 {
            held.extend(turns.enter(owner(one), lane(one * 1_000 + sink)));
        }
    }
    assert_eq!(held.len(), 2);
    let late = lane(9);
    assert!(turns.enter(owner(9), late).is_none());
    // One run of each of the three owners, and one more that ran first.
    for _ in 0..4 {
        held.remove(0);
        let next = *woken.lock().last().expect("somebody is woken");
        let whose = match next.lane.0.as_u128() / 1_000 {
            0 => 9,
            one => one,
        };
        held.push(turns.enter(owner(whose), next).expect("kept for it"));
    }
    assert_eq!(woken.lock().last(), Some(&late));
}

#[tokio::test]
async fn a_place_is_not_kept_for_a_lane_that_never_comes() {
    let (ann, ben) = (owner(1), owner(2));
    let (turns, woken) = turns(1);
    let first = turns.take(ann).await;
    assert!(turns.enter(ben, lane(2)).is_none());
    drop(first);
    assert_eq!(*woken.lock(), [lane(2)]);
    let next = timeout(3 * KEPT_FOR, turns.take(ann)).await;
    drop(next.expect("whoever waits gets it"));
    assert!(turns.enter(ben, lane(2)).is_some(), "it may come later");
}

#[tokio::test]
async fn who_stops_waiting_holds_up_nobody() {
    let (ann, ben) = (owner(1), owner(2));
    let (turns, _) = turns(1);
    let first = turns.take(ann).await;
    assert!(timeout(SOON, turns.take(ben)).await.is_err());
    drop(first);
    assert!(turns.enter(ann, lane(1)).is_some());
}
