//! Faults of the disk while a server runs, and at its start.

use serde_json::json;
use svc_testkit::{TestServer, TestUser, eventually, fixture, result};

use super::{Faults, Field, Stream, readiness, wait_until_writable};
use crate::{SOON, operations::service_manager::Manager};

/// `errno` of Linux.
const EIO: i64 = 5;
const EROFS: i64 = 30;

/// Simulates a file system that Linux has remounted read-only after an error.
fn set_read_only(faults: &Faults) {
    faults.set(Field::WriteError, EROFS);
    faults.set(Field::SyncError, EROFS);
    faults.set(Field::OpenError, EROFS);
}

/// Checks that everything that needs a write is refused with this code, and everything else works.
async fn check_outage(server: &TestServer, ann: &TestUser, code: &str, database: &str) {
    for (path, body) in [
        ("/api/tokens", json!({"name": "x"})),
        ("/api/spaces", json!({"name": "x"})),
        ("/api/events/emit", json!({"type": "other"})),
    ] {
        let answer = ann.post(path, body).await.expect(503);
        assert_eq!(answer.code(), code, "{path}");
        assert!(answer.header("retry-after").is_some(), "{path}");
    }
    let login = server.try_login(&ann.name, &ann.password).await.expect(503);
    assert_eq!(login.code(), code);
    result(&ann.call("echo", json!([1])).await);
    ann.get("/api/spaces").await.expect(200);
    let http = server.http();
    http.request("GET", "/healthz", &[], "").await.expect(200);
    let expected = json!({"status": "ready", "database": database});
    assert_eq!(readiness(server).await, (200, expected));
    let metrics = http.request("GET", "/metrics", &[], "").await.expect(200);
    assert!(metrics.text().contains("svc_database_failing 1\n"));
    let health = ["server", "health", "--url", server.url()];
    let said = server.anonymous_cli().run(&health).await.expect(0);
    assert!(
        said.stdout.ends_with(&format!("database: {database}\n")),
        "{}",
        said.stdout
    );
}

/// Begins a fault, and emits events until 20 are refused. Checks the outage, ends the fault, and
/// checks that all acknowledged events arrive. Does all this twice on one server.
async fn check(begin: impl Fn(&Faults), code: &str, database: &str) {
    let Some(faults) = Faults::find() else { return };
    let mut server = faults.server().start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(10).await;

    for round in 0..2 {
        begin(&faults);
        let mut refused = 0;
        for _ in 0..1_000 {
            match stream.emit().await {
                (202, _) => {}
                (status, said) => {
                    assert_eq!((status, said.as_str()), (503, code), "round {round}");
                    refused += 1;
                }
            }
            if refused == 20 {
                break;
            }
        }
        assert_eq!(refused, 20, "round {round}");
        check_outage(&server, &ann, code, database).await;
        let checks = admin.get("/api/diagnostics").await.expect(200).json();
        let checks = checks["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == "database");
        assert_eq!(found.unwrap()["status"], "error", "{checks:?}");
        faults.repair();
        wait_until_writable(&server).await;
        stream.emit_all(10).await;
        stream.wait_for_all().await;
    }
    // An outage is logged when it begins and ends, not for each request.
    let log = server.log();
    let begun = log.matches("the database fails").count();
    assert!((1..=2).contains(&begun), "{log}");
    assert_eq!(log.matches("takes writes again").count(), begun, "{log}");
    // What was acknowledged is on the disk.
    server.kill9();
    server.start_again().await;
    stream.emit_all(5).await;
    stream.wait_for_all().await;
}

#[tokio::test]
async fn a_full_disk_refuses_writes_with_disk_full_and_loses_nothing() {
    // The disk gets full in the middle of a write.
    check(|faults| faults.limit(100_001), "disk_full", "disk_full").await;
}

#[tokio::test]
async fn a_disk_that_fails_to_write_is_reported_and_loses_nothing() {
    let begin = |faults: &Faults| faults.set(Field::WriteError, EIO);
    check(begin, "database_unavailable", "not_writable").await;
}

#[tokio::test]
async fn a_disk_that_fails_to_sync_is_reported_and_loses_nothing() {
    let begin = |faults: &Faults| faults.set(Field::SyncError, EIO);
    check(begin, "database_unavailable", "not_writable").await;
}

#[tokio::test]
async fn a_disk_that_becomes_read_only_is_reported_and_loses_nothing() {
    check(set_read_only, "database_unavailable", "not_writable").await;
}

#[tokio::test]
async fn a_disk_that_fails_to_read_is_reported_and_recovers() {
    let Some(faults) = Faults::find() else { return };
    let server = faults.server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(20).await;
    stream.wait_for_all().await;
    faults.set(Field::ReadError, EIO);
    // This request needs a page of the database file that no read connection has in its cache.
    let answer = ann.get("/api/events?limit=200").await.expect(503);
    assert_eq!(answer.code(), "database_unavailable");
    result(&ann.call("echo", json!([1])).await);
    faults.repair();
    ann.get("/api/events?limit=200").await.expect(200);
    stream.emit_all(10).await;
    stream.wait_for_all().await;
    wait_until_writable(&server).await;
}

#[tokio::test]
async fn a_disk_that_hangs_delays_writes_and_nothing_else() {
    let Some(faults) = Faults::find() else { return };
    let server = faults.server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(3).await;
    faults.set(Field::Hang, 1);
    let emitting = tokio::spawn({
        let ann = ann.clone();
        async move { ann.try_emit("late", json!({})).await.status }
    });
    eventually("the disk hangs", SOON, || async {
        faults.get(Field::Injected) > 0
    })
    .await;
    for n in 0..20 {
        assert_eq!(*result(&ann.call("echo", json!([n])).await), json!([n]));
    }
    ann.get("/api/spaces").await.expect(200);
    let expected = json!({"status": "ready", "database": "not_writable"});
    eventually("the server reports it", SOON, || async {
        readiness(&server).await == (200, expected.clone())
    })
    .await;
    assert!(!emitting.is_finished(), "an emit waits for the disk");
    faults.repair();
    assert_eq!(emitting.await.unwrap(), 202);
    wait_until_writable(&server).await;
    stream.emit_all(3).await;
    stream.wait_for_all().await;
}

#[tokio::test]
async fn a_watchdog_does_not_restart_a_server_whose_disk_is_read_only() {
    let Some(faults) = Faults::find() else { return };
    let manager = Manager::at_path();
    let server = faults
        .server()
        .env("NOTIFY_SOCKET", &manager.name)
        .env("WATCHDOG_USEC", "1000000")
        .start()
        .await;
    manager.wait_for("READY=1").await;
    let ann = server.user("ann").await;
    set_read_only(&faults);
    ann.try_emit("x", json!({})).await.expect(503);
    let message = manager.wait_for("takes no writes").await;
    assert!(message.starts_with("WATCHDOG=1\n"), "{message}");
    faults.repair();
    wait_until_writable(&server).await;
    manager.wait_for("WATCHDOG=1").await;
}

#[tokio::test]
async fn a_server_does_not_start_on_a_disk_that_cannot_be_written_and_names_the_reason() {
    let Some(faults) = Faults::find() else { return };
    let mut server = faults.server().start().await;
    let ann = server.user("ann").await;
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(5).await;
    server.kill9();
    for (field, error, expected) in [
        (Field::IsLimited, 1, "full"),
        (Field::OpenError, EROFS, "Read-only file system"),
    ] {
        faults.set(Field::Budget, 0);
        faults.set(field, error);
        let command = server.second_server(&server.data_dir());
        let mut refused = svc_testkit::Process::spawn("server on a bad disk", command);
        let status = refused.wait_for_exit(SOON).await;
        assert!(!status.success());
        let said = refused.stderr();
        assert!(said.contains(expected), "{said}");
        assert!(said.trim().lines().count() <= 4, "{said}");
        faults.repair();
    }
    server.start_again().await;
    stream.emit_all(5).await;
    stream.wait_for_all().await;
}
