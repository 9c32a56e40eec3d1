use serde_json::json;
use svc_core::{
    SpaceId, Timestamp,
    event::{Actor, Event},
    json_text::JsonText,
};
use uuid::Uuid;

use super::*;
use crate::{
    Store, dispatch,
    engines::{TestEngine, on_each_engine},
    events,
};

const ANN: UserId = UserId(Uuid::from_u128(1));
const LIMITS: Limits = Limits {
    owner: 10 * 1_000,
    server: 5 * 1_000,
};

/// An event that counts as 1,000 bytes.
fn event(number: u32) -> Event {
    let at = Timestamp(1_700_000_000_000 + i64::from(number));
    Event {
        id: events::first_id_at(at),
        r#type: "custom.x".to_owned(),
        ts: at,
        owner_id: ANN,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&json!({"text": "x".repeat(477)})),
        trace: None,
    }
}

async fn insert_some(store: &Store, numbers: std::ops::Range<u32>) {
    let inserting = store.write(move |tx| {
        let mut numbers = numbers;
        numbers.try_for_each(|number| dispatch::store_event(tx, &event(number)))
    });
    inserting.await.expect("committed");
}

/// Inserts a waiting delivery of an event, in a lane of this owner.
async fn need(store: &Store, number: u32, owner_key: &'static str) {
    let writing = store.write(move |tx| {
        let lane = Uuid::from_u128(owner_key.len() as u128).to_string();
        tx.execute(
            "INSERT INTO lanes (id, delivery_kind, owner_key, owner_id, method, patterns, formatters, active,
                 tail, depth, next_at, failures, starts, lease_until, fence, dropped)
             VALUES (?1, 'method', ?2, ?2, 'm', '*', '[]', 1, 0, 0, 0, 0, 0, 0, 0, 0)
             ON CONFLICT (id) DO NOTHING",
            values![&lane, owner_key],
        )?;
        tx.execute(
            "INSERT INTO deliveries (lane_id, n, event_id, event_type, state, queued_at)
             VALUES (?1, ?2, ?3, 'custom.x', 'pending', 0)",
            values![&lane, number, event(number).id],
        )
    });
    writing.await.expect("committed");
}

async fn room(store: &Store, newest: u32) -> bool {
    let making = store.write(move |tx| make_room(tx, ANN, event(newest).id, LIMITS));
    making.await.expect("committed").fits
}

/// The counters of the owner and of the server, checked against the stored events.
async fn counted(store: &Store) -> (u64, u64) {
    let reading = store.read(|tx| {
        let counted = (bytes_of(tx, Some(ANN))?, bytes_of(tx, None)?);
        for (key, bytes) in [(ANN.to_string(), counted.0), (GLOBAL.to_owned(), counted.1)] {
            let sum: u64 = tx.get(
                "SELECT CAST(COALESCE(SUM(octet_length(data) + 512), 0) AS BIGINT) AS bytes
                 FROM events WHERE COALESCE(charged_to, owner_id) = ?1",
                values![key],
            )?;
            assert_eq!(sum, bytes);
        }
        Ok(counted)
    });
    reading.await.expect("read")
}

async fn stored(store: &Store) -> Vec<i64> {
    let reading = store.read(|tx| {
        tx.query("SELECT ts FROM events ORDER BY id", &[])?
            .iter()
            .map(|row| Ok(row.get::<i64>("ts")? - 1_700_000_000_000))
            .collect::<Result<Vec<_>, StoreError>>()
    });
    reading.await.expect("read")
}

async fn the_oldest_events_that_no_lane_needs_make_room(engine: &TestEngine) {
    let store = engine.open().await;
    insert_some(&store, 0..12).await;
    need(&store, 0, "somebody").await;
    assert!(room(&store, 11).await);
    let (owner, server) = counted(&store).await;
    assert!(owner <= LIMITS.owner, "{owner}");
    assert_eq!(server, 0);
    let left = stored(&store).await;
    assert_eq!(left[0], 0, "a lane needs it");
    assert_eq!(left.last(), Some(&11));
    assert!(!left.contains(&1), "{left:?}");
}

async fn events_that_lanes_of_the_owner_need_are_not_removed(engine: &TestEngine) {
    let store = engine.open().await;
    insert_some(&store, 0..11).await;
    for number in 0..10 {
        need(&store, number, "somebody").await;
    }
    assert!(!room(&store, 10).await);
    assert_eq!(stored(&store).await.len(), 11);
}

async fn events_that_only_global_sinks_need_count_for_the_server(engine: &TestEngine) {
    let store = engine.open().await;
    insert_some(&store, 0..12).await;
    for number in 0..12 {
        need(&store, number, "global").await;
    }
    assert!(room(&store, 11).await);
    let (owner, server) = counted(&store).await;
    assert!(owner <= LIMITS.owner && server > 0, "{owner} {server}");
    // The server has a limit as well.
    insert_some(&store, 12..20).await;
    for number in 12..20 {
        need(&store, number, "global").await;
    }
    assert!(!room(&store, 19).await);
    assert!(counted(&store).await.1 <= LIMITS.server);
    assert_eq!(stored(&store).await.len(), 20);
    // No lane needs delivered events. The oldest are removed, and the server's counter decreases.
    let finishing = store.write(|tx| tx.execute("UPDATE deliveries SET state = 'delivered'", &[]));
    finishing.await.expect("committed");
    assert!(room(&store, 19).await);
    assert_eq!(counted(&store).await.1, 0);
}

async fn removed_events_are_subtracted_from_the_counter(engine: &TestEngine) {
    let store = engine.open().await;
    insert_some(&store, 0..5).await;
    let before = Timestamp(1_700_000_000_003);
    let pruning = store.write(move |tx| events::prune(tx, EventId::NIL, (before, before), 100));
    assert_eq!(pruning.await.map(|pruned| pruned.events), Ok(3));
    assert_eq!(counted(&store).await.0, 2 * 1_000);
}

on_each_engine!(
    the_oldest_events_that_no_lane_needs_make_room,
    events_that_lanes_of_the_owner_need_are_not_removed,
    events_that_only_global_sinks_need_count_for_the_server,
    removed_events_are_subtracted_from_the_counter,
);
