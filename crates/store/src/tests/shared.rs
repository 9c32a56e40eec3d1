//! Several stores on one PostgreSQL database: effects of one server on the others.

use std::time::Duration;

use svc_testkit::TestPostgres;
use tokio::time::timeout;

use super::{get, increment, set};
use crate::{
    Store, StoreError, StoreOptions,
    engines::TestEngine,
    zone_changes::{self, ZoneChange},
};

/// Shorter than the time after which PostgreSQL ends an idle transaction and so releases its lock.
const BEFORE_IDLE_ENDS: Duration = Duration::from_secs(3);
/// Long, because the machine may be busy.
const SOON: Duration = Duration::from_secs(60);

/// Two stores on a fresh database; `None` if PostgreSQL is not installed.
async fn two() -> Option<(Store, Store, TestEngine)> {
    let engine = TestEngine::postgres()?;
    Some((engine.open().await, engine.open().await, engine))
}

#[tokio::test]
async fn writers_of_two_servers_take_turns_and_lose_no_write() {
    let Some((one, other, _engine)) = two().await else {
        return;
    };
    let writing: Vec<_> = (0..40)
        .map(|n| {
            let store = if n % 2 == 0 {
                one.clone()
            } else {
                other.clone()
            };
            tokio::spawn(async move { store.write(increment).await })
        })
        .collect();
    for write in writing {
        write.await.expect("no panic").expect("committed");
    }
    assert_eq!(get(&other, "n").await.as_deref(), Some("40"));
}

#[tokio::test]
async fn a_rejected_write_releases_the_lock() {
    let Some((one, other, _engine)) = two().await else {
        return;
    };
    // A busy machine may delay a write once. A lock that is not released delays every write.
    let mut is_free = false;
    for _ in 0..5 {
        let refused: Result<(), _> = one.write(|_| Err(StoreError::NoRow)).await;
        assert_eq!(refused, Err(StoreError::NoRow));
        if let Ok(written) = timeout(BEFORE_IDLE_ENDS, set(&other, "k", "v")).await {
            written.expect("committed");
            is_free = true;
            break;
        }
    }
    assert!(is_free, "the lock is not released");
}

#[tokio::test]
async fn a_server_that_lost_its_connections_opens_new_ones() {
    let Some((one, other, engine)) = two().await else {
        return;
    };
    set(&one, "k", "v").await.expect("committed");
    assert_eq!(get(&other, "k").await.as_deref(), Some("v"));
    let (TestEngine::Postgres(database), Some(postgres)) = (&engine, TestPostgres::find()) else {
        unreachable!("two stores need PostgreSQL");
    };
    assert!(postgres.kill_connections(&database.name) >= 3);
    set(&one, "k", "w")
        .await
        .expect("committed on a new connection");
    assert_eq!(get(&other, "k").await.as_deref(), Some("w"));
}

#[tokio::test]
async fn a_commit_notifies_the_other_servers() {
    let Some((one, other, _engine)) = two().await else {
        return;
    };
    // Listening begins with a hint, because earlier commits were not reported.
    timeout(SOON, other.wait_for_hint())
        .await
        .expect("the server listens");
    let telling = |tx: &mut crate::Tx<'_>| zone_changes::append(tx, &ZoneChange::Groups);
    one.write(telling).await.expect("committed");
    timeout(SOON, other.wait_for_hint())
        .await
        .expect("the server was notified");
    let found = other
        .read(|tx| zone_changes::list_after(tx, 0, 10))
        .await
        .expect("read");
    assert_eq!(found, (vec![ZoneChange::Groups], 1));
}

#[tokio::test]
async fn servers_that_start_at_the_same_time_create_the_tables_once() {
    let Some(engine) = TestEngine::postgres() else {
        return;
    };
    let opening = (0..4).map(|_| engine.try_open(StoreOptions::default()));
    for opened in futures_util::future::join_all(opening).await {
        opened.expect("opens").close().await;
    }
}

#[tokio::test]
async fn the_time_comes_from_the_database() {
    let Some(engine) = TestEngine::postgres() else {
        return;
    };
    let options = StoreOptions {
        clock: svc_clock::Clock::from_fn(|| svc_core::Timestamp(1)),
        ..StoreOptions::default()
    };
    let store = engine.open_with(options).await;
    let now = store.read(|tx| tx.now()).await.expect("read");
    assert!(now.0 > 1_700_000_000_000, "{now:?}");
    store.close().await;
}
