use svc_testkit::TestPostgres;

use super::{
    Target,
    tables::{COPIED, NOT_COPIED},
};
use crate::{DATABASE_FILE, DatabaseUrl, Store, connection::Connection as _};

#[tokio::test]
async fn every_table_is_listed_and_comes_after_the_tables_that_it_references() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Store::open(folder.path()).expect("opens").close().await;
    let database =
        rusqlite::Connection::open(folder.path().join(DATABASE_FILE)).expect("a database");
    let list = |sql: &str| -> Vec<String> {
        let mut statement = database.prepare(sql).expect("valid");
        let rows = statement.query_map([], |row| row.get(0)).expect("runs");
        rows.collect::<Result<_, _>>().expect("texts")
    };
    let tables = list("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    let mut known: Vec<_> = COPIED.iter().chain(NOT_COPIED).copied().collect();
    known.push("schema_migrations");
    known.sort_unstable();
    assert_eq!(tables, known);
    for (index, table) in COPIED.iter().enumerate() {
        for other in list(&format!(
            "SELECT \"table\" FROM pragma_foreign_key_list('{table}')"
        )) {
            let earlier = COPIED[..index].contains(&other.as_str());
            assert!(earlier, "`{table}` refers to `{other}`");
        }
    }
}

#[test]
fn a_long_copy_has_no_time_limits_of_the_database() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    postgres.sql(
        &database.name,
        &format!(
            "ALTER DATABASE {name} SET statement_timeout = '20s';
             ALTER DATABASE {name} SET idle_in_transaction_session_timeout = '20s'",
            name = database.name
        ),
    );
    let url = DatabaseUrl::parse(&database.url).expect("a URL");
    let target = Target::begin(url).expect("empty");
    let limits = || {
        let rows = target
            .connection
            .query(
                "SELECT current_setting('statement_timeout') AS statement,
                        current_setting('idle_in_transaction_session_timeout') AS idle",
                &[],
            )
            .expect("answered");
        let text = |column| rows[0].get::<String>(column).expect("a text");
        (text("statement"), text("idle"))
    };
    assert_eq!(limits(), ("0".to_owned(), "0".to_owned()));
    // Ordinary transactions have limits.
    target.connection.rollback().expect("sent");
    target.connection.begin().expect("sent");
    assert_eq!(limits(), ("10s".to_owned(), "5s".to_owned()));
}
