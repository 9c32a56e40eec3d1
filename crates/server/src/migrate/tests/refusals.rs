//! Sources that cannot be moved, and targets that cannot be used.

use std::fs;

use svc_store::{
    DATABASE_FILE, DatabaseUrl, FolderLock, OpenError, SCHEMA_VERSION, Store, testing::edit_file,
};

use super::{Source, moved, tables_in, target};
use crate::migrate::{MigrateError, TransferError};

/// No server listens on this port.
const NOWHERE: &str = "postgres://svc@127.0.0.1:1/svc";

/// The message, with its cause.
fn said(error: &MigrateError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[tokio::test]
async fn a_source_that_cannot_be_used_is_refused_and_left_alone() {
    let source = Source::filled().await;
    let missing = source.path().join("missing");
    for path in [missing.clone(), missing.join(DATABASE_FILE)] {
        let error = moved(&path, NOWHERE).await.0.expect_err("missing");
        assert!(matches!(error, MigrateError::NoDatabase(_)), "{error:?}");
        assert!(!missing.exists(), "nothing is created");
    }
    let backup = source.path().join("svc.backup");
    fs::write(&backup, "x").expect("written");
    let error = moved(&backup, NOWHERE).await.0.expect_err("another file");
    assert!(said(&error).contains("svc backup restore"), "{error}");

    let other = tempfile::tempdir().expect("a temporary folder");
    let file = other.path().join(DATABASE_FILE);
    let error = moved(other.path(), NOWHERE).await.0.expect_err("empty");
    assert!(matches!(error, MigrateError::NoDatabase(_)), "{error:?}");
    fs::write(&file, "hello, this is not a database").expect("written");
    let error = moved(other.path(), NOWHERE).await.0.expect_err("a text");
    assert!(said(&error).contains("is not a database"), "{error}");
    fs::remove_file(&file).expect("removed");
    edit_file(&file, "CREATE TABLE users (id TEXT)");
    let before = fs::read(&file).expect("readable");
    let error = moved(other.path(), NOWHERE).await.0.expect_err("foreign");
    assert!(said(&error).contains("not one that svc made"), "{error}");
    assert_eq!(fs::read(&file).expect("readable"), before);
}

#[tokio::test]
async fn a_server_that_runs_on_the_source_must_be_stopped() {
    let source = Source::filled().await;
    let lock = FolderLock::acquire(source.path()).expect("free");
    let error = source.moved_to(NOWHERE).await.expect_err("in use");
    assert!(matches!(error, MigrateError::Running(_)), "{error:?}");
    drop(lock);
    let error = source.moved_to(NOWHERE).await.expect_err("unreachable");
    let message = said(&error);
    assert!(message.contains("svc@127.0.0.1:1/svc"), "{message}");
    assert!(message.contains("Connection refused"), "{message}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_on_either_side() {
    let Some((postgres, database)) = target() else {
        return;
    };
    let newer = format!(
        "INSERT INTO schema_migrations (version, name, applied_at, compatible_since)
             VALUES ({next}, 'from the future', 0, {next})",
        next = SCHEMA_VERSION + 1
    );
    let source = Source::filled().await;
    let url = DatabaseUrl::parse(&database.url).expect("a URL");
    let store = Store::connect(url, Default::default()).await;
    store.expect("empty").close().await;
    postgres.sql(&database.name, &newer);
    let error = source.moved_to(&database.url).await.expect_err("newer");
    let version = format!("schema version {}", SCHEMA_VERSION + 1);
    let is_newer = matches!(
        &error,
        MigrateError::Transfer(TransferError::Target {
            source: OpenError::NewerSchema { .. },
            ..
        })
    );
    assert!(is_newer && said(&error).contains(&version), "{error:?}");

    source.edit(&newer);
    let error = source.moved_to(&database.url).await.expect_err("newer");
    let is_newer = matches!(
        &error,
        MigrateError::Transfer(TransferError::Source(OpenError::NewerSchema { .. }))
    );
    assert!(is_newer, "{error:?}");
}

#[tokio::test]
async fn a_target_that_is_not_empty_is_refused_and_left_alone() {
    let Some((postgres, database)) = target() else {
        return;
    };
    let source = Source::filled().await;
    // A table that svc did not create.
    postgres.sql(&database.name, "CREATE TABLE users (name TEXT)");
    let error = source.moved_to(&database.url).await.expect_err("foreign");
    assert!(said(&error).contains("users"), "{}", said(&error));
    assert_eq!(tables_in(postgres, &database), "1");
    postgres.sql(&database.name, "DROP TABLE users");
    assert_eq!(tables_in(postgres, &database), "0");

    source.moved_to(&database.url).await.expect("moved");
    let error = source
        .moved_to(&database.url)
        .await
        .expect_err("a second time");
    let message = said(&error);
    for part in ["not empty", "2 rows in `users`", "1000 rows in `events`"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let users = postgres.sql(&database.name, "SELECT COUNT(*) FROM users");
    assert_eq!(users, "2");
}
