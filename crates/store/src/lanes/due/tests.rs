use std::time::Duration;

use svc_core::{
    CanonicalName, EventId, LaneId, SpaceId, UserId, pattern::Pattern, subscription::Subscription,
};
use uuid::Uuid;

use super::*;
use crate::{
    Store,
    engines::{TestEngine, on_each_engine},
    lanes,
};

const SERVER: ServerId = ServerId(Uuid::from_u128(7));
const NOW: Timestamp = Timestamp(1_000_000);

fn user(number: u128) -> UserId {
    UserId(Uuid::from_u128(number))
}

/// Creates an owner with a space that is linked to this server, and due lanes for its methods.
async fn methods_of(store: &Store, number: u128, methods: usize) -> Vec<LaneId> {
    let (owner, space) = (user(number), SpaceId(Uuid::from_u128(number)));
    let subscriptions: Vec<_> = (0..methods)
        .map(|n| Subscription {
            method: CanonicalName::parse(&format!("m{n}")).expect("valid"),
            patterns: Pattern::parse_list("*").expect("valid"),
            formatters: Vec::new(),
            holds: false,
        })
        .collect();
    let writing = store.write(move |tx| {
        tx.execute(
            "INSERT INTO users (id, username, password_hash, active, created_at)
             VALUES (?1, ?2, '', 1, 0)",
            values![owner, format!("u{number}")],
        )?;
        tx.execute(
            "INSERT INTO spaces (id, name, owner_id, state, health, runtime, health_check, node_id,
                 space_urls, created_at)
             VALUES (?1, 'lab', ?2, 'deployed', 'unknown', 'external', '{}', ?3, '{}', 0)",
            values![space, owner, SERVER],
        )?;
        let lanes = lanes::declare(tx, owner, space, &subscriptions)?.lanes;
        for lane in &lanes {
            let event = EventId(Uuid::now_v7());
            lanes::enqueue(tx, *lane, (event, "custom.x"), NOW)?;
            tx.execute(
                "UPDATE lanes SET next_at = ?2 WHERE id = ?1",
                values![*lane, NOW],
            )?;
        }
        Ok(lanes)
    });
    writing.await.expect("committed")
}

async fn claims(store: &Store, number: u128, now: Timestamp, limit: usize) -> Vec<LaneLease> {
    let claiming = store.write(move |tx| {
        let key = user(number).to_string();
        let until = now.plus(Duration::from_secs(30));
        let claims = [Claim {
            kind: DeliveryKind::Method,
            owner_key: &key,
            limit,
        }];
        let claimed = claim(tx, SERVER, &claims, (now, until))?;
        Ok(claimed.into_iter().flat_map(|one| one.leases).collect())
    });
    claiming.await.expect("committed")
}

async fn due_owners(store: &Store, server: ServerId, now: Timestamp) -> Vec<(String, i64)> {
    let listing = store.read(move |tx| {
        let owners = list_due_owners(tx, server, now)?.into_iter();
        Ok(owners
            .filter(|owner| owner.kind == DeliveryKind::Method)
            .map(|owner| (owner.owner_key, owner.at.0))
            .collect())
    });
    listing.await.expect("read")
}

async fn many_lanes_of_one_owner_do_not_hide_other_owners(engine: &TestEngine) {
    let store = engine.open().await;
    methods_of(&store, 1, 300).await;
    methods_of(&store, 2, 1).await;
    let both = [(user(1).to_string(), NOW.0), (user(2).to_string(), NOW.0)];
    assert_eq!(due_owners(&store, SERVER, NOW).await, both);
    let elsewhere = ServerId(Uuid::from_u128(8));
    assert_eq!(due_owners(&store, elsewhere, NOW).await, []);
    assert_eq!(claims(&store, 1, NOW, 10).await.len(), 10);
    assert_eq!(claims(&store, 2, NOW, 10).await.len(), 1);
    // A held lane is due again when its lease has expired.
    assert_eq!(due_owners(&store, SERVER, NOW).await, both[..1]);
    assert_eq!(claims(&store, 2, NOW, 10).await, []);
    let later = NOW.plus(Duration::from_secs(30));
    assert_eq!(due_owners(&store, SERVER, later).await, both);
    assert_eq!(claims(&store, 2, later, 10).await.len(), 1);
}

async fn lanes_are_claimed_in_the_order_they_are_due(engine: &TestEngine) {
    let store = engine.open().await;
    let lanes = methods_of(&store, 1, 3).await;
    let (first, waiting) = (lanes[2], lanes[1]);
    let setting = store.write(move |tx| {
        let at = "UPDATE lanes SET next_at = ?2 WHERE id = ?1";
        tx.execute(at, values![first, Timestamp(NOW.0 - 1)])?;
        tx.execute(at, values![waiting, Timestamp(NOW.0 + 5_000)])
    });
    setting.await.expect("committed");
    assert_eq!(claims(&store, 1, NOW, 1).await[0].lane, first);
    assert_eq!(claims(&store, 1, NOW, 10).await[0].lane, lanes[0]);
    let key = user(1).to_string();
    let next = store.read(move |tx| {
        let claim = Claim {
            kind: DeliveryKind::Method,
            owner_key: &key,
            limit: 1,
        };
        first_due(tx, SERVER, &[claim], NOW)
    });
    let next = next.await.expect("read");
    assert_eq!(next, [Some(Timestamp(NOW.0 + 5_000))]);
}

/// A server of an earlier version creates lanes without a kind. They get the default, `webhook`.
async fn kinds_of_lanes_that_an_older_server_created_are_corrected(engine: &TestEngine) {
    let store = engine.open().await;
    methods_of(&store, 1, 1).await;
    let forgetting =
        store.write(|tx| tx.execute("UPDATE lanes SET delivery_kind = 'webhook'", &[]));
    forgetting.await.expect("committed");
    assert_eq!(due_owners(&store, SERVER, NOW).await, []);
    store.write(correct_kinds).await.expect("committed");
    assert_eq!(due_owners(&store, SERVER, NOW).await.len(), 1);
}

/// The number of updates of lanes in this transaction, and how many of them were in place.
fn count_updates(tx: &mut Tx<'_>) -> Result<(i64, i64), StoreError> {
    tx.get(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'lanes'",
        &[],
    )
}

/// PostgreSQL updates a row in place (HOT) if no column of an index changes.
#[tokio::test]
async fn postgres_updates_a_lane_in_place_when_it_gets_and_finishes_deliveries() {
    let Some(engine) = TestEngine::postgres() else {
        return;
    };
    let store = engine.open().await;
    let lane = methods_of(&store, 1, 1).await[0];
    let lease = claims(&store, 1, NOW, 1).await[0];
    let turns = store.write(move |tx| {
        let request = lanes::turn::TurnRequest {
            held: lease,
            ended: Vec::new(),
            after: 0,
            limit: 1,
        };
        let reading = lanes::turn::read(tx, &[request])?.remove(0);
        let held = reading.expect("claimed").lane;
        let (updates, in_place) = count_updates(tx)?;
        for _ in 0..5 {
            lanes::enqueue(tx, lane, (EventId(Uuid::now_v7()), "custom.x"), NOW)?;
            let end = lanes::turn::TurnEnd::Hold(held.lease_until);
            lanes::turn::end(tx, &held, 1, end)?;
        }
        let after = count_updates(tx)?;
        Ok((after.0 - updates, after.1 - in_place))
    });
    assert_eq!(turns.await.expect("committed"), (10, 10));
}

on_each_engine!(
    kinds_of_lanes_that_an_older_server_created_are_corrected,
    many_lanes_of_one_owner_do_not_hide_other_owners,
    lanes_are_claimed_in_the_order_they_are_due,
);

/// Every statement finds lanes by the index of due lanes, or by their ids.
#[tokio::test]
async fn no_statement_scans_all_lanes() {
    let store = TestEngine::embedded().open().await;
    for kind in DeliveryKind::ALL {
        for sql in [owners_sql(kind), first_due_sql(kind), claim_sql(kind)] {
            let explained = format!("EXPLAIN QUERY PLAN {sql}");
            let key = user(1).to_string();
            let plan = store.write(move |tx| {
                let all = values![SERVER, NOW, kind, key, NOW, 10_u32];
                let values = &all[..explained_values(&explained)];
                tx.query(&explained, values)?
                    .iter()
                    .map(|row| row.get::<String>("detail"))
                    .collect::<Result<Vec<_>, _>>()
            });
            let plan = plan.await.expect("explained");
            for step in plan.iter().filter(|step| step.contains("lanes")) {
                let by_index = step.contains("USING INDEX lanes_due_by_owner (delivery_kind=?")
                    || step.contains("USING COVERING INDEX lanes_due_by_owner (delivery_kind=?")
                    || step.contains("INDEX sqlite_autoindex_lanes_1 (id=?)");
                assert!(by_index, "{sql}\n{plan:#?}");
            }
            assert!(
                !plan.iter().any(|step| step.contains("TEMP B-TREE")),
                "{sql}\n{plan:#?}"
            );
        }
    }
}

/// The number of a statement's placeholders.
fn explained_values(sql: &str) -> usize {
    (1..=6).filter(|n| sql.contains(&format!("?{n}"))).count()
}
