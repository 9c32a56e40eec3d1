//! Refills and feeds on both engines.

use serde_json::json;
use svc_core::{
    CanonicalName, SpaceId,
    event::{Actor, Event},
    json_text::JsonText,
    subscription::Subscription,
};
use uuid::Uuid;

use super::*;
use crate::{
    Store,
    dispatch::{self, LaneChange},
    engines::{TestEngine, on_each_engine},
    lanes::{self, FeedSelection, Withdrawal},
};

const ANN: UserId = UserId(Uuid::from_u128(7));
const LAB: SpaceId = SpaceId(Uuid::from_u128(8));

async fn write<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    store.write(work).await.expect("committed")
}

async fn declare(store: &Store, method: &str, holds: bool) -> LaneId {
    let subscription = Subscription {
        method: CanonicalName::parse(method).expect("valid"),
        patterns: Pattern::parse_list("custom.*").expect("valid"),
        formatters: Vec::new(),
        holds,
    };
    let declaring = move |tx: &mut Tx<'_>| lanes::declare(tx, ANN, LAB, &[subscription]);
    write(store, declaring).await.lanes[0]
}

/// An event whose id contains the time `at`, in milliseconds.
fn event(at: i64, owner: UserId) -> Event {
    Event {
        id: events::first_id_at(Timestamp(1_700_000_000_000 + at)),
        r#type: "custom.x".to_owned(),
        ts: Timestamp(1_700_000_000_000 + at),
        owner_id: owner,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&json!({})),
        trace: None,
    }
}

async fn insert(store: &Store, at: i64, owner: UserId) -> EventId {
    let event = event(at, owner);
    let id = event.id;
    write(store, move |tx| dispatch::store_event(tx, &event)).await;
    id
}

fn begin_refill(tx: &mut Tx<'_>, lane: LaneId, from: u64) -> Result<(), StoreError> {
    let change = LaneChange {
        refill_from: Some(from),
        ..LaneChange::default()
    };
    dispatch::change_lane(tx, lane, &change)
}

async fn find(store: &Store, lane: LaneId) -> RefillLane {
    write(store, move |tx| find_refill(tx, lane))
        .await
        .expect("there")
}

async fn numbers_follow_commits_and_are_not_used_again(engine: &TestEngine) {
    let store = engine.open().await;
    assert_eq!(write(&store, events::newest_number).await, 0);
    let other = UserId(Uuid::from_u128(9));
    let late = insert(&store, 9, ANN).await;
    let foreign = insert(&store, 5, other).await;
    let early = insert(&store, 1, ANN).await;
    let list = |owner, from| move |tx: &mut Tx<'_>| events::list_numbered(tx, owner, from, 10);
    let all = write(&store, list(None, 0)).await;
    let ids: Vec<_> = all.iter().map(|event| event.id).collect();
    assert_eq!(ids, [late, foreign, early]);
    let own = write(&store, list(Some(ANN), 2)).await;
    assert_eq!(own.len(), 1);
    assert_eq!((own[0].id, own[0].seq), (early, 3));
    let before = Timestamp(1_800_000_000_000);
    let prune = move |tx: &mut Tx<'_>| events::prune(tx, EventId::NIL, (before, before), 10);
    assert_eq!(write(&store, prune).await.events, 3);
    insert(&store, 20, ANN).await;
    assert_eq!(write(&store, events::newest_number).await, 4);
}

async fn a_lane_is_ready_when_it_is_behind_and_has_room(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = declare(&store, "a", true).await;
    let owners = || write(&store, list_ready_owners);
    assert_eq!(owners().await, Vec::<String>::new());
    insert(&store, 1, ANN).await;
    let held = event(2, ANN);
    let ids = (held.id, held.r#type.clone());
    write(&store, move |tx| {
        dispatch::store_event(tx, &held)?;
        begin_refill(tx, lane, 2)
    })
    .await;
    insert(&store, 3, ANN).await;
    assert_eq!(find(&store, lane).await.refill_from, Some(2));
    assert_eq!(owners().await, [ANN.to_string()]);
    let ready = move |tx: &mut Tx<'_>| find_ready(tx, &ANN.to_string(), LaneId::NIL);
    assert_eq!(write(&store, ready).await.map(|lane| lane.id), Some(lane));
    // 51 deliveries wait in a queue with room for 100, so less than half of the queue is empty.
    let appended = ids.clone();
    let first = write(&store, move |tx| {
        let many = vec![(appended.0, appended.1.as_str()); 51];
        append(tx, lane, &many, Timestamp(0))
    })
    .await;
    assert_eq!(first, Some(1));
    assert_eq!(owners().await, Vec::<String>::new());
    let none = write(&store, move |tx| {
        let many = vec![(ids.0, ids.1.as_str()); 50];
        append(tx, lane, &many, Timestamp(0))
    })
    .await;
    assert_eq!(none, None, "no room for all");
    write(&store, move |tx| move_refill(tx, lane, 3)).await;
    assert_eq!(find(&store, lane).await.refill_from, Some(3));
    write(&store, move |tx| move_refill(tx, lane, 4)).await;
    assert_eq!(find(&store, lane).await.refill_from, None);
    write(&store, move |tx| {
        count_filter_errors(tx, lane, 2, "one")?;
        count_filter_errors(tx, lane, 1, "two")
    })
    .await;
    let errors: (u64, String) = write(&store, move |tx| {
        tx.get(
            "SELECT filter_errors, filter_error FROM lanes WHERE id = ?1",
            values![lane],
        )
    })
    .await;
    assert_eq!(errors, (3, "two".to_owned()));
}

async fn retention_keeps_the_events_that_a_lane_needs_and_reports_lost_events(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = declare(&store, "a", true).await;
    insert(&store, 1, ANN).await;
    let held = event(2, ANN);
    let first = held.id;
    write(&store, move |tx| {
        dispatch::store_event(tx, &held)?;
        begin_refill(tx, lane, 2)
    })
    .await;
    let last = insert(&store, 3, ANN).await;
    insert(&store, 4, UserId(Uuid::from_u128(9))).await;
    let before = Timestamp(1_800_000_000_000);
    let spare = move |tx: &mut Tx<'_>| events::prune(tx, EventId::NIL, (before, Timestamp(0)), 10);
    let pruned = write(&store, spare).await;
    assert_eq!((pruned.events, pruned.lost.len()), (2, 0));
    let hard = move |tx: &mut Tx<'_>| events::prune(tx, EventId::NIL, (before, before), 1);
    let pruned = write(&store, hard).await;
    assert_eq!((pruned.events, pruned.next), (1, Some(first)));
    assert_eq!((pruned.lost[0].events, pruned.lost[0].first), (1, first));
    let pruned = write(&store, hard).await;
    assert_eq!(pruned.lost[0].last, last);
    assert_eq!(write(&store, hard).await.next, None);
}

async fn feeds_are_processed_one_after_the_other(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = declare(&store, "a", false).await;
    let numbers = |n: u64| FeedSelection::Deliveries { numbers: vec![n] };
    for n in [1, 2] {
        write(&store, move |tx| {
            let feed = lanes::NewFeed {
                selection: numbers(n),
                position: "0".to_owned(),
                total: 9,
                started_at: Timestamp(5),
            };
            lanes::add_feed(tx, lane, &feed)
        })
        .await;
    }
    assert_eq!(write(&store, list_ready_owners).await, [ANN.to_string()]);
    let feed = move |tx: &mut Tx<'_>| lanes::find_feed(tx, lane);
    let first = write(&store, feed).await.expect("a feed");
    assert_eq!((first.n, first.selection), (1, numbers(1)));
    write(&store, move |tx| lanes::move_feed(tx, lane, 1, ("7", 4))).await;
    assert_eq!(write(&store, feed).await.expect("a feed").position, "7");
    let progress = write(&store, move |tx| lanes::list_progress(tx, lane)).await;
    let counts = progress
        .iter()
        .map(|one| (one.total, one.queued, one.since));
    let since = Timestamp(5);
    assert_eq!(counts.collect::<Vec<_>>(), [(9, 4, since), (9, 0, since)]);
    write(&store, move |tx| lanes::end_feed(tx, lane, 1)).await;
    assert_eq!(write(&store, feed).await.expect("a feed").n, 2);
    write(&store, move |tx| lanes::end_feed(tx, lane, 2)).await;
    assert_eq!(write(&store, feed).await, None);
    assert_eq!(find(&store, lane).await.feeds, 0);
    assert_eq!(write(&store, list_ready_owners).await, Vec::<String>::new());
}

async fn dead_deliveries_are_found_once_and_linked(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = declare(&store, "a", false).await;
    let id = insert(&store, 1, ANN).await;
    write(&store, move |tx| {
        append(tx, lane, &[(id, "custom.x"); 3], Timestamp(0))?;
        for (n, at) in [(1, 10), (2, 20)] {
            let dead = svc_protocol::api::DeliveryState::Dead;
            deliveries::finish(tx, lane, n, dead, Timestamp(at))?;
        }
        Ok(())
    })
    .await;
    let dead = |since: i64| {
        move |tx: &mut Tx<'_>| {
            let until = deliveries::newest(tx, lane)?;
            let (mut found, mut next) = (Vec::new(), Some(0));
            while let Some(after) = next {
                let window = deliveries::list_dead(tx, lane, (after, until), Timestamp(since), 1)?;
                found.extend(window.deliveries.iter().map(|past| past.n));
                next = window.next;
            }
            Ok(found)
        }
    };
    assert_eq!(write(&store, dead(0)).await, [1, 2]);
    assert_eq!(write(&store, dead(15)).await, [2]);
    write(&store, move |tx| deliveries::link_resend(tx, lane, 2, 3)).await;
    assert_eq!(write(&store, dead(0)).await, [1]);
    let past = move |n| move |tx: &mut Tx<'_>| deliveries::find_past(tx, lane, n);
    assert!(write(&store, past(2)).await.is_some());
    assert!(write(&store, past(3)).await.is_none(), "3 waits");
    let linked = write(&store, move |tx| deliveries::find(tx, lane, 3)).await;
    assert_eq!(linked.expect("there").resend_of, Some(2));
    let filter = events::Filter {
        undelivered_by: Some(lane),
        ..events::Filter::default()
    };
    let list = move |tx: &mut Tx<'_>| events::list_after(tx, &filter, EventId::NIL, 10);
    assert_eq!(write(&store, list).await.events, [], "3 waits");
}

async fn a_lane_that_holds_events_stays_when_its_space_is_stopped(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = declare(&store, "a", true).await;
    let withdraw = |which| move |tx: &mut Tx<'_>| lanes::withdraw_space(tx, LAB, which);
    assert_eq!(write(&store, withdraw(Withdrawal::ExceptHolding)).await, []);
    assert_eq!(find(&store, lane).await.id, lane);
    assert_eq!(declare(&store, "a", false).await, lane);
    let removed = write(&store, withdraw(Withdrawal::ExceptHolding)).await;
    assert_eq!(removed.len(), 1);
}

on_each_engine!(
    numbers_follow_commits_and_are_not_used_again,
    a_lane_is_ready_when_it_is_behind_and_has_room,
    retention_keeps_the_events_that_a_lane_needs_and_reports_lost_events,
    feeds_are_processed_one_after_the_other,
    dead_deliveries_are_found_once_and_linked,
    a_lane_that_holds_events_stays_when_its_space_is_stopped,
);
