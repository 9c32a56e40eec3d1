use std::time::Duration;

use serde_json::json;
use svc_core::{EventId, SpaceId, Timestamp, UserId, event::Actor, json_text::JsonText};
use uuid::Uuid;

use super::*;
use crate::{
    audit,
    engines::{TestEngine, on_each_engine},
    lanes,
    sinks::GLOBAL,
    sql::values,
};

const ANN: UserId = UserId(Uuid::from_u128(1));

fn event(number: u128) -> Event {
    Event {
        id: EventId(Uuid::from_u128(number)),
        r#type: "custom.x".to_owned(),
        ts: Timestamp(1_000),
        owner_id: ANN,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&json!({})),
        trace: None,
    }
}

/// Inserts a sink and its lane; both ids are the number.
fn insert_sink(tx: &mut Tx<'_>, number: u32, owner_key: &str) -> Result<String, StoreError> {
    let id = Uuid::from_u128(number.into()).to_string();
    tx.execute(
        "INSERT INTO event_sinks
             (id, owner_key, owner_id, name, description, patterns, type, active, config, created_at)
         VALUES (?1, ?2, ?3, ?4, '', '[]', 'webhook', 1, '{}', 0)",
        values![&id, owner_key, ANN, format!("s{number}")],
    )?;
    tx.execute(
        "INSERT INTO lanes (id, delivery_kind, owner_key, owner_id, sink_id, patterns, formatters, active,
             tail, depth, next_at, failures, starts, lease_until, fence, dropped)
         VALUES (?1, 'webhook', ?2, ?3, ?1, '[]', '[]', 1, 1, 1, 0, 0, 0, 0, 0, 0)",
        values![&id, owner_key, ANN],
    )?;
    Ok(id)
}

fn deliver(tx: &mut Tx<'_>, lane: &str, event: &Event) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO deliveries (lane_id, n, event_id, event_type, state, queued_at)
         VALUES (?1, 1, ?2, 'custom.x', 'pending', 0)",
        values![lane, event.id],
    )?;
    tx.execute(
        "INSERT INTO attempts (lane_id, n, attempt, at, ms) VALUES (?1, 1, 1, 0, 7)",
        values![lane],
    )?;
    Ok(())
}

fn drop_at(tx: &mut Tx<'_>, sink: &str, event: &Event) -> Result<(), StoreError> {
    let entry = audit::Entry {
        // A lane that is behind drops an event long after the event happened.
        at: event.ts.plus(Duration::from_secs(3_600)),
        actor: audit::SYSTEM.to_owned(),
        action: "event_sink.dropped",
        target_type: "event_sink",
        target_id: sink.to_owned(),
        detail: json!({"event_id": event.id}),
    };
    audit::append_about_event(tx, "global", event.id, &entry)
}

/// The name of each listed sink, and the number of its attempts, if the attempts are visible.
fn attempt_counts(received: &[Received]) -> Vec<(String, Option<usize>)> {
    let count = |one: &Received| match &one.receiver {
        EventReceiver::Sink { name, .. } => (name.clone(), one.attempts.as_ref().map(Vec::len)),
        EventReceiver::Method { name, .. } => panic!("no method `{name}` was declared"),
    };
    received.iter().map(count).collect()
}

async fn with_store(
    engine: &TestEngine,
    work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
) {
    let store = engine.open().await;
    store.write(work).await.expect("committed");
}

fn reach(sinks_of: &[&str], sees_all: bool) -> Reach {
    Reach {
        methods: true,
        sinks_of: sinks_of.iter().map(|&key| key.to_owned()).collect(),
        sees_all,
    }
}

async fn receivers_of_others_do_not_count_and_show_no_attempts(engine: &TestEngine) {
    with_store(engine, |tx| {
        let (first, second) = (event(1), event(2));
        for number in 1..=DELIVERIES_MAX {
            let sink = insert_sink(tx, number, GLOBAL)?;
            deliver(tx, &sink, &first)?;
            drop_at(tx, &sink, &second)?;
        }
        let own = insert_sink(tx, 1_000, "ann")?;
        deliver(tx, &own, &first)?;
        drop_at(tx, &own, &second)?;
        let anns = reach(&["ann"], false);
        let name = "s1000".to_owned();
        assert_eq!(
            attempt_counts(&list(tx, &first, &anns)?),
            [(name.clone(), Some(1))]
        );
        assert_eq!(
            attempt_counts(&list(tx, &second, &anns)?),
            [(name, Some(0))]
        );
        let all = list(tx, &first, &reach(&["ann"], true))?;
        assert_eq!(all.len(), 500);
        assert!(all.iter().all(|one| one.attempts.is_none()));
        let global = list(tx, &first, &reach(&["ann", GLOBAL], false))?;
        let attempts = |one: &Received| one.attempts.as_ref().map(Vec::len);
        assert!(global.iter().all(|one| attempts(one) == Some(1)));
        let nothing = Reach {
            methods: false,
            ..reach(&[], false)
        };
        assert!(list(tx, &first, &nothing)?.is_empty());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_drop_of_an_event_is_found_among_many_drops() {
    with_store(&TestEngine::embedded(), |tx| {
        let sink = insert_sink(tx, 1, "ann")?;
        for number in 1..=u128::from(DELIVERIES_MAX) + 1 {
            drop_at(tx, &sink, &event(number))?;
        }
        let last = event(u128::from(DELIVERIES_MAX) + 1);
        let dropped = list(tx, &last, &reach(&["ann"], false))?;
        assert_eq!(attempt_counts(&dropped), [("s1".to_owned(), Some(0))]);
        let values = values![last.id, ANN];
        let plan = tx.query(&format!("EXPLAIN QUERY PLAN {DROPPED}"), values)?;
        let plan: String = plan[0].get("detail")?;
        assert!(plan.contains("audit_by_event"), "{plan}");
        Ok(())
    })
    .await;
}

async fn deliveries_of_a_removed_lane_are_not_listed(engine: &TestEngine) {
    with_store(engine, |tx| {
        let event = event(1);
        for number in 1..=2 {
            let sink = insert_sink(tx, number, "ann")?;
            deliver(tx, &sink, &event)?;
        }
        // Its deliveries are removed later.
        lanes::remove(tx, LaneId(Uuid::from_u128(1)))?;
        for sees_all in [false, true] {
            let listed = list(tx, &event, &reach(&["ann"], sees_all))?;
            assert_eq!(attempt_counts(&listed), [("s2".to_owned(), Some(1))]);
        }
        Ok(())
    })
    .await;
}

on_each_engine!(
    receivers_of_others_do_not_count_and_show_no_attempts,
    deliveries_of_a_removed_lane_are_not_listed,
);
