//! Statistics of methods and of calls, on both engines.

use std::time::Duration;

use svc_core::{
    QuotaOverrides, Timestamp, UserId, UserName,
    activity_stats::{ALL_USERS, MethodCount, MethodCounts, StatsRange, Subject, start_of},
};
use uuid::Uuid;

use crate::{
    Store, StoreError, Tx,
    engines::{TestEngine, on_each_engine},
    method_stats::{self, StatsTable},
    records,
    sql::values,
    users::{self, UserRow},
};

const MINUTE: Duration = Duration::from_secs(60);
const NOW: Timestamp = Timestamp(1_800_000_000_000);

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

fn counts(method: &str, calls: u64) -> MethodCounts {
    let mut count = MethodCount {
        errors: 1,
        ..MethodCount::default()
    };
    count.steps[3] = calls;
    let mut counts = MethodCounts::default();
    counts.add(Subject::Method(method.into()), &count);
    counts
}

async fn append(store: &Store, owner: UserId, at: Timestamp, counts: MethodCounts) {
    let write = move |tx: &mut Tx<'_>| {
        method_stats::append(tx, StatsTable::Methods, owner, at, MINUTE, &counts)
    };
    store.write(write).await.expect("written");
}

async fn calls(store: &Store, owner: UserId, method: &'static str, since: Timestamp) -> u64 {
    let method = Subject::Method(method.into());
    let read =
        move |tx: &mut Tx<'_>| method_stats::list(tx, StatsTable::Methods, owner, &method, since);
    let found = store.read(read).await.expect("read");
    found.iter().map(|(_, count)| count.calls()).sum()
}

async fn blocks(store: &Store) -> i64 {
    store
        .read(|tx| tx.get("SELECT COUNT(*) FROM method_stats", values![]))
        .await
        .expect("read")
}

async fn merge_all(store: &Store, now: Timestamp) {
    for table in StatsTable::ALL {
        while store
            .write(move |tx| method_stats::merge(tx, table, now))
            .await
            .expect("merged")
        {}
        while store
            .write(move |tx| method_stats::prune(tx, table, now))
            .await
            .expect("pruned")
            > 0
        {}
    }
}

async fn append_calls(store: &Store, owner: UserId, at: Timestamp, calls: u64) {
    let mut count = MethodCount::default();
    count.steps[3] = calls;
    let counts = MethodCounts::of_several(count);
    let write = move |tx: &mut Tx<'_>| {
        method_stats::append(tx, StatsTable::Calls, owner, at, MINUTE, &counts)
    };
    store.write(write).await.expect("written");
}

/// The number of blocks that a range needs, and the calls in them.
async fn calls_of(store: &Store, owner: UserId, since: Timestamp) -> (usize, u64) {
    let read = move |tx: &mut Tx<'_>| {
        method_stats::list(tx, StatsTable::Calls, owner, &Subject::Several, since)
    };
    let found = store.read(read).await.expect("read");
    (
        found.len(),
        found.iter().map(|(_, count)| count.calls()).sum(),
    )
}

async fn blocks_are_merged_as_they_get_older(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = store
        .write(|tx| Ok((insert_user(tx, "ann")?, insert_user(tx, "bob")?)))
        .await
        .expect("users");
    append(&store, bob, start_of(NOW, MINUTE), counts("a", 3)).await;
    // Two servers write one block a minute each, for three hours.
    let first = start_of(NOW, 60 * MINUTE);
    for minute in 0..180 {
        let at = first.plus(MINUTE * minute);
        append(&store, ann, at, counts("a", 1)).await;
        append(&store, ann, at, counts("b", 2)).await;
    }
    append(&store, UserId(Uuid::now_v7()), first, counts("a", 9)).await;
    assert_eq!(calls(&store, ann, "a", first).await, 180);
    let now = first.plus(MINUTE * 180);
    merge_all(&store, now).await;
    assert_eq!(calls(&store, ann, "a", first).await, 180);
    assert_eq!(calls(&store, ann, "b", first).await, 360);
    assert_eq!(calls(&store, ann, "c", first).await, 0);
    assert_eq!(calls(&store, bob, "a", first).await, 3);
    // The last hour stays in blocks of a minute. The time before is in longer blocks.
    let last_hour = StatsRange::Hour.first(now);
    assert_eq!(calls(&store, ann, "a", last_hour).await, 59);
    let left = blocks(&store).await;
    assert!(left < 2 * 75 + 12, "{left} blocks");
    // A server that was late adds to a period that was merged before.
    append(&store, ann, first, counts("a", 5)).await;
    let later = now.plus(MINUTE * 60 * 24 * 8);
    merge_all(&store, later).await;
    assert_eq!(calls(&store, ann, "a", Timestamp(0)).await, 185);
    assert!(blocks(&store).await <= 3);
    merge_all(&store, now.plus(MINUTE * 60 * 24 * 31)).await;
    assert_eq!(blocks(&store).await, 0);
}

async fn blocks_that_cannot_be_read_are_left_or_removed(engine: &TestEngine) {
    let store = engine.open().await;
    let ann = store
        .write(|tx| insert_user(tx, "ann"))
        .await
        .expect("user");
    for minute in 0..4 {
        append(&store, ann, NOW.plus(MINUTE * minute), counts("a", 1)).await;
    }
    let newer = |data: Vec<u8>| {
        move |tx: &mut Tx<'_>| {
            tx.execute(
                "UPDATE method_stats SET data = ?1 WHERE starts_at = ?2 AND period_ms = 60000",
                values![data, NOW],
            )
        }
    };
    // A block of a newer svc stays until that svc merges it. The others are merged.
    store.write(newer(vec![99])).await.expect("changed");
    let later = NOW.plus(MINUTE * 60 * 3);
    merge_all(&store, later).await;
    assert_eq!(blocks(&store).await, 2);
    assert_eq!(calls(&store, ann, "a", Timestamp(0)).await, 3);
    // A damaged block does not stop the merging of the others.
    append(&store, ann, NOW.plus(MINUTE), counts("a", 1)).await;
    store.write(newer(vec![1, 200])).await.expect("changed");
    merge_all(&store, later).await;
    assert_eq!(calls(&store, ann, "a", Timestamp(0)).await, 4);
    assert_eq!(blocks(&store).await, 1);
    // A block that no svc merges is removed after a month, as all others.
    append(&store, ann, NOW, counts("a", 1)).await;
    store.write(newer(vec![99])).await.expect("changed");
    merge_all(&store, NOW.plus(MINUTE * 60 * 24 * 32)).await;
    assert_eq!(blocks(&store).await, 0);
}

async fn calls_of_users_and_of_all_users_are_separate_series(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = store
        .write(|tx| Ok((insert_user(tx, "ann")?, insert_user(tx, "bob")?)))
        .await
        .expect("users");
    let first = start_of(NOW, 60 * MINUTE);
    // The methods of Ann have many entries. Her calls do not read them.
    for number in 0..50 {
        let method = format!("m{number}");
        append(&store, ann, first, counts(&method, 7)).await;
    }
    // Two servers write one block a minute each, for two hours.
    for minute in 0..120 {
        let at = first.plus(MINUTE * minute);
        for _server in 0..2 {
            append_calls(&store, ann, at, 1).await;
            append_calls(&store, ALL_USERS, at, 3).await;
        }
    }
    append_calls(&store, bob, first, 5).await;
    append_calls(&store, UserId(Uuid::now_v7()), first, 9).await;
    let now = first.plus(MINUTE * 120);
    for _ in 0..2 {
        assert_eq!(calls_of(&store, ann, first).await.1, 240);
        assert_eq!(calls_of(&store, ALL_USERS, first).await.1, 720);
        assert_eq!(calls_of(&store, bob, first).await, (1, 5));
        merge_all(&store, now).await;
    }
    let (blocks, _) = calls_of(&store, ALL_USERS, first).await;
    assert!(blocks < 2 * 75 + 6, "{blocks} blocks");
    assert_eq!(calls(&store, ann, "m1", first).await, 7);

    store
        .write(move |tx| users::delete(tx, ann))
        .await
        .expect("deleted");
    assert_eq!(calls_of(&store, ann, first).await, (0, 0));
    // The sum of all users keeps the calls of deleted users, until it is too old.
    assert_eq!(calls_of(&store, ALL_USERS, first).await.1, 720);
    merge_all(&store, now.plus(MINUTE * 60 * 24 * 31)).await;
    assert_eq!(calls_of(&store, ALL_USERS, Timestamp(0)).await, (0, 0));
}

on_each_engine!(
    blocks_are_merged_as_they_get_older,
    calls_of_users_and_of_all_users_are_separate_series,
    blocks_that_cannot_be_read_are_left_or_removed,
);
