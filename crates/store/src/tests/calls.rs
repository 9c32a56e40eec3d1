//! The call journal, on both engines.

mod fairness;
mod payloads;
mod versions;
mod visit;

use std::collections::BTreeSet;

use svc_core::{
    Id, QuotaOverrides, SpaceId, Timestamp, UserId, UserName,
    journal::{CallEnd, CallRow, CallVia},
};
use uuid::Uuid;

use crate::{
    PageRequest, Store, StoreError, Tx,
    calls::{self, CallFilter, CallPage, Coverage, KeepRule, Reach},
    engines::{TestEngine, on_each_engine},
    records,
    sql::values,
    users::UserRow,
};

const KEEP: KeepRule = KeepRule {
    rows: u64::MAX,
    since: Timestamp(0),
    payload_bytes: u64::MAX,
};

fn insert_user(tx: &mut Tx<'_>, name: &str) -> Result<UserId, StoreError> {
    let user = UserRow {
        quotas: QuotaOverrides::default(),
        id: UserId(Uuid::now_v7()),
        username: UserName::parse(name).expect("valid"),
        password_hash: "x".into(),
        active: true,
        created_at: Timestamp(1),
    };
    records::insert(tx, &user)?;
    Ok(user.id)
}

fn row(caller: UserId, at: i64, number: u64) -> CallRow {
    CallRow {
        at: Timestamp(at),
        number,
        process: 7,
        caller,
        credential: None,
        via: if number.is_multiple_of(2) {
            CallVia::Api
        } else {
            CallVia::Mcp
        },
        method: format!("m{}", number % 3).into(),
        space: Some(SpaceId(Uuid::from_u128(u128::from(number % 2) + 1))),
        end: CallEnd::ALL[usize::try_from(number % 4).expect("small")],
        code: i32::try_from(number % 4).expect("small"),
        duration_us: u32::try_from(number).expect("small"),
        times: None,
        params_bytes: 1,
        result_bytes: 2,
        trace: 0,
    }
}

async fn page(store: &Store, reach: Reach, filter: &CallFilter, page: PageRequest) -> CallPage {
    let filter = filter.clone();
    let read = move |tx: &mut Tx<'_>| calls::list(tx, reach, &filter, page);
    store.read(read).await.expect("the read succeeds")
}

/// All ids, newest first, in pages of `limit`.
async fn list(store: &Store, reach: Reach, filter: &CallFilter, limit: u32) -> Vec<Id> {
    let mut request = PageRequest::parse(None, Some(limit)).expect("valid");
    let mut ids = Vec::new();
    loop {
        let found = page(store, reach, filter, request).await;
        assert!(!found.incomplete);
        assert!(found.calls.len() <= limit as usize);
        ids.extend(found.calls.iter().map(|call| call.row.id()));
        match found.next_cursor {
            Some(next) => request = PageRequest::parse(Some(&next), Some(limit)).expect("valid"),
            None => return ids,
        }
    }
}

async fn two_users(store: &Store) -> (UserId, UserId) {
    store
        .write(|tx| Ok((insert_user(tx, "ann")?, insert_user(tx, "bob")?)))
        .await
        .expect("inserted")
}

async fn append(store: &Store, owner: UserId, rows: Vec<CallRow>) {
    let write = move |tx: &mut Tx<'_>| calls::append(tx, owner, rows);
    store.write(write).await.expect("written");
}

async fn count_blocks(store: &Store) -> i64 {
    store
        .read(|tx| tx.get("SELECT COUNT(*) FROM call_blocks", &[]))
        .await
        .expect("counted")
}

async fn pages_and_filters_find_every_call_once(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    // Blocks of both owners overlap in time.
    let mut all = Vec::new();
    for block in 0..10_u64 {
        for (owner, caller) in [(ann, ann), (ann, bob), (bob, bob)] {
            let shift = if owner == caller { 0 } else { 5 };
            let rows = (0..7).map(|n| {
                let number = 1 + all.len() as u64 + n;
                row(caller, 1_000 + 10 * block.cast_signed() + shift, number)
            });
            let rows: Vec<_> = rows.collect();
            all.extend(rows.iter().map(|row| (owner, row.clone())));
            append(&store, owner, rows).await;
        }
    }
    let check =
        async |reach: Reach, filter: CallFilter, wanted: &dyn Fn(UserId, &CallRow) -> bool| {
            let mut expected: Vec<_> = all
                .iter()
                .filter(|(owner, row)| wanted(*owner, row))
                .map(|(_, row)| row.id())
                .collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            for limit in [1, 3, 100] {
                assert_eq!(
                    list(&store, reach, &filter, limit).await,
                    expected,
                    "{filter:?}"
                );
            }
            let visited = visit::visit(&store, reach, &filter).await;
            assert_eq!(visited, (expected, Coverage::All), "{filter:?}");
        };
    let none = CallFilter::default;
    check(Reach::All, none(), &|_, _| true).await;
    check(Reach::Of(ann), none(), &|owner, row| {
        owner == ann || row.caller == ann
    })
    .await;
    check(Reach::Of(bob), none(), &|owner, row| {
        owner == bob || row.caller == bob
    })
    .await;
    check(
        Reach::All,
        CallFilter {
            caller: Some(bob),
            ..none()
        },
        &|_, row| row.caller == bob,
    )
    .await;
    check(
        Reach::Of(ann),
        CallFilter {
            caller: Some(bob),
            ..none()
        },
        &|owner, row| owner == ann && row.caller == bob,
    )
    .await;
    check(
        Reach::Of(bob),
        CallFilter {
            owner: Some(ann),
            ..none()
        },
        &|owner, row| owner == ann && row.caller == bob,
    )
    .await;
    let method = CallFilter {
        method: Some("m1".to_owned()),
        ..none()
    };
    check(Reach::All, method, &|_, row| &*row.method == "m1").await;
    let times = CallFilter {
        since: Some(Timestamp(1_020)),
        until: Some(Timestamp(1_045)),
        ..none()
    };
    check(Reach::All, times, &|_, row| {
        (1_020..=1_045).contains(&row.at.0)
    })
    .await;
    let failed = CallFilter {
        end: Some(CallEnd::MethodError),
        code: Some(1),
        via: Some(CallVia::Mcp),
        ..none()
    };
    check(Reach::All, failed, &|_, row| row.number % 4 == 1).await;
    let slow = CallFilter {
        duration_us_min: Some(200),
        ..none()
    };
    check(Reach::All, slow, &|_, row| row.number >= 200).await;
    // A caller cannot find out by a filter which space of another owner answered.
    let space = CallFilter {
        space: Some(SpaceId(Uuid::from_u128(1))),
        ..none()
    };
    check(Reach::Of(bob), space, &|owner, row| {
        owner == bob && row.number % 2 == 0
    })
    .await;

    let (_, wanted) = all[77].clone();
    let id = wanted.id();
    let read = move |tx: &mut Tx<'_>| calls::find(tx, Reach::All, id);
    let found = store.read(read).await.expect("read").expect("found");
    assert_eq!(found.row, wanted);
}

async fn merging_keeps_every_call(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    let mut expected = BTreeSet::new();
    for n in 1..=100_u64 {
        let one = row(bob, 1_000 + n.cast_signed(), n);
        expected.insert(one.id());
        append(&store, ann, vec![one]).await;
    }
    let before = count_blocks(&store).await;
    while store
        .write(move |tx| calls::maintain(tx, ann, KEEP))
        .await
        .expect("maintained")
    {}
    let after = count_blocks(&store).await;
    assert!(before == 100 && after < 20, "{before} and {after} blocks");
    for reach in [Reach::All, Reach::Of(ann), Reach::Of(bob)] {
        let found = list(&store, reach, &CallFilter::default(), 9).await;
        assert_eq!(found.len(), 100);
        assert_eq!(BTreeSet::from_iter(found), expected);
    }
}

async fn the_oldest_blocks_of_an_owner_are_removed(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    append(&store, bob, vec![row(bob, 1, 1)]).await;
    for n in 0..30_u64 {
        let rows = (0..10).map(|i| CallRow {
            method: "m".into(),
            ..row(ann, n.cast_signed(), 100 + n * 10 + i)
        });
        append(&store, ann, rows.collect()).await;
    }
    let keep = KeepRule { rows: 100, ..KEEP };
    while store
        .write(move |tx| calls::maintain(tx, ann, keep))
        .await
        .expect("maintained")
    {}
    let kept = list(&store, Reach::Of(ann), &CallFilter::default(), 100).await;
    assert_eq!(kept.len(), 100);
    assert_eq!(kept.last(), Some(&row(ann, 20, 300).id()));
    // Old blocks of any owner are removed.
    let pruned = store.write(|tx| calls::prune(tx, Timestamp(2))).await;
    assert_eq!(pruned.expect("pruned"), 1);
    assert!(
        list(&store, Reach::Of(bob), &CallFilter::default(), 100)
            .await
            .is_empty()
    );
    let entries = move |tx: &mut Tx<'_>| {
        let sql = "SELECT COUNT(*) FROM call_block_callers WHERE user_id = ?1";
        tx.get::<i64>(sql, values![bob])
    };
    assert_eq!(store.read(entries).await.expect("counted"), 0_i64);
}

async fn a_call_in_a_block_with_many_callers_is_found_by_its_caller(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    let stranger = |n: u64| UserId(Uuid::from_u128(u128::from(n)));
    let mut rows: Vec<_> = (1..=200).map(|n| row(stranger(n), 5, n)).collect();
    rows.push(row(bob, 6, 500));
    append(&store, ann, rows).await;
    let found = list(&store, Reach::Of(bob), &CallFilter::default(), 10).await;
    assert_eq!(found, [row(bob, 6, 500).id()]);
    let entries = store.read(|tx| tx.get::<i64>("SELECT COUNT(*) FROM call_block_callers", &[]));
    assert_eq!(entries.await.expect("counted"), 1_i64);
}

async fn calls_of_a_deleted_owner_are_removed_and_not_written(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    append(&store, ann, vec![row(bob, 1, 1)]).await;
    let delete = move |tx: &mut Tx<'_>| tx.execute("DELETE FROM users WHERE id = ?1", values![ann]);
    store.write(delete).await.expect("deleted");
    append(&store, ann, vec![row(bob, 2, 2)]).await;
    assert_eq!(count_blocks(&store).await, 0);
}

async fn a_damaged_block_hides_only_its_own_calls(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, _) = two_users(&store).await;
    append(&store, ann, vec![row(ann, 1, 1)]).await;
    let damage = |tx: &mut Tx<'_>| {
        tx.execute(
            "UPDATE call_blocks SET data = ?1",
            values![vec![1_u8, 9, 9]],
        )
    };
    store.write(damage).await.expect("damaged");
    append(&store, ann, vec![row(ann, 2, 2)]).await;
    let found = list(&store, Reach::Of(ann), &CallFilter::default(), 10).await;
    assert_eq!(found, [row(ann, 2, 2).id()]);
}

on_each_engine!(
    pages_and_filters_find_every_call_once,
    merging_keeps_every_call,
    the_oldest_blocks_of_an_owner_are_removed,
    a_call_in_a_block_with_many_callers_is_found_by_its_caller,
    calls_of_a_deleted_owner_are_removed_and_not_written,
    a_damaged_block_hides_only_its_own_calls,
);
