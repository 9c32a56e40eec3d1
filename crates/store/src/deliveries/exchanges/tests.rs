use serde_json::json;
use svc_core::{EventId, SinkId, Timestamp, UserId, pattern::Pattern};
use svc_protocol::api::{Attempt, DeliveryState, SinkType};
use uuid::Uuid;

use super::*;
use crate::{
    Store,
    deliveries::{self, DeliveryPage},
    engines::{TestEngine, on_each_engine},
    events::usage,
    lanes,
    sinks::{self, SinkConfig, SinkRow},
};

const ANN: UserId = UserId(Uuid::from_u128(1));

fn sink(number: u128, owner_key: &str) -> SinkRow {
    SinkRow {
        id: SinkId(Uuid::from_u128(number)),
        owner_key: owner_key.to_owned(),
        owner_id: ANN,
        name: format!("sink {number}"),
        description: String::new(),
        patterns: Pattern::parse_list("custom.*").expect("valid"),
        kind: SinkType::Webhook,
        active: true,
        config: SinkConfig::Webhook {
            url: "https://example.org".to_owned(),
            headers: Default::default(),
            body_template: None,
            options: Default::default(),
        },
        policy: Default::default(),
        paused: None,
        secret: None,
        previous_secret: None,
        previous_until: None,
        sealed_headers: None,
        sealed_client_key: None,
        created_at: Timestamp(0),
    }
}

fn attempt(bytes: usize) -> Attempt {
    let exchange = json!({
        "request": {
            "url": "https://example.org", "line": "POST / HTTP/1.1", "headers": [],
            "body": "x".repeat(bytes), "body_bytes": bytes,
        },
        "response": {"status": 200, "headers": [{"name": "a", "value": "\u{0}ä"}]},
        "timing": {"first_byte": 0.1, "total": 1.5},
        "remote_address": "192.0.2.1:443",
    });
    serde_json::from_value(json!({
        "at": "2026-11-16T00:00:00.000Z", "status": 200, "ms": 1, "error": null, "output": null,
        "exchange": exchange,
    }))
    .expect("an attempt")
}

/// A lane with this many deliveries. Each delivery ended after two attempts, whose request and
/// response were recorded.
async fn fill(store: &Store, sink: SinkRow, deliveries: u32) -> LaneId {
    let writing = store.write(move |tx| {
        sinks::insert(tx, &sink)?;
        let lane = sinks::status(tx, sink.id)?
            .lane
            .expect("a webhook has a lane");
        for number in 1..=deliveries {
            let at = Timestamp(i64::from(number));
            let event = (EventId(Uuid::from_u128(number.into())), "custom.x");
            let n = lanes::enqueue(tx, lane, event, at)?.expect("it fits");
            deliveries::insert_attempt(tx, lane, n, &attempt(1_000))?;
            deliveries::insert_attempt(tx, lane, n, &attempt(500))?;
            deliveries::finish(tx, lane, n, DeliveryState::Delivered, at)?;
            lanes::turn::recount(tx, lane)?;
        }
        Ok(lane)
    });
    writing.await.expect("committed")
}

/// The counter of an owner, checked against the stored exchanges.
async fn counted(store: &Store, owner: Option<UserId>) -> u64 {
    let reading = store.read(move |tx| {
        let key = owner.map_or("global".to_owned(), |owner| owner.to_string());
        let sum: u64 = tx.get(
            "SELECT CAST(COALESCE(SUM(octet_length(a.exchange)), 0) AS BIGINT) AS bytes
             FROM attempts a JOIN lanes l ON l.id = a.lane_id WHERE l.owner_key = ?1",
            values![&key],
        )?;
        let by_delivery: u64 = tx.get(
            "SELECT CAST(COALESCE(SUM(d.exchange_bytes), 0) AS BIGINT) AS bytes
             FROM deliveries d JOIN lanes l ON l.id = d.lane_id WHERE l.owner_key = ?1",
            values![&key],
        )?;
        assert_eq!((sum, by_delivery), (usage::bytes_of(tx, owner)?, sum));
        Ok(sum)
    });
    reading.await.expect("read")
}

async fn exchanges_are_listed_on_request_and_counted_until_they_are_removed(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = fill(&store, sink(1, &ANN.to_string()), 4).await;
    fill(&store, sink(2, "global"), 1).await;
    let all = counted(&store, Some(ANN)).await;
    assert!(all > 4 * 1_500, "{all}");
    assert!(counted(&store, None).await > 1_500);

    let page = DeliveryPage::parse(None, Some(2)).expect("valid");
    let listed = store.read(move |tx| {
        let with = deliveries::list(tx, lane, None, page.with_exchanges(true))?;
        Ok((deliveries::list(tx, lane, None, page)?, with))
    });
    let (without, with) = listed.await.expect("read");
    assert!(
        without
            .items
            .iter()
            .all(|one| one.attempts[0].exchange.is_none())
    );
    assert_eq!(with.items[0].attempts[0], attempt(1_000));
    assert_eq!(with.items[1].attempts[1], attempt(500));

    let pruned = store.write(|tx| deliveries::prune(tx, Timestamp(2), 100));
    assert_eq!(pruned.await.expect("pruned"), 2, "one of each lane");
    assert_eq!(counted(&store, Some(ANN)).await, all / 4 * 3);
    assert_eq!(counted(&store, None).await, 0);
    let pruned = store.write(|tx| deliveries::prune_beyond(tx, 2, 100));
    assert_eq!(pruned.await.expect("pruned"), 1);
    assert_eq!(counted(&store, Some(ANN)).await, all / 2);
    let deleted = store.write(|tx| sinks::delete(tx, SinkId(Uuid::from_u128(1))));
    deleted.await.expect("deleted");
    assert_eq!(counted(&store, Some(ANN)).await, 0);
}

async fn the_oldest_exchanges_make_room_and_their_attempts_stay(engine: &TestEngine) {
    let store = engine.open().await;
    let lane = fill(&store, sink(1, &ANN.to_string()), 4).await;
    let all = counted(&store, Some(ANN)).await;
    let limits = usage::Limits {
        owner: all / 4 * 3,
        server: 0,
    };
    let newest = EventId(Uuid::from_u128(9));
    let making = store.write(move |tx| usage::make_room(tx, ANN, newest, limits));
    assert!(making.await.expect("committed").fits);
    assert_eq!(counted(&store, Some(ANN)).await, all / 2);
    let page = DeliveryPage::parse(None, None)
        .expect("valid")
        .with_exchanges(true);
    let listed = store.read(move |tx| deliveries::list(tx, lane, None, page));
    let kept: Vec<_> = listed
        .await
        .expect("read")
        .items
        .iter()
        .map(|one| {
            (
                one.n,
                one.attempts.len(),
                one.attempts[1].exchange.is_some(),
            )
        })
        .collect();
    assert_eq!(
        kept,
        [(4, 2, true), (3, 2, true), (2, 2, false), (1, 2, false)]
    );
}

on_each_engine!(
    exchanges_are_listed_on_request_and_counted_until_they_are_removed,
    the_oldest_exchanges_make_room_and_their_attempts_stay,
);
