//! The schema, step by step. Forward only: a step that has been released is never edited.

use super::{
    connection::Connection,
    error::{OpenError, StoreError},
    roles,
    sql::{Tx, values},
};

/// One step of the schema.
struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

impl Migration {
    fn failed(&self, reason: StoreError) -> OpenError {
        OpenError::Migration {
            version: self.version,
            reason,
        }
    }
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
    Migration {
        version: 5,
        name: "zone",
        sql: include_str!("migrations/0005_zone.sql"),
    },
    Migration {
        version: 6,
        name: "fair delivery",
        sql: include_str!("migrations/0006_fair_delivery.sql"),
    },
    Migration {
        version: 7,
        name: "power",
        sql: include_str!("migrations/0007_power.sql"),
    },
    Migration {
        version: 8,
        name: "event usage",
        sql: include_str!("migrations/0008_event_usage.sql"),
    },
    Migration {
        version: 9,
        name: "quotas",
        sql: include_str!("migrations/0009_quotas.sql"),
    },
    Migration {
        version: 10,
        name: "sealed headers",
        sql: include_str!("migrations/0010_sealed_headers.sql"),
    },
    Migration {
        version: 11,
        name: "token parents",
        sql: include_str!("migrations/0011_token_parents.sql"),
    },
    Migration {
        version: 12,
        name: "tool annotations",
        sql: include_str!("migrations/0012_tool_annotations.sql"),
    },
];

/// The schema version of this program.
pub const SCHEMA_VERSION: i64 = 12;

/// Migrates a database to [`SCHEMA_VERSION`], each step in a transaction of its own. Servers that
/// start at the same time run steps one after the other, and check again before each step.
pub(super) fn migrate(connection: &Connection) -> Result<(), OpenError> {
    in_transaction(connection, begin)?;
    for step in MIGRATIONS {
        in_transaction(connection, |tx| ensure_applied(tx, step))
            .map_err(|reason| step.failed(reason))?;
    }
    let found = in_transaction(connection, finish)?;
    check_version(found)
}

/// [`migrate`] within an open transaction.
pub(super) fn migrate_within(tx: &mut Tx<'_>) -> Result<(), OpenError> {
    begin(tx)?;
    for step in MIGRATIONS {
        ensure_applied(tx, step).map_err(|reason| step.failed(reason))?;
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
fn ensure_applied(tx: &mut Tx<'_>, step: &Migration) -> Result<(), StoreError> {
    match schema_version(tx)? < step.version {
        true => apply(tx, step),
        false => Ok(()),
    }
}

/// Returns the schema version, and inserts the built-in roles if it is that of this program. A newer
/// svc may have other built-in roles.
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
    tx.count(
        "SELECT COALESCE(MAX(version), 0) FROM schema_migrations",
        &[],
    )
}

fn apply(tx: &mut Tx<'_>, migration: &Migration) -> Result<(), StoreError> {
    tracing::info!(target: crate::LOG_TARGET,
        version = migration.version,
        "migrating the database: {}",
        migration.name
    );
    tx.execute_script(migration.sql)?;
    tx.execute(
        "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)",
        values![migration.version, migration.name, svc_clock::now()],
    )?;
    Ok(())
}

fn in_transaction<T>(
    connection: &Connection,
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
    fn steps_are_numbered_without_gaps_up_to_the_schema_version() {
        let versions: Vec<_> = MIGRATIONS.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=SCHEMA_VERSION).collect::<Vec<_>>());
    }
}
