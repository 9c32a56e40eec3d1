//! Tests of the store: group commit, rollback, snapshots of reads, a full queue.

mod calls;
mod crash;
mod lanes;
mod method_stats;
mod oidc;
mod oldest;
mod opening;
mod records;
mod second_factors;
mod servers;
mod shared;
mod skipped_rows;
mod sources;
mod windows;
mod zone_tables;

use std::{
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

use super::{
    Store, StoreError, StoreOptions, Tx,
    engines::{TestEngine, on_each_engine},
    meta,
    sql::values,
};

const DEADLINE: Duration = Duration::from_secs(20);

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn open(&self) -> Store {
        Store::open(self.path()).expect("the store opens")
    }
}

async fn set(store: &Store, key: impl Into<String>, value: &'static str) -> Result<(), StoreError> {
    let key = key.into();
    store.write(move |tx| meta::set(tx, &key, value)).await
}

async fn get(store: &Store, key: &'static str) -> Option<String> {
    store
        .read(move |tx| meta::find(tx, key))
        .await
        .expect("the read succeeds")
}

/// Blocks the writer until released, so that further writes must wait.
struct Hold {
    release: mpsc::Sender<()>,
    held: JoinHandle<Result<(), StoreError>>,
}

impl Hold {
    async fn writer(store: &Store) -> Self {
        let (entered, has_entered) = tokio::sync::oneshot::channel();
        let (release, released) = mpsc::channel();
        let store = store.clone();
        let held = tokio::spawn(async move {
            store
                .write(move |_| {
                    let _ = entered.send(());
                    let _ = released.recv();
                    Ok(())
                })
                .await
        });
        has_entered.await.expect("the writer took the command");
        Self { release, held }
    }

    async fn release(self) {
        self.release.send(()).expect("the writer waits");
        self.held.await.expect("no panic").expect("committed");
    }
}

async fn until_waiting(store: &Store, commands: usize) {
    let deadline = Instant::now() + DEADLINE;
    while store.stats().waiting != commands {
        assert!(Instant::now() < deadline, "{:?}", store.stats());
        tokio::task::yield_now().await;
    }
}

fn spawn_write<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> JoinHandle<Result<T, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.write(work).await })
}

async fn waiting_writes_share_one_commit(engine: &TestEngine) {
    let store = engine.open().await;
    let hold = Hold::writer(&store).await;
    let before = store.stats();
    let writes: Vec<_> = (0..50)
        .map(|n| spawn_write(&store, move |tx| meta::set(tx, &format!("k{n}"), "v")))
        .collect();
    until_waiting(&store, 50).await;
    hold.release().await;
    for write in writes {
        write.await.expect("no panic").expect("committed");
    }
    let after = store.stats();
    assert_eq!(after.commits - before.commits, 2);
    assert_eq!(after.commands - before.commands, 51);
    assert_eq!(get(&store, "k49").await.as_deref(), Some("v"));
}

async fn a_failed_and_a_panicked_command_do_not_affect_the_rest_of_their_batch(
    engine: &TestEngine,
) {
    let store = engine.open().await;
    let hold = Hold::writer(&store).await;
    let first = spawn_write(&store, |tx| meta::set(tx, "first", "v"));
    until_waiting(&store, 1).await;
    let failed = spawn_write(&store, |tx| {
        meta::set(tx, "failed", "v")?;
        Err::<(), _>(StoreError::ForeignKey)
    });
    until_waiting(&store, 2).await;
    let panicked = spawn_write(&store, |tx| {
        meta::set(tx, "panicked", "v")?;
        if meta::find(tx, "first")?.is_some() {
            panic!("a bug");
        }
        Ok(())
    });
    until_waiting(&store, 3).await;
    let last = spawn_write(&store, |tx| meta::set(tx, "last", "v"));
    until_waiting(&store, 4).await;
    hold.release().await;
    assert_eq!(first.await.expect("no panic"), Ok(()));
    assert_eq!(failed.await.expect("no panic"), Err(StoreError::ForeignKey));
    assert_eq!(panicked.await.expect("no panic"), Err(StoreError::Panicked));
    assert_eq!(last.await.expect("no panic"), Ok(()));
    assert_eq!(store.stats().commits, 2);
    for (key, expected) in [
        ("first", Some("v")),
        ("failed", None),
        ("panicked", None),
        ("last", Some("v")),
    ] {
        assert_eq!(get(&store, key).await.as_deref(), expected, "{key}");
    }
}

async fn a_failed_command_that_is_alone_in_its_batch_is_rolled_back(engine: &TestEngine) {
    let store = engine.open().await;
    let failed: Result<(), _> = store
        .write(|tx| {
            meta::set(tx, "k", "v")?;
            Err(StoreError::NoRow)
        })
        .await;
    assert_eq!(failed, Err(StoreError::NoRow));
    let panicked: Result<(), _> = store.write(|_| panic!("a bug")).await;
    assert_eq!(panicked, Err(StoreError::Panicked));
    assert_eq!(get(&store, "k").await, None);
    set(&store, "k", "v").await.expect("the writer still works");
}

#[tokio::test]
async fn a_failed_commit_fails_its_whole_batch_and_the_next_commit_works() {
    let folder = Folder::new();
    let store = folder.open();
    let hold = Hold::writer(&store).await;
    let innocent = spawn_write(&store, |tx| meta::set(tx, "innocent", "v"));
    until_waiting(&store, 1).await;
    // A broken reference that only COMMIT checks.
    let culprit = spawn_write(&store, |tx| {
        tx.execute_script("PRAGMA defer_foreign_keys = ON")?;
        tx.execute(
            "INSERT INTO user_groups (user_id, group_id) VALUES (?1, ?2)",
            values!["nobody", "nothing"],
        )
    });
    until_waiting(&store, 2).await;
    hold.release().await;
    for result in [
        innocent.await.expect("no panic"),
        culprit.await.expect("no panic"),
    ] {
        assert!(matches!(result, Err(StoreError::Commit(_))), "{result:?}");
    }
    assert_eq!(get(&store, "innocent").await, None);
    set(&store, "next", "v").await.expect("reopened");
}

async fn many_concurrent_writers_lose_no_write(engine: &TestEngine) {
    let store = engine.open().await;
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    store.write(increment).await.expect("committed");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    assert_eq!(get(&store, "n").await.as_deref(), Some("1000"));
    assert!(store.stats().commits < 1_000, "{:?}", store.stats());
}

fn increment(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let n = meta::find(tx, "n")?.map_or(0, |n| n.parse::<u32>().expect("a number"));
    meta::set(tx, "n", &(n + 1).to_string())
}

async fn a_long_read_keeps_its_snapshot_and_delays_no_write(engine: &TestEngine) {
    let store = engine.open().await;
    set(&store, "k", "old").await.expect("committed");
    let (entered, has_entered) = tokio::sync::oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let reading = store.clone();
    let read = tokio::spawn(async move {
        reading
            .read(move |tx| {
                let before = meta::find(tx, "k")?;
                let _ = entered.send(());
                let _ = released.recv();
                Ok((before, meta::find(tx, "k")?))
            })
            .await
    });
    has_entered.await.expect("the read began");
    tokio::time::timeout(DEADLINE, set(&store, "k", "new"))
        .await
        .expect("the write does not wait")
        .expect("committed");
    assert_eq!(get(&store, "k").await.as_deref(), Some("new"));
    release.send(()).expect("the read waits");
    let (before, after) = read.await.expect("no panic").expect("read");
    assert_eq!((before, after), (Some("old".into()), Some("old".into())));
}

async fn reads_cannot_write(engine: &TestEngine) {
    let store = engine.open().await;
    let result = store.read(|tx| meta::set(tx, "k", "v")).await;
    assert!(matches!(result, Err(StoreError::Database(_))), "{result:?}");
}

async fn a_full_queue_makes_callers_wait_and_serves_them_all(engine: &TestEngine) {
    let options = StoreOptions {
        queue: 2,
        batch_max: 2,
        ..StoreOptions::default()
    };
    let store = engine.open_with(options).await;
    let hold = Hold::writer(&store).await;
    let writes: Vec<_> = (0..20).map(|_| spawn_write(&store, increment)).collect();
    until_waiting(&store, 2).await;
    hold.release().await;
    for write in writes {
        write.await.expect("no panic").expect("committed");
    }
    assert_eq!(get(&store, "n").await.as_deref(), Some("20"));
}

on_each_engine!(
    waiting_writes_share_one_commit,
    a_failed_and_a_panicked_command_do_not_affect_the_rest_of_their_batch,
    a_failed_command_that_is_alone_in_its_batch_is_rolled_back,
    many_concurrent_writers_lose_no_write,
    a_long_read_keeps_its_snapshot_and_delays_no_write,
    reads_cannot_write,
    a_full_queue_makes_callers_wait_and_serves_them_all,
);
