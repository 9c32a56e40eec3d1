use svc_core::{
    CanonicalName, EventId, SinkId, SpaceId, Timestamp, UserId, pattern::Pattern,
    subscription::Subscription,
};
use svc_protocol::api::{SinkType, WebhookConfig};
use uuid::Uuid;

use super::*;
use crate::{
    Store,
    engines::{TestEngine, explain, on_each_engine},
    events::usage,
    lanes::{self, LaneLease, Withdrawal, turn},
    sinks::{self, SinkConfig, SinkRow},
};

const ANN: UserId = UserId(Uuid::from_u128(1));
const BEN: UserId = UserId(Uuid::from_u128(2));
const LAB: SpaceId = SpaceId(Uuid::from_u128(3));

fn sink(number: u128, owner: UserId) -> SinkRow {
    SinkRow {
        id: SinkId(Uuid::from_u128(number)),
        owner_key: owner.to_string(),
        owner_id: owner,
        name: "hook".to_owned(),
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

async fn write<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    store.write(work).await.expect("committed")
}

/// Inserts a sink whose lane has waiting deliveries, each with an attempt of `bytes` counted bytes.
async fn insert_full(store: &Store, sink: SinkRow, (deliveries, bytes): (u32, i64)) {
    let fill = move |tx: &mut Tx<'_>| {
        sinks::insert(tx, &sink)?;
        let lane: LaneId = tx.get("SELECT id FROM lanes WHERE sink_id = ?1", values![sink.id])?;
        let numbers = format!(
            "WITH RECURSIVE numbers (n) AS (
                 SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {deliveries})"
        );
        let rows = "INSERT INTO deliveries
                (lane_id, n, event_id, event_type, state, queued_at, exchange_bytes)
            SELECT CAST(?1 AS TEXT), n, 'e', 'custom.x', 'pending', 0, CAST(?2 AS BIGINT) FROM numbers";
        tx.execute(&format!("{numbers} {rows}"), values![lane, bytes])?;
        let rows = "INSERT INTO attempts (lane_id, n, attempt, at, ms, error)
            SELECT CAST(?1 AS TEXT), n, 1, 0, 1, 'no' FROM numbers";
        tx.execute(&format!("{numbers} {rows}"), values![lane])?;
        tx.execute(
            "UPDATE lanes SET tail = ?2, depth = ?2, dropped = 7 WHERE id = ?1",
            values![lane, deliveries],
        )?;
        let all = u64::from(deliveries) * bytes.unsigned_abs();
        usage::add(tx, sink.owner_id, all)
    };
    write(store, fill).await;
}

async fn bytes_of(store: &Store, owner: UserId) -> u64 {
    write(store, move |tx| usage::bytes_of(tx, Some(owner))).await
}

/// The numbers of deliveries and of attempts of removed lanes.
async fn count_rows(store: &Store) -> (u32, u32) {
    let of_removed = |table: &str| {
        format!(
            "SELECT COUNT(*) FROM {table} WHERE lane_id IN (
                 SELECT id FROM lanes WHERE removed_from IS NOT NULL)"
        )
    };
    let (deliveries, attempts) = (of_removed("deliveries"), of_removed("attempts"));
    write(store, move |tx| {
        Ok((tx.get(&deliveries, &[])?, tx.get(&attempts, &[])?))
    })
    .await
}

/// Runs one step. Returns the owner for the next step.
async fn clear(store: &Store, after: &str) -> Option<String> {
    let after = after.to_owned();
    write(store, move |tx| clear_removed(tx, &after)).await
}

async fn a_removed_lane_is_cleared_in_small_steps_also_after_a_restart(engine: &TestEngine) {
    const MIB: i64 = 1024 * 1024;
    for (number, deliveries, bytes, per_step) in [
        (1, 1_000_u32, 64, 200_u32),
        (2, 20, MIB, 4),
        (3, 3, 10 * MIB, 1),
    ] {
        let mut store = engine.open().await;
        let all = u64::from(deliveries) * bytes.unsigned_abs();
        insert_full(&store, sink(number, ANN), (deliveries, bytes)).await;
        assert_eq!(bytes_of(&store, ANN).await, all);
        let deleted = write(&store, move |tx| {
            sinks::delete(tx, SinkId(Uuid::from_u128(number)))
        });
        assert_eq!(deleted.await.queued, deliveries);
        assert_eq!(bytes_of(&store, ANN).await, all, "still stored");
        let mut left = deliveries;
        while left > 0 {
            store.close().await;
            store = engine.open().await;
            assert_eq!(clear(&store, "").await, Some(ANN.to_string()));
            left -= per_step.min(left);
            assert_eq!(count_rows(&store).await, (left, left));
            let counted = u64::from(left) * bytes.unsigned_abs();
            assert_eq!(bytes_of(&store, ANN).await, counted);
        }
        while clear(&store, "").await.is_some() {}
        assert_eq!(bytes_of(&store, ANN).await, 0);
        let lanes = write(&store, |tx| {
            tx.get::<u32>("SELECT COUNT(*) FROM lanes", &[])
        });
        assert_eq!(lanes.await, 0);
        store.close().await;
    }
}

async fn a_sink_of_the_same_name_begins_with_an_empty_queue(engine: &TestEngine) {
    let store = engine.open().await;
    insert_full(&store, sink(1, ANN), (500, 100)).await;
    write(&store, |tx| sinks::delete(tx, SinkId(Uuid::from_u128(1)))).await;
    let statuses = write(&store, |tx| {
        let new = sink(2, ANN);
        sinks::insert(tx, &new)?;
        let queue = tx.get::<(u32, u32)>(
            "SELECT tail, depth FROM lanes WHERE sink_id = ?1",
            values![new.id],
        )?;
        assert_eq!(queue, (0, 0));
        assert_eq!(lanes::list_backlog(tx)?, []);
        Ok((sinks::status(tx, new.id)?, lanes::totals(tx)?))
    });
    let (status, totals) = statuses.await;
    assert_eq!((status.queue_depth, status.dropped), (0, 0));
    assert_eq!((totals.queued, totals.dropped), (0, 7), "drops still count");
    while clear(&store, "").await.is_some() {}
    let totals = write(&store, lanes::totals).await;
    assert_eq!((totals.queued, totals.dropped), (0, 7));
    let of_new = write(&store, |tx| sinks::status(tx, SinkId(Uuid::from_u128(2)))).await;
    assert_eq!(of_new, status);
}

async fn a_method_that_is_subscribed_again_begins_with_an_empty_queue(engine: &TestEngine) {
    let store = engine.open().await;
    let subscription = Subscription {
        method: CanonicalName::parse("a").expect("valid"),
        patterns: Pattern::parse_list("custom.*").expect("valid"),
        formatters: Vec::new(),
        holds: true,
    };
    write(&store, move |tx| {
        let again = subscription.clone();
        let old = lanes::declare(tx, ANN, LAB, &[subscription])?.lanes[0];
        lanes::enqueue(tx, old, (EventId::NIL, "custom.x"), Timestamp(1))?;
        let sql = "UPDATE lanes SET lease_owner = 's', lease_until = 9, fence = 1, feeds = 1,
            refill_from = 1, refilling = 1 WHERE id = ?1";
        tx.execute(sql, values![old])?;
        let removed = lanes::withdraw_space(tx, LAB, Withdrawal::All)?;
        assert_eq!((removed.len(), removed[0].queued), (1, 1));
        assert_eq!(removed[0].method, "a");
        let new = lanes::declare(tx, ANN, LAB, &[again])?.lanes[0];
        assert_ne!(new, old);
        assert_eq!(crate::deliveries::list_waiting(tx, new)?, [0; 0]);
        // No work is left for the old lane, and its holder has lost it.
        assert_eq!(lanes::find_refill(tx, old)?, None);
        assert_eq!(lanes::list_ready_owners(tx)?, [""; 0]);
        assert_eq!(lanes::make_due(tx, old, 0, Timestamp(1))?, None);
        let held = LaneLease {
            lane: old,
            fence: 1,
        };
        assert_eq!(turn::renew(tx, &[held], Timestamp(99))?, [false]);
        let request = turn::TurnRequest {
            held,
            ended: Vec::new(),
            after: 0,
            limit: 1,
        };
        assert_eq!(turn::read(tx, &[request])?, [None]);
        // A change of the owner does not activate it.
        lanes::set_owner_active(tx, ANN, true)?;
        let active: Vec<LaneId> = tx.list("SELECT id FROM lanes WHERE active = 1", &[])?;
        assert_eq!(active, [new]);
        Ok(())
    })
    .await;
}

async fn owners_with_removed_lanes_take_turns(engine: &TestEngine) {
    let store = engine.open().await;
    for (number, owner) in [(1, ANN), (2, BEN)] {
        insert_full(&store, sink(number, owner), (450, 1)).await;
        let deleting = move |tx: &mut Tx<'_>| sinks::delete(tx, SinkId(Uuid::from_u128(number)));
        write(&store, deleting).await;
    }
    let mut owners = Vec::new();
    let mut after = String::new();
    for _ in 0..4 {
        after = clear(&store, &after).await.expect("there are deliveries");
        owners.push(after.clone());
    }
    let (ann, ben) = (ANN.to_string(), BEN.to_string());
    assert_eq!(owners, [&*ann, &ben, &ann, &ben]);
    assert_eq!(bytes_of(&store, ANN).await, 50);
    assert_eq!(bytes_of(&store, BEN).await, 50);
}

async fn texts_of_removed_lanes_make_room_first(engine: &TestEngine) {
    let store = engine.open().await;
    insert_full(&store, sink(1, ANN), (10, 1_000)).await;
    write(&store, |tx| sinks::delete(tx, SinkId(Uuid::from_u128(1)))).await;
    insert_full(&store, sink(2, ANN), (10, 1_000)).await;
    let limits = usage::Limits {
        owner: 12_000,
        server: 0,
    };
    let newest = EventId(Uuid::from_u128(9));
    let room = write(&store, move |tx| usage::make_room(tx, ANN, newest, limits)).await;
    assert!(room.fits);
    let kept = write(&store, |tx| {
        tx.get::<i64>(
            "SELECT CAST(SUM(exchange_bytes) AS BIGINT) FROM deliveries
             WHERE lane_id IN (SELECT id FROM lanes WHERE sink_id IS NOT NULL)",
            &[],
        )
    });
    assert_eq!(kept.await, 10_000);
}

async fn the_next_removed_rows_are_found_by_an_index(engine: &TestEngine) {
    let store = engine.open().await;
    for (sql, count, index) in [(NEXT, 1, "lanes_removed"), (OLDEST, 2, "deliveries")] {
        let values = values![LaneId(Uuid::nil()), 9_u32][..count].to_vec();
        let plan = write(&store, move |tx| explain(tx, sql, &values)).await;
        assert!(plan.contains(index), "{plan}");
        for scan in ["SCAN", "Seq Scan", "Sort", "TEMP B-TREE"] {
            assert!(!plan.contains(scan), "{plan}");
        }
    }
}

on_each_engine!(
    a_removed_lane_is_cleared_in_small_steps_also_after_a_restart,
    a_sink_of_the_same_name_begins_with_an_empty_queue,
    a_method_that_is_subscribed_again_begins_with_an_empty_queue,
    owners_with_removed_lanes_take_turns,
    texts_of_removed_lanes_make_room_first,
    the_next_removed_rows_are_found_by_an_index,
);
