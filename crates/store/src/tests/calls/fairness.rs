//! One caller uses only a share of the journal of an owner, on both engines.

use svc_core::{Timestamp, UserId, journal::CallRow};

use super::{KEEP, append, list, row, two_users};
use crate::{
    Store, Tx,
    calls::{self, CallFilter, KeepRule, Reach},
    engines::{TestEngine, on_each_engine},
    tests::calls::payloads::{maintain, payload, write},
};

fn call(caller: UserId, method: &str, at: i64, number: u64) -> CallRow {
    CallRow {
        method: method.into(),
        ..row(caller, at, number)
    }
}

async fn count(store: &Store, caller: UserId) -> usize {
    let filter = CallFilter {
        caller: Some(caller),
        ..CallFilter::default()
    };
    list(store, Reach::All, &filter, 1_000).await.len()
}

/// A call of bob, then the flood of mallory, who calls one method or many, in blocks of 100 rows.
async fn flood(store: &Store, keep: KeepRule, methods: u64) -> (UserId, UserId, CallRow) {
    let (owner, bob) = two_users(store).await;
    let mallory = UserId(uuid::Uuid::from_u128(77));
    let of_bob = call(bob, "pay.out", 10, 1);
    let mut first = vec![of_bob.clone()];
    first.extend((2..100).map(|n| call(mallory, "ping", 11, n)));
    append(store, owner, first).await;
    write(store, owner, vec![payload(bob, 10, 1, 100)]).await;
    for block in 1..60_u64 {
        let rows = (0..100).map(|n| {
            let method = format!("ping{}", n % methods);
            // One block in two minutes.
            let at = 11 + block.cast_signed() * 120_000;
            call(mallory, &method, at, block * 100 + n)
        });
        append(store, owner, rows.collect()).await;
        maintain(store, owner, keep).await;
    }
    (owner, bob, of_bob)
}

async fn a_call_survives_the_flood_of_another_caller(engine: &TestEngine) {
    for methods in [1, 50] {
        let store = engine.open().await;
        let keep = KeepRule { rows: 400, ..KEEP };
        let (owner, bob, of_bob) = flood(&store, keep, methods).await;
        let id = of_bob.id();
        for reach in [Reach::Of(owner), Reach::Of(bob), Reach::All] {
            let read = move |tx: &mut Tx<'_>| calls::find(tx, reach, id);
            let found = store.read(read).await.expect("read");
            assert_eq!(found.map(|call| call.row), Some(of_bob.clone()));
        }
        assert_eq!(count(&store, bob).await, 1);
        let read = move |tx: &mut Tx<'_>| calls::find_payload(tx, owner, id);
        let found = store.read(read).await.expect("read");
        assert_eq!(found, Some(payload(bob, 10, 1, 100)));
        let all = list(&store, Reach::Of(owner), &CallFilter::default(), 1_000).await;
        assert!((300..=500).contains(&all.len()), "{} rows", all.len());
        // Kept calls do not outlive the retention, also if newer ones are in the same block.
        let since = Timestamp(3_700_000);
        maintain(&store, owner, KeepRule { since, ..keep }).await;
        assert_eq!(count(&store, bob).await, 0);
        let delete = move |tx: &mut Tx<'_>| {
            tx.execute("DELETE FROM users", &[])?;
            tx.execute("DELETE FROM call_block_callers", &[])
        };
        store.write(delete).await.expect("deleted");
        store.close().await;
    }
}

async fn payloads_survive_the_flood_of_another_caller(engine: &TestEngine) {
    let store = engine.open().await;
    let (owner, bob) = two_users(&store).await;
    let mallory = UserId(uuid::Uuid::from_u128(77));
    let keep = KeepRule {
        payload_bytes: 2_000_000,
        ..KEEP
    };
    append(&store, owner, vec![call(bob, "pay.out", 10, 1)]).await;
    let of_bob = payload(bob, 10, 1, 1_000);
    write(&store, owner, vec![of_bob.clone()]).await;
    for n in 2..60_u64 {
        let at = 10 + n.cast_signed();
        append(&store, owner, vec![call(mallory, "pay.out", at, n)]).await;
        write(&store, owner, vec![payload(mallory, at, n, 100_000)]).await;
        maintain(&store, owner, keep).await;
    }
    let id = of_bob.id;
    let read = move |tx: &mut Tx<'_>| calls::find_payload(tx, owner, id);
    assert_eq!(store.read(read).await.expect("read"), Some(of_bob));
    let stored = store.read(|tx| {
        tx.get::<u64>(
            "SELECT CAST(SUM(byte_count) AS BIGINT) AS bytes FROM call_payloads",
            &[],
        )
    });
    let stored = stored.await.expect("read");
    assert!((1_000_000..=2_000_000).contains(&stored), "{stored} bytes");
}

/// Many callers who each call rarely keep their newest calls, and the kept rows stay bounded.
async fn kept_rows_are_bounded(engine: &TestEngine) {
    let store = engine.open().await;
    let (owner, _) = two_users(&store).await;
    let keep = KeepRule { rows: 400, ..KEEP };
    for block in 0..60_u64 {
        let rows = (0..100_u64).map(|n| {
            let caller = UserId(uuid::Uuid::from_u128(u128::from(100 + n % 40)));
            call(caller, "a", 10 + block.cast_signed(), block * 100 + n)
        });
        append(&store, owner, rows.collect()).await;
        maintain(&store, owner, keep).await;
    }
    let kept = store.read(|tx| {
        tx.get::<u64>(
            "SELECT CAST(SUM(row_count) AS BIGINT) AS rows FROM call_blocks WHERE kept = 1",
            &[],
        )
    });
    let kept = kept.await.expect("read");
    assert!((40..=100).contains(&kept), "{kept} kept rows");
    let all = list(&store, Reach::Of(owner), &CallFilter::default(), 1_000).await;
    assert!((300..=500).contains(&all.len()), "{} rows", all.len());
}

on_each_engine!(
    a_call_survives_the_flood_of_another_caller,
    payloads_survive_the_flood_of_another_caller,
    kept_rows_are_bounded,
);
