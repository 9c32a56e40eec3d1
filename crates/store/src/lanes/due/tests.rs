use std::time::Duration;

use svc_core::{
    CanonicalName, EventId, LaneId, SpaceId, UserId, pattern::Pattern, subscription::Subscription,
};
use uuid::Uuid;

use super::*;
use crate::{
    Store, StoreOptions,
    engines::{TestEngine, on_each_engine},
    lanes, spaces,
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

/// The lanes of a method belong to the servers that its spaces are linked to.
async fn lanes_follow_the_links_of_their_spaces(engine: &TestEngine) {
    let store = engine.open().await;
    methods_of(&store, 1, 2).await;
    let (elsewhere, third) = (ServerId(Uuid::from_u128(8)), ServerId(Uuid::from_u128(9)));
    let due = async |expected: [usize; 3]| {
        for (server, expected) in [SERVER, elsewhere, third].into_iter().zip(expected) {
            let owners = due_owners(&store, server, NOW).await;
            assert_eq!(owners.len(), expected, "{server}");
        }
    };
    let first = SpaceId(Uuid::from_u128(1));
    let second = SpaceId(Uuid::from_u128(2));
    due([1, 0, 0]).await;
    // A second space, linked to another server, declares one of the methods.
    let adding = store.write(move |tx| {
        tx.execute(
            "INSERT INTO spaces (id, name, owner_id, state, health, runtime, health_check, node_id,
                 space_urls, created_at)
             VALUES (?1, 'attic', ?2, 'deployed', 'unknown', 'external', '{}', ?3, '{}', 0)",
            values![second, user(1), elsewhere],
        )?;
        let subscription = Subscription {
            method: CanonicalName::parse("m0").expect("valid"),
            patterns: Pattern::parse_list("x").expect("valid"),
            formatters: Vec::new(),
            holds: true,
        };
        lanes::declare(tx, user(1), second, &[subscription]).map(drop)
    });
    adding.await.expect("committed");
    due([1, 1, 0]).await;
    assert_eq!(server_of(&store, "m0").await.as_deref(), Some(SEVERAL));
    let set = async |space: SpaceId, node: Option<ServerId>| {
        let setting = store.write(move |tx| {
            let at = Timestamp(0);
            match node {
                Some(node) => spaces::set_node(tx, space, node),
                None => {
                    let reason = svc_core::space::StopReason::LinkLost;
                    spaces::set_state(tx, space, spaces::NewState::Stopped { reason }, at)
                }
            }
        });
        assert_eq!(setting.await, Ok(true));
    };
    set(first, None).await;
    due([0, 1, 0]).await;
    set(second, Some(third)).await;
    due([0, 0, 1]).await;
    set(second, None).await;
    due([0, 0, 0]).await;
    assert_eq!(server_of(&store, "m0").await, None);
    let withdrawing = store.write(move |tx| {
        spaces::set_state(
            tx,
            first,
            spaces::NewState::Deployed { node_id: SERVER },
            NOW,
        )?;
        spaces::set_state(
            tx,
            second,
            spaces::NewState::Deployed { node_id: third },
            NOW,
        )?;
        lanes::withdraw_space(tx, second, lanes::Withdrawal::All).map(drop)
    });
    withdrawing.await.expect("committed");
    due([1, 0, 0]).await;
    assert_eq!(server_of(&store, "m0").await, Some(SERVER.to_string()));
}

async fn server_of(store: &Store, method: &'static str) -> Option<String> {
    let reading = store.read(move |tx| {
        let server = "SELECT server_id FROM lanes WHERE method = ?1";
        tx.get::<Option<String>>(server, values![method])
    });
    reading.await.expect("read")
}

#[tokio::test]
async fn due_lanes_of_methods_without_a_link_are_not_read() {
    let options = StoreOptions {
        point_steps: 5_000,
        ..StoreOptions::default()
    };
    let engine = TestEngine::embedded();
    let store = engine.open_with(options).await;
    methods_of(&store, 1, 20_000).await;
    let elsewhere = ServerId(Uuid::from_u128(8));
    let unlinking = store.write(move |tx| {
        let space = SpaceId(Uuid::from_u128(1));
        spaces::set_node(tx, space, elsewhere)?;
        tx.execute(
            "UPDATE lanes SET server_id = ?2 WHERE method = ?1",
            values!["m7", SERVER],
        )
    });
    unlinking.await.expect("committed");
    // Reads are limited to 5,000 steps for each statement.
    assert_eq!(due_owners(&store, SERVER, NOW).await.len(), 1);
    let key = user(1).to_string();
    let next = store.read(move |tx| {
        let claim = Claim {
            kind: DeliveryKind::Method,
            owner_key: &key,
            limit: 1,
        };
        first_due(tx, SERVER, &[claim], NOW)
    });
    assert_eq!(next.await, Ok(vec![Some(NOW)]));
    assert_eq!(claims(&store, 1, NOW, 10).await.len(), 1);
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
    lanes_follow_the_links_of_their_spaces,
    many_lanes_of_one_owner_do_not_hide_other_owners,
    lanes_are_claimed_in_the_order_they_are_due,
);

/// Every statement finds lanes by the index of due lanes, or by their ids.
#[tokio::test]
async fn no_statement_scans_all_lanes() {
    let store = TestEngine::embedded().open().await;
    for kind in DeliveryKind::ALL {
        let mut statements = Vec::from_iter(claimable(kind).iter().map(|lanes| owners_sql(lanes)));
        statements.extend([first_due_sql(kind), claim_sql(kind)]);
        for sql in statements {
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
                    || step.contains("INDEX lanes_due_by_server (server_id=?")
                    || step.contains("INDEX sqlite_autoindex_lanes_1 (id=?)");
                assert!(by_index, "{sql}\n{plan:#?}");
            }
            // A claim sorts the few lanes that it has found in the ranges.
            let sorts = plan.iter().filter(|step| step.contains("TEMP B-TREE"));
            assert_eq!(
                sorts.count(),
                usize::from(sql.starts_with("UPDATE")),
                "{sql}\n{plan:#?}"
            );
        }
    }
}

/// The number of a statement's placeholders.
fn explained_values(sql: &str) -> usize {
    (1..=6).filter(|n| sql.contains(&format!("?{n}"))).count()
}
