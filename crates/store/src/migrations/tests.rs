//! The runner, with the steps of next versions.

use std::{path::PathBuf, sync::Arc, time::Duration};

use svc_clock::Clock;
use svc_testkit::TestPostgres;

use super::*;
use crate::{
    DatabaseUrl, StoreOptions, connection::Access, postgres, sqlite, store_clock::StoreClock,
};

/// A step of a next version.
const NEXT: Step<'_> = (
    "9998_next",
    "ALTER TABLE meta ADD COLUMN next TEXT NOT NULL DEFAULT 'none'; CREATE TABLE next (id BIGINT PRIMARY KEY)",
);

#[test]
fn the_name_of_each_migration_begins_with_its_version() {
    for (version, (file, _)) in (1..).zip(STEPS) {
        assert!(file.starts_with(&format!("{version:04}_")), "{file}");
    }
}

#[test]
fn a_new_step_runs_once_and_keeps_the_data() {
    on_each_engine(|connection| {
        assert_eq!(OWN.migrate(connection).expect("runs"), None);
        in_transaction(connection, |tx| meta::set(tx, "k", "v")).expect("committed");
        let steps = with_steps(&[NEXT]);
        let next = next_version(&steps, COMPATIBLE_SINCE);
        assert_eq!(next.migrate(connection).expect("runs"), None);
        assert_eq!(next.migrate(connection).expect("has run"), None);
        let row = "SELECT value || ' ' || next FROM meta WHERE key = 'k'";
        assert_eq!(text(connection, row), "v none");
        let newest = "SELECT name FROM schema_migrations ORDER BY version DESC LIMIT 1";
        assert_eq!(text(connection, newest), "next");
        // This version may still use the database.
        migrate(connection).expect("compatible");
        let refused = migrate_exactly(connection).expect_err("a copy must be complete");
        assert!(
            matches!(refused, OpenError::NewerSchema { .. }),
            "{refused}"
        );
    });
}

#[test]
fn a_step_can_break_the_servers_of_this_version() {
    on_each_engine(|connection| {
        migrate(connection).expect("runs");
        let steps = with_steps(&[NEXT]);
        let next = next_version(&steps, SCHEMA_VERSION + 1);
        assert_eq!(next.migrate(connection).expect("runs"), None);
        let refused = migrate(connection).expect_err("not compatible");
        assert!(
            matches!(refused, OpenError::NewerSchema { found, .. } if found == next.version()),
            "{refused}"
        );
    });
}

#[test]
fn a_step_that_fails_is_undone_and_named_and_can_run_again() {
    on_each_engine(|connection| {
        let created = "CREATE TABLE other (id BIGINT PRIMARY KEY)";
        let broken = format!("{created}; INSERT INTO missing (id) VALUES (1)");
        let steps = with_steps(&[NEXT, ("9999_other", broken.as_str())]);
        let next = next_version(&steps, COMPATIBLE_SINCE);
        let failed = next.migrate(connection).expect_err("broken");
        let version = SCHEMA_VERSION + 2;
        assert!(
            matches!(failed, OpenError::Migration { version: named, .. } if named == version),
            "{failed}"
        );
        let reached = in_transaction(connection, schema_version).expect("read");
        assert_eq!(reached, SCHEMA_VERSION + 1, "the steps before it are kept");
        let steps = with_steps(&[NEXT, ("9999_other", created)]);
        let next = next_version(&steps, COMPATIBLE_SINCE);
        assert_eq!(next.migrate(connection).expect("runs"), None);
    });
}

/// The steps of this version and more.
fn with_steps<'a>(next: &[Step<'a>]) -> Vec<Step<'a>> {
    [STEPS, next].concat()
}

fn next_version<'a>(steps: &'a [Step<'a>], compatible_since: i64) -> Schema<'a> {
    Schema {
        steps,
        compatible_since,
    }
}

fn text(connection: &dyn Connection, sql: &str) -> String {
    in_transaction(connection, |tx| tx.get(sql, &[])).expect("read")
}

/// Runs a test on an empty database of each engine. Not an async test, because each connection to
/// PostgreSQL has a runtime of its own.
fn on_each_engine(test: impl Fn(&dyn Connection)) {
    let file = sqlite::DatabaseFile {
        path: PathBuf::from(":memory:"),
        busy_timeout: Duration::ZERO,
        outage: Arc::default(),
        point_steps: StoreOptions::default().point_steps,
    };
    let clock = Arc::new(StoreClock::new(Clock::system()));
    let embedded = sqlite::Connection::open(&file, Access::Write, clock).expect("opens");
    test(&embedded);
    if let Some(installed) = TestPostgres::find() {
        let database = installed.database();
        let url = DatabaseUrl::parse(&database.url).expect("a URL");
        let connection = postgres::Server::new(url)
            .connect(Access::Write)
            .expect("connects");
        test(&connection);
    }
}
