//! The cost of reads does not grow with the stored history: on a store with a long history, every
//! read of a page or of a window stays within the budget of [`Store::read`]. A read of the whole
//! history exceeds this budget many times.

use svc_core::{
    CanonicalName, EventId, LaneId, SpaceId, Timestamp, UserId,
    event::{Actor, Event},
    json_text::JsonText,
    pattern::Pattern,
    subscription::Subscription,
};
use svc_protocol::api::{AuditQuery, DeliveryState};
use uuid::Uuid;

use crate::{
    PageRequest, Store, StoreError, StoreOptions, Tx, audit,
    deliveries::{self, DeliveryPage},
    dispatch,
    engines::TestEngine,
    events::{self, Filter, Search},
    lanes,
    sql::values,
};

const ANN: UserId = UserId(Uuid::from_u128(1));
const BEN: UserId = UserId(Uuid::from_u128(2));
const LAB: SpaceId = SpaceId(Uuid::from_u128(3));
const START: i64 = 1_700_000_000_000;
/// The number of events, of audit entries and of deliveries.
const STORED: i64 = 100_000;
/// About twice the cost of the largest window.
const STEPS: u32 = 200_000;

/// A store with a long history of ann, and a lane that has checked none of its events.
async fn long_history(engine: &TestEngine) -> (Store, LaneId) {
    let options = StoreOptions {
        point_steps: STEPS,
        ..StoreOptions::default()
    };
    let store = engine.open_with(options).await;
    let filling = store.write(|tx| {
        let subscription = Subscription {
            method: CanonicalName::parse("held").expect("valid"),
            patterns: Pattern::parse_list("*").expect("valid"),
            formatters: Vec::new(),
            holds: true,
        };
        let lane = lanes::declare(tx, ANN, LAB, &[subscription])?.lanes[0];
        let first = Event {
            id: events::first_id_at(Timestamp(START)),
            r#type: "custom.x".to_owned(),
            ts: Timestamp(START),
            owner_id: ANN,
            space_id: LAB,
            actor: Actor::system(),
            data: JsonText::from(&serde_json::json!({})),
            trace: None,
        };
        dispatch::store_event(tx, &first)?;
        let entry = audit::Entry::by_system(
            Timestamp(START),
            "event_sink.updated",
            ("sink", "x".to_owned()),
            serde_json::json!({}),
        );
        audit::append(tx, &entry)?;
        fill(tx, lane)?;
        Ok(lane)
    });
    let lane = filling.await.expect("filled");
    (store, lane)
}

fn fill(tx: &mut Tx<'_>, lane: LaneId) -> Result<(), StoreError> {
    let numbers = format!(
        "WITH RECURSIVE numbers (n) AS (
             SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {STORED})"
    );
    let id = format!(
        "printf('%08x-%04x-7000-8000-%012x', ({START} + n) >> 16, ({START} + n) & 65535, n)"
    );
    tx.execute(
        &format!(
            "{numbers} INSERT INTO events (id, type, ts, owner_id, space_id, actor, data, seq)
             SELECT {id}, type, ts + n, owner_id, space_id, actor, data, seq + n
             FROM events, numbers"
        ),
        &[],
    )?;
    tx.execute(
        &format!(
            "{numbers} INSERT INTO audit (id, at, actor, action, target_type, target_id, detail)
             SELECT {id}, at + n, actor, action, target_type, target_id, detail
             FROM audit, numbers"
        ),
        &[],
    )?;
    tx.execute(
        &format!(
            "{numbers} INSERT INTO deliveries
                 (lane_id, n, event_id, event_type, state, queued_at, finished_at)
             SELECT ?1, n, {id}, 'custom.x', 'delivered', {START} + n, {START} + n FROM numbers"
        ),
        values![lane],
    )?;
    tx.execute(
        &format!(
            "{numbers} INSERT INTO attempts (lane_id, n, attempt, at, ms)
             SELECT ?1, n, 1, {START} + n, 1 FROM numbers"
        ),
        values![lane],
    )?;
    // The oldest and the newest delivery failed, and were sent again.
    tx.execute(
        "UPDATE deliveries SET state = 'dead', resent_as = n WHERE lane_id = ?1 AND n IN (1, ?2)",
        values![lane, STORED],
    )?;
    let sql = "UPDATE lanes SET tail = ?2, refill_from = 0, refilling = 1 WHERE id = ?1";
    tx.execute(sql, values![lane, STORED])
}

fn some_patterns(text: &str) -> Filter {
    Filter {
        owner: Some(ANN),
        patterns: Pattern::parse_list(text).expect("valid"),
        ..Filter::default()
    }
}

type Read = Box<dyn FnOnce(&mut Tx<'_>) -> Result<usize, StoreError> + Send>;

fn list(filter: Filter) -> Read {
    Box::new(move |tx| {
        let page = events::list(tx, &filter, PageRequest::default())?;
        Ok(page.items.len())
    })
}

fn list_after(filter: Filter) -> Read {
    Box::new(move |tx| {
        let window = events::list_after(tx, &filter, EventId::NIL, 500)?;
        assert!(window.next.is_some(), "the window has a last event");
        Ok(window.events.len())
    })
}

fn list_audit(query: AuditQuery) -> Read {
    Box::new(move |tx| {
        let page = audit::list(tx, &query, PageRequest::default())?;
        Ok(page.items.len())
    })
}

/// Reads of the history, and how many records each finds.
fn reads(lane: LaneId) -> Vec<(&'static str, Read, usize)> {
    let some = |text: &str| Some(text.to_owned());
    let middle = Some(Timestamp(START + STORED / 2));
    let ann = some_patterns("*");
    let mut reads = vec![
        ("all events", list(ann.clone()), 100),
        ("an unknown type", list(some_patterns("custom.none")), 0),
        ("an unknown prefix", list(some_patterns("none.*")), 0),
        (
            "old events",
            list(Filter {
                until: middle,
                ..ann.clone()
            }),
            100,
        ),
        (
            "no space",
            list(Filter {
                space: Some(SpaceId::NIL),
                ..ann.clone()
            }),
            0,
        ),
        (
            "the space of another user",
            list(Filter {
                owner: Some(BEN),
                space: Some(LAB),
                ..ann.clone()
            }),
            0,
        ),
        (
            "undelivered events",
            list_after(Filter {
                undelivered_by: Some(lane),
                ..ann.clone()
            }),
            0,
        ),
        (
            "newer events",
            list_after(Filter {
                since: middle,
                ..ann.clone()
            }),
            500,
        ),
        ("a later type", list_after(some_patterns("custom.none")), 0),
        (
            "an audited actor and action",
            list_audit(AuditQuery {
                actor: some("system"),
                action: some("none"),
                ..AuditQuery::default()
            }),
            0,
        ),
        (
            "two audited values",
            list_audit(AuditQuery {
                actor: some("system"),
                target_id: some("x"),
                action: some("none"),
                ..AuditQuery::default()
            }),
            0,
        ),
    ];
    let numbered = move |tx: &mut Tx<'_>| Ok(events::list_numbered(tx, Some(ANN), 0, 500)?.len());
    reads.push(("events to refill", Box::new(numbered), 500));
    let dead = move |tx: &mut Tx<'_>| {
        let all = (0, u64::MAX >> 1);
        Ok(deliveries::list_dead(tx, lane, all, Timestamp(0), 500)?
            .deliveries
            .len())
    };
    reads.push(("dead deliveries", Box::new(dead), 0));
    let page_of_dead = move |tx: &mut Tx<'_>| {
        let page = DeliveryPage::parse(None, None).expect("the first page");
        let dead = deliveries::list(tx, lane, Some(DeliveryState::Dead), page)?;
        Ok(dead.items.len())
    };
    reads.push(("a page of dead deliveries", Box::new(page_of_dead), 2));
    let since = move |tx: &mut Tx<'_>| {
        let count = events::count_since(tx, Some(ANN), Timestamp(START), 10_000)?;
        Ok(usize::try_from(count).expect("small"))
    };
    reads.push(("a count of events", Box::new(since), 10_000));
    let times = move |tx: &mut Tx<'_>| {
        let (times, oldest) = events::list_times(tx, &some_patterns("none.*"), 20_000)?;
        assert!(oldest.is_some(), "older events are not counted");
        Ok(times.len())
    };
    reads.push(("a histogram", Box::new(times), 0));
    let search = move |tx: &mut Tx<'_>| {
        let search = Search {
            text: Some("none".to_owned()),
            ..Search::default()
        };
        Ok(events::search(
            tx,
            &some_patterns("none.*"),
            &search,
            PageRequest::default(),
        )?
        .items
        .len())
    };
    reads.push(("a search", Box::new(search), 0));
    reads
}

#[tokio::test]
async fn every_statement_about_a_long_history_reads_a_bounded_number_of_rows() {
    let engine = TestEngine::embedded();
    let (store, lane) = long_history(&engine).await;
    for (name, read, expected) in reads(lane) {
        let found = store.read(read).await;
        assert_eq!(found, Ok(expected), "{name}");
    }
}

#[tokio::test]
async fn a_small_read_that_reads_the_whole_history_is_interrupted() {
    let engine = TestEngine::embedded();
    let (store, _) = long_history(&engine).await;
    let count = |tx: &mut Tx<'_>| tx.get::<i64>("SELECT COUNT(*) FROM events WHERE ts > 0", &[]);
    assert_eq!(store.read(count).await, Err(StoreError::OverBudget));
    // The budget is that of one statement, and each statement has all of it.
    for _ in 0..10 {
        let few = "SELECT COUNT(*) FROM (SELECT 1 FROM events LIMIT 10000) AS few";
        let few = store.read(move |tx| tx.get::<i64>(few, &[])).await;
        assert_eq!(few, Ok(10_000));
    }
    assert_eq!(store.read_list(ANN, count).await, Ok(STORED + 1));
    assert_eq!(store.read_table(count).await, Ok(STORED + 1));
    assert_eq!(store.for_delivery().read(count).await, Ok(STORED + 1));
}

#[tokio::test]
async fn postgres_ends_a_small_read_that_takes_too_long() {
    let Some(engine) = TestEngine::postgres() else {
        return;
    };
    let store = engine.open().await;
    let slow = |tx: &mut Tx<'_>| tx.query("SELECT 1 AS one FROM pg_sleep(4)", &[]).map(drop);
    let ended = store.read(slow).await;
    assert!(
        matches!(ended, Err(StoreError::Unavailable(_))),
        "{ended:?}"
    );
    assert_eq!(store.read_list(ANN, slow).await, Ok(()));
}
