//! The cost of an event, when it is stored and when it is removed, does not grow with the lanes of
//! its owner that it does not match.

use svc_core::{CanonicalName, SpaceId, subscription::Subscription};
use uuid::Uuid;

use super::*;
use crate::{Store, StoreOptions, dispatch, engines::TestEngine, lanes};

const ANN: UserId = UserId(Uuid::from_u128(7));
const LAB: SpaceId = SpaceId(Uuid::from_u128(8));
/// The default of the quota `methods`.
const OTHERS: usize = 20_000;
/// A statement that reads all lanes needs many times as much.
const STEPS: u32 = 10_000;

fn subscription(method: &str, patterns: &str) -> Subscription {
    Subscription {
        method: CanonicalName::parse(method).expect("valid"),
        patterns: Pattern::parse_list(patterns).expect("valid"),
        formatters: Vec::new(),
        holds: true,
    }
}

/// A store with 20,000 held lanes for other events, and the lane of the method `one`.
async fn many_lanes(engine: &TestEngine) -> (Store, LaneId) {
    let options = StoreOptions {
        point_steps: STEPS,
        ..StoreOptions::default()
    };
    let store = engine.open_with(options).await;
    let declaring = store.write(|tx| {
        let others = (0..OTHERS).map(|n| {
            let patterns = format!("custom.other{n}.*,custom.{n},space.stopped");
            subscription(&format!("m{n}"), &patterns)
        });
        let mut subscriptions: Vec<_> = others.collect();
        subscriptions.push(subscription("one", "custom.app.*"));
        let lanes = lanes::declare(tx, ANN, LAB, &subscriptions)?.lanes;
        tx.execute("UPDATE lanes SET refill_from = 1, refilling = 1", &[])?;
        Ok(*lanes.last().expect("declared"))
    });
    let lane = declaring.await.expect("committed");
    (store, lane)
}

fn removed(number: u128, r#type: &str) -> RemovedEvent {
    RemovedEvent {
        charged_to: ANN.to_string(),
        owner_id: ANN,
        id: EventId(Uuid::from_u128(number)),
        r#type: r#type.to_owned(),
        seq: u64::try_from(number).expect("small"),
        data_bytes: 1,
    }
}

#[tokio::test]
async fn an_event_reads_no_lane_that_it_does_not_match() {
    let engine = TestEngine::embedded();
    let (store, lane) = many_lanes(&engine).await;
    let read = store.read(|tx| {
        let events = [(ANN, "custom.app.x"), (ANN, "custom.none"), (ANN, "space")];
        let state = dispatch::read(tx, &events, &[], Timestamp(1))?;
        Ok(Vec::from_iter(
            state.lanes.iter().map(|lane| lane.candidate.lane),
        ))
    });
    assert_eq!(read.await, Ok(vec![lane]));
    let all = store.read(|tx| dispatch::read(tx, &[(ANN, "space.stopped")], &[], Timestamp(1)));
    assert_eq!(all.await.map(|_| ()), Err(StoreError::OverBudget));
}

#[tokio::test]
async fn a_removed_event_reads_no_lane_that_it_does_not_match() {
    let engine = TestEngine::embedded();
    let (store, lane) = many_lanes(&engine).await;
    let read = store.read(|tx| {
        let events = [(1, "custom.app.x"), (2, "custom.none"), (3, "custom.app.y")];
        list_lost(
            tx,
            &events.map(|(number, event_type)| removed(number, event_type)),
        )
    });
    let lost = read.await.expect("within the budget");
    let lost: Vec<_> = lost.iter().map(|lost| (lost.lane, lost.events)).collect();
    assert_eq!(lost, [(lane, 2)]);
}

#[tokio::test]
async fn retention_finds_the_lanes_that_need_an_event_by_an_index() {
    let engine = TestEngine::embedded();
    let (store, _) = many_lanes(&engine).await;
    let plan = store.write(|tx| {
        let explained = format!("EXPLAIN QUERY PLAN {NEEDED}");
        let values = values![EventId::NIL, EventId::NIL, EventId::NIL, 1];
        let steps = tx.query(&explained, values)?;
        steps
            .iter()
            .map(|row| row.get::<String>("detail"))
            .collect::<Result<Vec<_>, _>>()
    });
    let plan = plan.await.expect("explained");
    let by_index =
        |step: &String| step.contains("lanes_by_refill_from (owner_key=? AND refill_from<?)");
    assert!(plan.iter().any(by_index), "{plan:#?}");
}
