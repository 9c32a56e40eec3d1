//! Recorded params and answers, on both engines.

use svc_core::{
    Timestamp, UserId,
    journal::{CallPayload, PAYLOAD_BLOCK_BYTES, Payload, PayloadOmission},
};

use super::{KEEP, append, row, two_users};
use crate::{
    Store, Tx,
    calls::{self, KeepRule},
    engines::{TestEngine, on_each_engine},
    sql::values,
};

/// The payloads of the call `row(caller, at, number)`.
pub(super) fn payload(caller: UserId, at: i64, number: u64, bytes: usize) -> CallPayload {
    CallPayload {
        id: row(caller, at, number).id(),
        params: Payload::Text(format!("\"{number} {}\"", "x".repeat(bytes)).into()),
        answer: Payload::Omitted(PayloadOmission::TooLarge),
    }
}

pub(super) async fn write(store: &Store, owner: UserId, payloads: Vec<CallPayload>) {
    let write = move |tx: &mut Tx<'_>| calls::append_payloads(tx, owner, payloads);
    store.write(write).await.expect("written");
}

async fn find(store: &Store, owner: UserId, wanted: &CallPayload) -> Option<CallPayload> {
    let id = wanted.id;
    let read = move |tx: &mut Tx<'_>| calls::find_payload(tx, owner, id);
    store.read(read).await.expect("read")
}

/// Which of the payloads are found, unchanged.
pub(super) async fn found(store: &Store, owner: UserId, all: &[CallPayload]) -> Vec<bool> {
    let mut found = Vec::new();
    for wanted in all {
        let payload = find(store, owner, wanted).await;
        assert!(payload.as_ref().is_none_or(|payload| payload == wanted));
        found.push(payload.is_some());
    }
    found
}

pub(super) async fn maintain(store: &Store, owner: UserId, keep: KeepRule) {
    let step = move |tx: &mut Tx<'_>| calls::maintain(tx, owner, keep);
    while store.write(step).await.expect("maintained") {}
}

async fn count(store: &Store) -> i64 {
    store
        .read(|tx| tx.get("SELECT COUNT(*) FROM call_payloads", &[]))
        .await
        .expect("counted")
}

async fn payloads_are_found_before_and_after_merging(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    let mut all = Vec::new();
    for n in 0..100_u64 {
        let at = 1_000 + n.cast_signed();
        append(&store, ann, vec![row(bob, at, n)]).await;
        let payload = payload(bob, at, n, 100);
        write(&store, ann, vec![payload.clone()]).await;
        all.push(payload);
    }
    assert_eq!(count(&store).await, 100);
    assert_eq!(found(&store, ann, &all).await, [true; 100]);
    // Payloads belong to the owner of the method.
    assert_eq!(found(&store, bob, &all).await, [false; 100]);
    maintain(&store, ann, KEEP).await;
    let blocks = count(&store).await;
    assert!(blocks < 20, "{blocks} blocks");
    assert_eq!(found(&store, ann, &all).await, [true; 100]);
    let unknown = payload(bob, 1_050, 7_777, 1);
    assert_eq!(find(&store, ann, &unknown).await, None);
}

async fn a_flood_of_payloads_is_written_in_blocks_of_limited_size(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, _) = two_users(&store).await;
    let large = PAYLOAD_BLOCK_BYTES / 3;
    let all: Vec<_> = (0..10).map(|n| payload(ann, 5, n, large)).collect();
    write(&store, ann, all.clone()).await;
    assert_eq!(count(&store).await, 5);
    assert_eq!(found(&store, ann, &all).await, [true; 10]);
    // A payload that exceeds the size of a block has a block of its own.
    let huge = payload(ann, 6, 99, 2 * PAYLOAD_BLOCK_BYTES);
    write(&store, ann, vec![huge.clone()]).await;
    assert_eq!(found(&store, ann, &[huge]).await, [true]);
}

async fn the_oldest_payloads_of_an_owner_are_removed_beyond_the_limit(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    append(&store, bob, vec![row(bob, 1, 1)]).await;
    let of_bob = payload(bob, 1, 1, 10_000);
    write(&store, bob, vec![of_bob.clone()]).await;
    let mut all = Vec::new();
    for n in 0..10_u64 {
        let at = 10 + n.cast_signed();
        append(&store, ann, vec![row(ann, at, n)]).await;
        let payload = payload(ann, at, n, PAYLOAD_BLOCK_BYTES);
        write(&store, ann, vec![payload.clone()]).await;
        all.push(payload);
    }
    let keep = KeepRule {
        payload_bytes: 4 * PAYLOAD_BLOCK_BYTES as u64,
        ..KEEP
    };
    maintain(&store, ann, keep).await;
    let kept = found(&store, ann, &all).await;
    assert_eq!(kept, (0..10).map(|n| n >= 7).collect::<Vec<_>>());
    assert_eq!(found(&store, bob, &[of_bob]).await, [true]);
}

async fn payloads_are_removed_with_their_calls(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    let mut all = Vec::new();
    for n in 0..20_u64 {
        let at = 10 + n.cast_signed();
        append(&store, ann, vec![row(ann, at, n)]).await;
        let payload = payload(ann, at, n, PAYLOAD_BLOCK_BYTES);
        write(&store, ann, vec![payload.clone()]).await;
        all.push(payload);
    }
    let since = KeepRule {
        since: Timestamp(15),
        ..KEEP
    };
    maintain(&store, ann, since).await;
    let kept = found(&store, ann, &all).await;
    assert_eq!(kept, (0..20).map(|n| n >= 5).collect::<Vec<_>>());
    // `maintain` has merged the blocks of the earlier rows. The newest row is in a block of its
    // own, so it can be kept alone.
    append(&store, ann, vec![row(ann, 100, 20)]).await;
    let newest = payload(ann, 100, 20, 10);
    write(&store, ann, vec![newest.clone()]).await;
    let rows = KeepRule { rows: 1, ..KEEP };
    maintain(&store, ann, rows).await;
    assert_eq!(found(&store, ann, &all).await, [false; 20]);
    assert_eq!(found(&store, ann, &[newest]).await, [true]);
    // `prune` removes old payloads of all owners.
    append(&store, bob, vec![row(bob, 2, 1)]).await;
    let of_bob = payload(bob, 2, 1, 10);
    write(&store, bob, vec![of_bob.clone()]).await;
    let prune = |tx: &mut Tx<'_>| calls::prune(tx, Timestamp(3));
    assert_eq!(store.write(prune).await.expect("pruned"), 2);
    assert_eq!(found(&store, bob, &[of_bob]).await, [false]);
}

async fn payloads_of_a_deleted_owner_are_removed(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    write(&store, ann, vec![payload(bob, 1, 1, 10)]).await;
    let delete = move |tx: &mut Tx<'_>| tx.execute("DELETE FROM users WHERE id = ?1", values![ann]);
    store.write(delete).await.expect("deleted");
    assert_eq!(count(&store).await, 0);
}

async fn a_damaged_block_hides_only_its_own_payloads(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, _) = two_users(&store).await;
    let (damaged, intact) = (payload(ann, 1, 1, 10), payload(ann, 1, 2, 10));
    write(&store, ann, vec![damaged.clone()]).await;
    let damage = |tx: &mut Tx<'_>| {
        tx.execute(
            "UPDATE call_payloads SET data = ?1",
            values![vec![1_u8, 9, 9]],
        )
    };
    store.write(damage).await.expect("damaged");
    write(&store, ann, vec![intact.clone()]).await;
    assert_eq!(found(&store, ann, &[damaged, intact]).await, [false, true]);
}

on_each_engine!(
    payloads_are_found_before_and_after_merging,
    a_flood_of_payloads_is_written_in_blocks_of_limited_size,
    the_oldest_payloads_of_an_owner_are_removed_beyond_the_limit,
    payloads_are_removed_with_their_calls,
    payloads_of_a_deleted_owner_are_removed,
    a_damaged_block_hides_only_its_own_payloads,
);
