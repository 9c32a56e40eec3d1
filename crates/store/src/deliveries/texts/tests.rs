use serde_json::json;
use svc_core::{
    EventId, SinkId, SpaceId, Timestamp, UserId, pattern::Pattern, subscription::Subscription,
};
use svc_protocol::api::{Attempt, DeliveryState, SinkType, WebhookConfig};
use uuid::Uuid;

use super::*;
use crate::{
    Store,
    deliveries::{self, DeliveryPage},
    engines::{TestEngine, on_each_engine},
    events::usage,
    lanes::{self, Withdrawal},
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
        config: SinkConfig::Webhook(WebhookConfig {
            url: "https://example.org".to_owned(),
            ..WebhookConfig::default()
        }),
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

/// Removes the deliveries of removed lanes.
async fn clear_removed(store: &Store) {
    let clearing = store.write(|tx| {
        while lanes::clear_removed(tx, "")?.is_some() {}
        Ok(())
    });
    clearing.await.expect("cleared");
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
    fill_with(store, sink, deliveries, vec![attempt(1_000), attempt(500)]).await
}

/// A lane with this many deliveries. Each delivery ended after these attempts.
async fn fill_with(
    store: &Store,
    sink: SinkRow,
    deliveries: u32,
    attempts: Vec<Attempt>,
) -> LaneId {
    let writing = store.write(move |tx| {
        sinks::insert(tx, &sink)?;
        let lane = sinks::status(tx, sink.id)?
            .lane
            .expect("a webhook has a lane");
        for number in 1..=deliveries {
            let at = Timestamp(i64::from(number));
            let event = (EventId(Uuid::from_u128(number.into())), "custom.x");
            let n = lanes::enqueue(tx, lane, event, at)?.expect("it fits");
            for attempt in &attempts {
                deliveries::insert_attempt(tx, (lane, n), attempt, true)?;
            }
            deliveries::finish(tx, lane, n, DeliveryState::Delivered, at)?;
            lanes::turn::recount(tx, lane)?;
        }
        Ok(lane)
    });
    writing.await.expect("committed")
}

/// The counter of an owner, checked against the texts of the stored attempts.
async fn counted(store: &Store, owner: Option<UserId>) -> u64 {
    let reading = store.read(move |tx| {
        let key = owner.map_or("global".to_owned(), |owner| owner.to_string());
        let sum: u64 = tx.get(
            "SELECT CAST(COALESCE(SUM(64 + COALESCE(octet_length(a.exchange), 0)
                 + COALESCE(octet_length(a.output), 0) + COALESCE(octet_length(a.error), 0)), 0)
                 AS BIGINT) AS bytes
             FROM attempts a JOIN lanes l ON l.id = a.lane_id
             WHERE l.owner_key = ?1 AND a.output_omitted = 0
                 AND (a.exchange IS NOT NULL OR a.output IS NOT NULL OR a.error IS NOT NULL)",
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
    clear_removed(&store).await;
    assert_eq!(counted(&store, Some(ANN)).await, 0);
}

async fn the_oldest_texts_make_room_and_the_last_attempts_stay(engine: &TestEngine) {
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
            let last = one.attempts.last().expect("an attempt");
            (one.n, one.attempts.len(), last.exchange.is_some())
        })
        .collect();
    assert_eq!(
        kept,
        [(4, 2, true), (3, 2, true), (2, 1, false), (1, 1, false)]
    );
}

/// A large event needs the room of many short texts. Otherwise every repetition of its emit would be
/// refused, although there is room.
async fn as_many_short_texts_are_removed_as_a_large_event_needs(engine: &TestEngine) {
    let store = engine.open().await;
    let short = Attempt {
        output: None,
        ..answered(Some("x"), "")
    };
    fill_with(&store, sink(1, &ANN.to_string()), 1_000, vec![short]).await;
    let all = counted(&store, Some(ANN)).await;
    assert_eq!(all, 1_000 * 65);
    let make_room = async |owner: u64| {
        let newest = EventId(Uuid::from_u128(9));
        let limits = usage::Limits { owner, server: 0 };
        let making = store.write(move |tx| usage::make_room(tx, ANN, newest, limits));
        assert!(making.await.expect("committed").fits);
        counted(&store, Some(ANN)).await
    };
    assert_eq!(make_room(250 * 65).await, 250 * 65, "more than 500 removed");
    // The slack for the next emits is a part of the limit.
    assert_eq!(make_room(200 * 65).await, 196 * 65);
}

/// An attempt without an exchange.
fn answered(error: Option<&str>, output: &str) -> Attempt {
    Attempt {
        error: error.map(str::to_owned),
        output: Some(output.to_owned()),
        exchange: None,
        ..attempt(1)
    }
}

/// A lane with one waiting delivery.
async fn queue_one(store: &Store, sink: SinkRow) -> (LaneId, u64) {
    let writing = store.write(move |tx| {
        sinks::insert(tx, &sink)?;
        let lane = sinks::status(tx, sink.id)?.lane.expect("a lane");
        let event = (EventId(Uuid::from_u128(1)), "custom.x");
        let n = lanes::enqueue(tx, lane, event, Timestamp(1))?.expect("it fits");
        Ok((lane, n))
    });
    writing.await.expect("committed")
}

async fn insert(store: &Store, delivery: (LaneId, u64), attempt: Attempt, has_room: bool) {
    let write = move |tx: &mut Tx<'_>| deliveries::insert_attempt(tx, delivery, &attempt, has_room);
    store.write(write).await.expect("committed");
}

async fn attempts_of(store: &Store, (lane, n): (LaneId, u64)) -> Vec<Attempt> {
    let found = store.read(move |tx| deliveries::find(tx, lane, n));
    found.await.expect("read").expect("a delivery").attempts
}

async fn outputs_and_errors_are_counted_until_they_are_removed(engine: &TestEngine) {
    let store = engine.open().await;
    let delivery = queue_one(&store, sink(1, &ANN.to_string())).await;
    insert(
        &store,
        delivery,
        answered(Some("no"), &"x".repeat(16_000)),
        true,
    )
    .await;
    assert_eq!(counted(&store, Some(ANN)).await, 64 + 2 + 16_000);
    // Of a success, at most 1 KiB is stored, and never a part of a character.
    insert(&store, delivery, answered(None, &"ü".repeat(8_000)), true).await;
    assert_eq!(
        counted(&store, Some(ANN)).await,
        64 + 2 + 16_000 + 64 + 1_024
    );
    // An attempt without any text costs nothing.
    let empty = Attempt {
        output: None,
        ..answered(None, "")
    };
    insert(&store, delivery, empty, true).await;
    assert_eq!(
        counted(&store, Some(ANN)).await,
        64 + 2 + 16_000 + 64 + 1_024
    );
    assert_eq!(attempts_of(&store, delivery).await.len(), 3);
    // The counter is the same after a restart.
    store.close().await;
    let store = engine.open().await;
    assert_eq!(
        counted(&store, Some(ANN)).await,
        64 + 2 + 16_000 + 64 + 1_024
    );
    let deleted = store.write(|tx| sinks::delete(tx, SinkId(Uuid::from_u128(1))));
    deleted.await.expect("deleted");
    clear_removed(&store).await;
    assert_eq!(counted(&store, Some(ANN)).await, 0);
}

async fn an_owner_without_room_keeps_one_short_attempt_of_each_delivery(engine: &TestEngine) {
    let store = engine.open().await;
    let delivery = queue_one(&store, sink(1, &ANN.to_string())).await;
    insert(&store, delivery, answered(Some("first"), "a"), true).await;
    for _ in 0..3 {
        let failed = answered(Some(&"e".repeat(5_000)), &"x".repeat(16_000));
        insert(&store, delivery, failed, false).await;
    }
    assert_eq!(counted(&store, Some(ANN)).await, 0);
    let attempts = attempts_of(&store, delivery).await;
    assert_eq!(attempts.len(), 1);
    assert!(attempts[0].output_omitted && attempts[0].output.is_none());
    assert_eq!(attempts[0].error.as_deref(), Some(&*"e".repeat(200)));
    // With room again, attempts are counted again.
    insert(&store, delivery, answered(Some("later"), "bc"), true).await;
    assert_eq!(counted(&store, Some(ANN)).await, 64 + 5 + 2);
    assert_eq!(attempts_of(&store, delivery).await.len(), 2);
}

async fn attempts_of_a_removed_subscription_are_not_counted(engine: &TestEngine) {
    let store = engine.open().await;
    let space = SpaceId(Uuid::from_u128(9));
    let subscription = Subscription {
        method: svc_core::CanonicalName::parse("a.b").expect("valid"),
        patterns: Pattern::parse_list("custom.*").expect("valid"),
        formatters: Vec::new(),
        holds: false,
    };
    let writing = store.write(move |tx| {
        let declared = lanes::declare(tx, ANN, space, &[subscription])?;
        let lane = declared.lanes[0];
        let event = (EventId(Uuid::from_u128(1)), "custom.x");
        let n = lanes::enqueue(tx, lane, event, Timestamp(1))?.expect("it fits");
        Ok((lane, n))
    });
    let delivery = writing.await.expect("committed");
    insert(&store, delivery, answered(Some("no"), "xyz"), true).await;
    assert_eq!(counted(&store, Some(ANN)).await, 64 + 2 + 3);
    let withdrawing = store.write(move |tx| lanes::withdraw_space(tx, space, Withdrawal::All));
    assert_eq!(withdrawing.await.expect("withdrawn").len(), 1);
    clear_removed(&store).await;
    assert_eq!(counted(&store, Some(ANN)).await, 0);
}

on_each_engine!(
    exchanges_are_listed_on_request_and_counted_until_they_are_removed,
    the_oldest_texts_make_room_and_the_last_attempts_stay,
    as_many_short_texts_are_removed_as_a_large_event_needs,
    outputs_and_errors_are_counted_until_they_are_removed,
    an_owner_without_room_keeps_one_short_attempt_of_each_delivery,
    attempts_of_a_removed_subscription_are_not_counted,
);
