//! Blocks of the call journal that a newer version wrote, on both engines. They stay as they are, and
//! the other blocks of their owner are maintained as before.

use svc_core::{Id, Timestamp, UserId, journal::CallRow};

use super::{
    KEEP, append, count_blocks, list,
    payloads::{found, maintain, payload, write},
    row, two_users,
};
use crate::{
    Store, Tx,
    calls::{CallFilter, KeepRule, Reach},
    engines::{TestEngine, on_each_engine},
    sql::values,
};

const TABLES: [&str; 2] = ["call_blocks", "call_payloads"];
const HOUR: i64 = 60 * 60 * 1_000;

/// Changes the version of the blocks whose first call has this time.
async fn set_version(store: &Store, first_at: i64, version: u8) {
    let change = move |tx: &mut Tx<'_>| {
        for table in TABLES {
            let sql = format!("SELECT id, data FROM {table} WHERE first_at = ?1");
            let blocks: Vec<(Id, Vec<u8>)> = tx.list(&sql, values![Timestamp(first_at)])?;
            for (id, mut data) in blocks {
                data[0] = version;
                let sql = format!("UPDATE {table} SET data = ?1 WHERE id = ?2");
                tx.execute(&sql, values![data, id])?;
            }
        }
        Ok(())
    };
    store.write(change).await.expect("changed");
}

/// Makes all blocks kept ones.
async fn keep_all(store: &Store) {
    let change = |tx: &mut Tx<'_>| {
        for table in TABLES {
            tx.execute(&format!("UPDATE {table} SET kept = 1"), values![])?;
        }
        Ok(())
    };
    store.write(change).await.expect("changed");
}

/// Calls of bob at one time, each with a payload of 100 bytes, in one block.
async fn append_block(store: &Store, owner: UserId, bob: UserId, at: i64, numbers: &[u64]) {
    let one = |number: &u64| row(bob, at, *number);
    append(store, owner, numbers.iter().map(one).collect()).await;
    let one = |number: &u64| payload(bob, at, *number, 100);
    write(store, owner, numbers.iter().map(one).collect()).await;
}

async fn list_ids(store: &Store) -> Vec<Id> {
    list(store, Reach::All, &CallFilter::default(), 1_000).await
}

async fn other_blocks_are_merged(engine: &TestEngine) {
    let store = engine.open().await;
    let (owner, bob) = two_users(&store).await;
    let mut payloads = Vec::new();
    for n in 1..=100_u64 {
        append_block(&store, owner, bob, n.cast_signed(), &[n]).await;
        payloads.push(payload(bob, n.cast_signed(), n, 100));
    }
    for first_at in 1..=10 {
        set_version(&store, first_at, 99).await;
    }
    maintain(&store, owner, KEEP).await;
    let left = count_blocks(&store).await;
    assert!((11..40).contains(&left), "{left} blocks");
    assert_eq!(list_ids(&store).await.len(), 90);
    assert_eq!(found(&store, owner, &payloads[10..]).await, [true; 90]);
    // The newer server still finds its own blocks.
    for first_at in 1..=10 {
        set_version(&store, first_at, 1).await;
    }
    assert_eq!(list_ids(&store).await.len(), 100);
    assert_eq!(found(&store, owner, &payloads).await, [true; 100]);
}

async fn too_many_kept_calls_are_reduced_without_the_unknown_ones(engine: &TestEngine) {
    let store = engine.open().await;
    let (owner, bob) = two_users(&store).await;
    append_block(&store, owner, bob, 10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).await;
    append_block(&store, owner, bob, 20, &[11, 12, 13, 14, 15]).await;
    keep_all(&store).await;
    set_version(&store, 20, 99).await;
    // At most 10 rows and about 1,000 bytes may be kept.
    let keep = KeepRule {
        rows: 40,
        payload_bytes: 4_000,
        ..KEEP
    };
    maintain(&store, owner, keep).await;
    set_version(&store, 20, 1).await;
    let ids = list_ids(&store).await;
    let of_block = |numbers: std::ops::RangeInclusive<u64>, at| {
        numbers.map(move |number| row(bob, at, number).id())
    };
    let newer = of_block(11..=15, 20).filter(|id| ids.contains(id)).count();
    let kept = of_block(1..=10, 10).filter(|id| ids.contains(id)).count();
    assert_eq!((newer, kept), (5, 7));
    let newest = [payload(bob, 10, 10, 100), payload(bob, 20, 15, 100)];
    assert_eq!(found(&store, owner, &newest).await, [true, true]);
}

async fn an_unknown_kept_block_ends_with_its_newest_call(engine: &TestEngine) {
    let store = engine.open().await;
    let (owner, bob) = two_users(&store).await;
    let rows: Vec<CallRow> = vec![row(bob, 10, 1), row(bob, 3 * HOUR, 2)];
    let of_new = payload(bob, 3 * HOUR, 2, 100);
    append(&store, owner, rows).await;
    write(
        &store,
        owner,
        vec![payload(bob, 10, 1, 100), of_new.clone()],
    )
    .await;
    keep_all(&store).await;
    set_version(&store, 10, 99).await;
    let since = |since| KeepRule {
        since: Timestamp(since),
        ..KEEP
    };
    maintain(&store, owner, since(3 * HOUR)).await;
    set_version(&store, 10, 1).await;
    assert!(list_ids(&store).await.contains(&row(bob, 3 * HOUR, 2).id()));
    assert_eq!(found(&store, owner, &[of_new]).await, [true]);
    set_version(&store, 10, 99).await;
    maintain(&store, owner, since(3 * HOUR + 1)).await;
    assert_eq!(count_blocks(&store).await, 0);
}

on_each_engine!(
    other_blocks_are_merged,
    too_many_kept_calls_are_reduced_without_the_unknown_ones,
    an_unknown_kept_block_ends_with_its_newest_call,
);
