//! Databases of a newer version. The tests use both database engines.

use svc_testkit::{Process, TestPostgres, TestServer};

use crate::SOON;

const NEWER: &str = "INSERT INTO schema_migrations (version, name, applied_at, compatible_since) \
     VALUES (999, 'later', 0, 999)";

/// Checks that an older server does not start, and that its message names both versions and the
/// remedy.
async fn check_refusal(server: &TestServer) {
    let command = server.second_server(&server.data_dir());
    let mut refused = Process::spawn("older server", command);
    assert_eq!(refused.wait_for_exit(SOON).await.code(), Some(1));
    let said = refused.stderr();
    for part in [
        "schema version 999",
        &format!("svc {} supports", env!("CARGO_PKG_VERSION")),
        &format!("up to {}", svc_store::SCHEMA_VERSION),
        "written by svc 9.9.9",
        "a backup that was made before the upgrade",
        "docs/OPERATIONS.md#downgrade",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

#[tokio::test]
async fn a_newer_embedded_database_is_refused() {
    let mut server = TestServer::builder().embedded().start().await;
    let other = "UPDATE meta SET value = '9.9.9' WHERE key = 'svc_version'";
    server.edit_database(&format!("{NEWER}; {other}")).await;
    check_refusal(&server).await;
}

#[tokio::test]
async fn a_newer_database_of_postgresql_is_refused() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let mut server = TestServer::builder()
        .database_url(&database.url)
        .start()
        .await;
    server.terminate().await;
    postgres.sql(&database.name, NEWER);
    let other = "UPDATE meta SET value = '9.9.9' WHERE key = 'svc_version'";
    postgres.sql(&database.name, other);
    check_refusal(&server).await;
}
