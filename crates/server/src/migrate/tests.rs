//! Migration to a real PostgreSQL, with rows in every table.

mod refusals;

use std::{collections::BTreeMap, path::Path};

use svc_store::{
    DATABASE_FILE, DatabaseUrl, Store,
    testing::{create_file, edit_file},
};
use svc_testkit::{TestDatabase, TestPostgres};
use tempfile::TempDir;

use super::{MigrateError, Progress, Report, Step, run};

const SERVER_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Rows in every table. The events, deliveries and attempts have more rows than the migration
/// copies at a time.
const CONTENTS: &str = include_str!("contents.sql");

struct Source(TempDir);

impl Source {
    async fn filled() -> Self {
        let source = Self::fresh().await;
        source.edit(CONTENTS);
        source
    }

    async fn fresh() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Store::open(folder.path()).expect("opens").close().await;
        Self(folder)
    }

    /// The folder of an svc that was stopped before its first migration.
    fn without_schema() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        create_file(&folder.path().join(DATABASE_FILE));
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn edit(&self, sql: &str) {
        edit_file(&self.path().join(DATABASE_FILE), sql);
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path().join(DATABASE_FILE)).expect("readable")
    }

    async fn moved_to(&self, url: &str) -> Result<Report, MigrateError> {
        moved(self.path(), url).await.0
    }
}

/// Runs the migration on a blocking thread, as it requires.
async fn moved(from: &Path, url: &str) -> (Result<Report, MigrateError>, Vec<Progress>) {
    let (from, url) = (from.to_owned(), DatabaseUrl::parse(url).expect("a URL"));
    let run = move || {
        let mut reports = Vec::new();
        let result = run(&from, url, &mut |progress| reports.push(progress));
        (result, reports)
    };
    tokio::task::spawn_blocking(run).await.expect("no panic")
}

fn target() -> Option<(&'static TestPostgres, TestDatabase)> {
    let postgres = TestPostgres::find()?;
    Some((postgres, postgres.database()))
}

/// The number of tables, including those that svc did not create.
fn tables_in(postgres: &TestPostgres, database: &TestDatabase) -> String {
    let count = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    postgres.sql(&database.name, count)
}

#[tokio::test]
async fn all_data_is_copied_unchanged() {
    let Some((postgres, database)) = target() else {
        return;
    };
    let source = Source::filled().await;
    let (report, reports) = moved(source.path(), &database.url).await;
    let report = report.expect("moved");
    assert_eq!(report.to, database.url);
    assert_eq!(report.tables.len(), 43);
    let rows: BTreeMap<_, _> = report.tables.iter().map(|t| (t.name, t.rows)).collect();
    for (table, count) in &rows {
        assert!(*count > 0, "`{table}` is empty and so not tested");
        let there = postgres.sql(&database.name, &format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(there, count.to_string(), "{table}");
    }
    assert_eq!(rows["events"], 1_000);
    assert_eq!(rows["deliveries"], 900);
    // Read with independent queries, not with the code of the migration that compares rows.
    let text = postgres.sql(
        &database.name,
        "SELECT data FROM events WHERE id = 'e00777'",
    );
    assert_eq!(text, "{\"text\":\"Grüße 🦀 777\"}");
    let token = "SELECT encode(hash, 'hex') || ' ' || (expires_at IS NULL) FROM api_tokens";
    assert_eq!(postgres.sql(&database.name, token), "00ff27 true");
    // PostgreSQL cannot store NUL in text; it is replaced.
    let output = "SELECT output FROM attempts WHERE lane_id = 'l1' AND n = 7 AND attempt = 2";
    assert_eq!(postgres.sql(&database.name, output), "a\u{fffd}b");
    let role = "SELECT r.name FROM user_roles u JOIN roles r ON r.id = u.role_id";
    assert_eq!(postgres.sql(&database.name, role), "admin");
    // Progress is reported for both steps of a table, up to its last row.
    for step in [Step::Copy, Step::Check] {
        let of_events: Vec<_> = reports
            .iter()
            .filter(|report| (report.step, report.table) == (step, "events"))
            .map(|report| report.rows)
            .collect();
        assert_eq!(of_events, [0, 200, 400, 600, 800, 1_000], "{step:?}");
    }
}

#[tokio::test]
async fn data_that_each_zone_creates_itself_is_not_copied() {
    let Some((postgres, database)) = target() else {
        return;
    };
    let source = Source::filled().await;
    let before = source.bytes();
    let report = source.moved_to(&database.url).await.expect("moved");
    let sql = |text: &str| postgres.sql(&database.name, text);
    for table in [
        "servers",
        "zone_changes",
        "limit_use",
        "login_failures",
        "log_requests",
        "oauth_consents",
        "oauth_codes",
        "oauth_devices",
        "oidc_logins",
        "oidc_pending_grants",
        "oidc_logout_tokens",
        "totp_enrolments",
        "pending_logins",
        "passkey_challenges",
    ] {
        assert_eq!(
            sql(&format!("SELECT COUNT(*) FROM {table}")),
            "0",
            "{table}"
        );
    }
    assert_eq!(sql("SELECT key FROM meta"), "secret_key_check");
    assert_eq!(
        sql("SELECT lease_owner IS NULL, lease_until, fence FROM lanes WHERE id = 'l1'"),
        "t|0|7"
    );
    // The server of this folder keeps its id and its spaces.
    assert_eq!(
        sql("SELECT node_id FROM spaces WHERE id = 'sp1'"),
        SERVER_ID
    );
    assert_eq!(
        sql("SELECT node_id IS NULL FROM spaces WHERE id = 'sp2'"),
        "t"
    );
    let id = crate::zone::own_id(source.path()).expect("an id");
    assert_eq!(id.to_string(), SERVER_ID);
    assert_eq!(report.server_id, Some(id));
    assert_eq!(source.bytes(), before, "the source is only read");
}

#[tokio::test]
async fn a_folder_that_has_an_id_in_the_zone_keeps_it_and_gets_the_spaces() {
    let Some((postgres, database)) = target() else {
        return;
    };
    let source = Source::filled().await;
    let id = crate::zone::own_id(source.path()).expect("made");
    assert_ne!(id.to_string(), SERVER_ID);
    source.moved_to(&database.url).await.expect("moved");
    let node = "SELECT node_id FROM spaces WHERE id = 'sp1'";
    assert_eq!(postgres.sql(&database.name, node), id.to_string());
    assert_eq!(crate::zone::own_id(source.path()).expect("kept"), id);
}

#[tokio::test]
async fn a_source_with_an_older_schema_is_migrated_first() {
    let Some((postgres, database)) = target() else {
        return;
    };
    let source = Source::without_schema();
    // The path of the database file works like that of its folder.
    let file = source.path().join(DATABASE_FILE);
    let (report, _) = moved(&file, &database.url).await;
    report.expect("moved");
    source.edit("INSERT INTO meta (key, value) VALUES ('k', 'v')");
    let roles = postgres.sql(&database.name, "SELECT COUNT(*) FROM roles");
    assert_eq!(roles, "2", "the roles of the migrated source");
}

#[tokio::test]
async fn a_difference_undoes_everything_and_names_its_table() {
    for (change, what) in [
        ("NEW.detail := 'other'; RETURN NEW", "a value differs"),
        ("RETURN NULL", "300 rows were sent, 0 are there"),
    ] {
        let Some((postgres, database)) = target() else {
            return;
        };
        // A database with this schema, and a trigger that changes or drops rows inserted into
        // `audit`.
        let url = DatabaseUrl::parse(&database.url).expect("a URL");
        let store = Store::connect(url, Default::default()).await;
        store.expect("empty").close().await;
        postgres.sql(
            &database.name,
            &format!(
                "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql
                     AS $$ BEGIN {change}; END $$;
                 CREATE TRIGGER other BEFORE INSERT ON audit
                     FOR EACH ROW EXECUTE FUNCTION other()"
            ),
        );
        let source = Source::filled().await;
        let error = source.moved_to(&database.url).await.expect_err("different");
        let message = error.to_string();
        assert!(message.contains("`audit`"), "{message}");
        assert!(message.contains(what), "{message}");
        assert_eq!(
            postgres.sql(&database.name, "SELECT COUNT(*) FROM users"),
            "0"
        );
        let id = source.path().join("server.id");
        assert!(!id.exists(), "nothing was moved, so no server id is stored");
    }
}
