//! The schema, step by step. Forward only: a step that has been released is never edited.

use super::{
    connection::Connection,
    error::{OpenError, StoreError},
    roles,
    sql::{Tx, values},
};

/// The steps in their order: the names of their files, and their statements.
macro_rules! steps {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("migrations/", $file, ".sql")))),*]
    };
}

const STEPS: &[(&str, &str)] = steps![
    "0001_identity_and_spaces",
    "0002_events",
    "0003_scripts",
    "0004_deliveries_by_event",
    "0005_zone",
    "0006_fair_delivery",
    "0007_power",
    "0008_event_usage",
    "0009_quotas",
    "0010_sealed_headers",
    "0011_token_parents",
    "0012_tool_annotations",
    "0013_delivery_policy",
    "0014_refill",
    "0015_exchanges",
    "0016_client_keys",
];

/// The schema version of this program: the number of steps.
pub const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Migrates a database to [`SCHEMA_VERSION`], each step in a transaction of its own. Servers that
/// start at the same time run steps one after the other, and check again before each step.
pub(super) fn migrate(connection: &dyn Connection) -> Result<(), OpenError> {
    in_transaction(connection, begin)?;
    for (version, step) in (1..).zip(STEPS) {
        in_transaction(connection, |tx| ensure_applied(tx, version, step))
            .map_err(|reason| OpenError::Migration { version, reason })?;
    }
    check_version(in_transaction(connection, finish)?)
}

/// [`migrate`] within an open transaction.
pub(super) fn migrate_within(tx: &mut Tx<'_>) -> Result<(), OpenError> {
    begin(tx)?;
    for (version, step) in (1..).zip(STEPS) {
        ensure_applied(tx, version, step)
            .map_err(|reason| OpenError::Migration { version, reason })?;
    }
    check_version(finish(tx)?)
}

fn begin(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute_script(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
            version BIGINT PRIMARY KEY,
            name TEXT NOT NULL,
            applied_at BIGINT NOT NULL
        )",
    )
}

/// Runs a step unless it has run before.
fn ensure_applied(
    tx: &mut Tx<'_>,
    version: i64,
    (file, sql): &(&str, &str),
) -> Result<(), StoreError> {
    if schema_version(tx)? >= version {
        return Ok(());
    }
    // The name of the file without its number.
    let name = file[5..].replace('_', " ");
    tracing::info!(target: crate::LOG_TARGET, version, "migrating the database: {name}");
    tx.execute_script(sql)?;
    tx.execute(
        "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)",
        values![version, name, svc_clock::now()],
    )
}

/// Returns the schema version, and inserts the built-in roles if this is the version of this
/// program. A newer svc may have other built-in roles.
fn finish(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let found = schema_version(tx)?;
    if found == SCHEMA_VERSION {
        roles::ensure_builtin(tx, svc_clock::now())?;
    }
    Ok(found)
}

fn check_version(found: i64) -> Result<(), OpenError> {
    match found {
        SCHEMA_VERSION => Ok(()),
        found => Err(OpenError::NewerSchema {
            found,
            known: SCHEMA_VERSION,
        }),
    }
}

/// The newest step that ran on a database; 0 for an empty database.
fn schema_version(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.get(
        "SELECT COALESCE(MAX(version), 0) FROM schema_migrations",
        &[],
    )
}

fn in_transaction<T>(
    connection: &dyn Connection,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    // A step may take long on a large database; other servers wait for it.
    connection.begin_long()?;
    let mut tx = Tx::on(connection);
    let done = work(&mut tx);
    match tx.end().and(done) {
        Ok(done) => connection.commit().map(|()| done),
        Err(error) => {
            connection.rollback()?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_each_migration_begins_with_its_version() {
        for (version, (file, _)) in (1..).zip(STEPS) {
            assert!(file.starts_with(&format!("{version:04}_")), "{file}");
        }
    }
}
