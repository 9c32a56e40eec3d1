//! The schema, step by step. Forward only: a step that has been released is never edited.

use super::{
    error::{OpenError, StoreError},
    roles,
    sql::{Tx, values},
    sqlite::Connection,
};
use crate::clock;

/// One step of the schema.
struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "identity and spaces",
        sql: include_str!("migrations/0001_identity_and_spaces.sql"),
    },
    Migration {
        version: 2,
        name: "events",
        sql: include_str!("migrations/0002_events.sql"),
    },
    Migration {
        version: 3,
        name: "scripts",
        sql: include_str!("migrations/0003_scripts.sql"),
    },
    Migration {
        version: 4,
        name: "deliveries by event",
        sql: include_str!("migrations/0004_deliveries_by_event.sql"),
    },
];

/// The schema this program works with.
pub const SCHEMA_VERSION: i64 = 4;

/// Brings a database up to [`SCHEMA_VERSION`], each step in a transaction of its own.
pub(super) fn migrate(connection: &Connection) -> Result<(), OpenError> {
    connection.execute_script(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
            version BIGINT PRIMARY KEY,
            name TEXT NOT NULL,
            applied_at BIGINT NOT NULL
        )",
    )?;
    let found = schema_version(&mut Tx::on(connection))?;
    if found > SCHEMA_VERSION {
        return Err(OpenError::NewerSchema {
            found,
            known: SCHEMA_VERSION,
        });
    }
    for migration in MIGRATIONS.iter().filter(|step| step.version > found) {
        tracing::info!(
            version = migration.version,
            "migrating the database: {}",
            migration.name
        );
        in_transaction(connection, |tx| apply(tx, migration)).map_err(|reason| {
            OpenError::Migration {
                version: migration.version,
                reason,
            }
        })?;
    }
    in_transaction(connection, |tx| roles::ensure_builtin(tx, clock::now()))?;
    Ok(())
}

/// The newest step a database has; 0 for an empty one.
fn schema_version(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.count(
        "SELECT COALESCE(MAX(version), 0) FROM schema_migrations",
        &[],
    )
}

fn apply(tx: &mut Tx<'_>, migration: &Migration) -> Result<(), StoreError> {
    tx.execute_script(migration.sql)?;
    tx.execute(
        "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)",
        values![migration.version, migration.name, clock::now()],
    )?;
    Ok(())
}

fn in_transaction(
    connection: &Connection,
    work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    connection.control("BEGIN IMMEDIATE")?;
    match work(&mut Tx::on(connection)) {
        Ok(()) => connection.control("COMMIT"),
        Err(error) => {
            connection.control("ROLLBACK")?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_without_gaps_up_to_the_schema_version() {
        let versions: Vec<_> = MIGRATIONS.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=SCHEMA_VERSION).collect::<Vec<_>>());
    }
}
