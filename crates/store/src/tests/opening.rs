//! Opening, refusing to open, and closing.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{Folder, Hold, get, set, spawn_write, until_waiting};
use crate::{
    DATABASE_FILE, NewerSchema, OpenError, SCHEMA_VERSION, Store, StoreError,
    engines::{TestEngine, on_each_engine},
    find_newer_schema, meta,
    sql::values,
};

#[tokio::test]
async fn a_second_server_on_the_folder_is_refused() {
    let folder = Folder::new();
    let store = folder.open();
    let error = Store::open(folder.path()).expect_err("locked");
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    assert!(error.to_string().contains("--data-dir"), "{error}");
    store.close().await;
    folder.open().close().await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let folder = Folder::new();
    let store = folder.open();
    store
        .write(|tx| {
            tx.execute(
                "INSERT INTO schema_migrations (version, name, applied_at, compatible_since)
                 VALUES (?1, 'from the future', 0, ?1)",
                values![SCHEMA_VERSION + 1],
            )
        })
        .await
        .expect("committed");
    store.close().await;
    let error = Store::open(folder.path()).expect_err("newer");
    let message = error.to_string();
    assert!(
        message.contains(&format!("schema version {}", SCHEMA_VERSION + 1)),
        "{message}"
    );
    assert!(
        message.contains(&format!("up to {SCHEMA_VERSION}")),
        "{message}"
    );
}

/// Records a migration step of a newer svc. `compatible_since` is the oldest schema version whose
/// servers may use the database after this step.
async fn add_newer_step(store: &Store, version: i64, compatible_since: i64) {
    let added = store.write(move |tx| {
        tx.execute(
            "INSERT INTO schema_migrations (version, name, applied_at, compatible_since)
             VALUES (?1, 'from the future', 0, ?2)",
            values![version, compatible_since],
        )
    });
    added.await.expect("committed");
}

async fn a_newer_schema_is_used_while_every_newer_step_permits_it(engine: &TestEngine) {
    let (next, last) = (SCHEMA_VERSION + 1, SCHEMA_VERSION + 2);
    let store = engine.open().await;
    assert_eq!(store.read(find_newer_schema).await, Ok(None));
    add_newer_step(&store, next, SCHEMA_VERSION).await;
    let newer = |version, is_compatible| {
        Ok(Some(NewerSchema {
            version,
            is_compatible,
            written_by: None,
        }))
    };
    assert_eq!(store.read(find_newer_schema).await, newer(next, true));
    store.close().await;
    let store = engine.open().await;
    set(&store, "k", "v").await.expect("committed");
    // The last step permits this program, but the step before it does not.
    add_newer_step(&store, last + 1, 1).await;
    add_newer_step(&store, last, next).await;
    assert_eq!(store.read(find_newer_schema).await, newer(last + 1, false));
    store.close().await;
    let refused = engine.try_open(Default::default()).await;
    let message = refused.expect_err("refused").to_string();
    assert!(
        message.contains(&format!("version {}", last + 1)),
        "{message}"
    );
}

on_each_engine!(a_newer_schema_is_used_while_every_newer_step_permits_it,);

#[tokio::test]
async fn only_the_owner_has_access_to_folder_and_database() {
    let folder = Folder::new();
    let data_dir = folder.path().join("a/b");
    let store = Store::open(&data_dir).expect("opens");
    set(&store, "k", "v").await.expect("committed");
    let mode = |path: &Path| {
        let metadata = fs::metadata(path).expect("the path exists");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(&data_dir), 0o700);
    assert_eq!(mode(&data_dir.join(DATABASE_FILE)), 0o600);
    store.close().await;
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_rejected() {
    let folder = Folder::new();
    fs::write(
        folder.path().join(DATABASE_FILE),
        "hello, this is not a database",
    )
    .expect("written");
    let error = Store::open(folder.path()).expect_err("not a database");
    assert!(matches!(error, OpenError::Database(_)), "{error:?}");
}

#[tokio::test]
async fn closing_finishes_queued_writes_and_unlocks_the_folder() {
    let folder = Folder::new();
    let store = folder.open();
    let hold = Hold::writer(&store).await;
    let write = spawn_write(&store, |tx| meta::set(tx, "k", "v"));
    until_waiting(&store, 1).await;
    let closing = tokio::spawn({
        let store = store.clone();
        async move { store.close().await }
    });
    hold.release().await;
    closing.await.expect("no panic");
    assert_eq!(write.await.expect("no panic"), Ok(()));
    assert_eq!(set(&store, "k", "w").await, Err(StoreError::Closed));
    let store = folder.open();
    assert_eq!(get(&store, "k").await.as_deref(), Some("v"));
}
