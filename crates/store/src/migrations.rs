//! The schema, step by step. Forward only: a step that has been released is never edited.
//! `migrations/released.txt` lists the released steps, and a test compares their texts.
//!
//! Servers of the previous version use the new schema during an upgrade. So each step records the
//! oldest schema version whose servers may still use the database. A server uses a newer schema only
//! if every step that it does not know permits its version.

use super::{
    connection::Connection,
    error::{OpenError, StoreError},
    meta, roles,
    sql::{Tx, in_transaction, values},
};

/// The name of a file, and its statements.
type Step<'a> = (&'a str, &'a str);

/// The steps in their order: the names of their files, and their statements.
macro_rules! steps {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("migrations/", $file, ".sql")))),*]
    };
}

const STEPS: &[Step<'static>] = steps!["0001_schema"];

/// The oldest schema version whose servers may use a database of [`SCHEMA_VERSION`]. A step that
/// only adds tables or columns does not change this number. A step that breaks older servers must
/// raise it; these servers stop when the step has run.
const COMPATIBLE_SINCE: i64 = 1;

/// The table of the steps that ran.
pub(super) const STEPS_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at BIGINT NOT NULL,
    compatible_since BIGINT NOT NULL
)";

/// The schema of this program.
const OWN: Schema<'static> = Schema {
    steps: STEPS,
    compatible_since: COMPATIBLE_SINCE,
};

/// The schema version of this program: the number of steps.
pub const SCHEMA_VERSION: i64 = OWN.version();

/// The schema that a program makes. Tests have those of next versions.
struct Schema<'a> {
    steps: &'a [Step<'a>],
    compatible_since: i64,
}

/// A schema that a newer svc has made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewerSchema {
    pub version: i64,
    /// The version of that svc.
    pub written_by: Option<String>,
    /// Whether this program may use it.
    pub is_compatible: bool,
}

/// Migrates a database to [`SCHEMA_VERSION`], each step in a transaction of its own. Servers that
/// start at the same time run steps one after the other, and check again before each step. Accepts a
/// newer schema that is compatible with this program.
pub(super) fn migrate(connection: &dyn Connection) -> Result<(), OpenError> {
    match OWN.migrate(connection)? {
        Some(newer) if newer.is_compatible => {
            tracing::warn!(target: crate::LOG_TARGET, version = newer.version,
                "a newer svc has migrated the database; this svc has schema version {SCHEMA_VERSION} and can use it"
            );
            Ok(())
        }
        newer => refuse_newer(newer),
    }
}

/// Like [`migrate`], but refuses every newer schema. For a copy of the data, which must be
/// complete.
pub(super) fn migrate_exactly(connection: &dyn Connection) -> Result<(), OpenError> {
    refuse_newer(OWN.migrate(connection)?)
}

/// Like [`migrate_exactly`], within an open transaction.
pub(super) fn migrate_within(tx: &mut Tx<'_>) -> Result<(), OpenError> {
    refuse_newer(OWN.migrate_within(tx)?)
}

/// The schema of the database, if a newer svc has migrated it.
pub fn find_newer_schema(tx: &mut Tx<'_>) -> Result<Option<NewerSchema>, StoreError> {
    OWN.find_newer(tx)
}

impl Schema<'_> {
    /// The number of steps.
    const fn version(&self) -> i64 {
        self.steps.len() as i64
    }

    fn migrate(&self, connection: &dyn Connection) -> Result<Option<NewerSchema>, OpenError> {
        in_transaction(connection, begin)?;
        for (version, step) in (1..).zip(self.steps) {
            in_transaction(connection, |tx| self.ensure_applied(tx, version, step))
                .map_err(|reason| OpenError::Migration { version, reason })?;
        }
        Ok(in_transaction(connection, |tx| self.finish(tx))?)
    }

    fn migrate_within(&self, tx: &mut Tx<'_>) -> Result<Option<NewerSchema>, OpenError> {
        begin(tx)?;
        for (version, step) in (1..).zip(self.steps) {
            self.ensure_applied(tx, version, step)
                .map_err(|reason| OpenError::Migration { version, reason })?;
        }
        Ok(self.finish(tx)?)
    }

    /// Runs a step unless it has run before.
    fn ensure_applied(
        &self,
        tx: &mut Tx<'_>,
        version: i64,
        (file, sql): &Step<'_>,
    ) -> Result<(), StoreError> {
        if schema_version(tx)? >= version {
            return Ok(());
        }
        // The name of the file without its number.
        let name = file[5..].replace('_', " ");
        tracing::info!(target: crate::LOG_TARGET, version, "migrating the database: {name}");
        tx.execute_script(sql)?;
        tx.execute(
            "INSERT INTO schema_migrations (version, name, applied_at, compatible_since)
             VALUES (?1, ?2, ?3, ?4)",
            values![version, name, svc_clock::now(), self.compatible_since],
        )
    }

    /// If a newer svc has migrated the database, returns its schema. Otherwise inserts the built-in
    /// roles. A newer svc may have other roles, so a newer schema gets none from this svc.
    fn finish(&self, tx: &mut Tx<'_>) -> Result<Option<NewerSchema>, StoreError> {
        let newer = self.find_newer(tx)?;
        if newer.is_none() {
            roles::ensure_builtin(tx, svc_clock::now())?;
        }
        Ok(newer)
    }

    fn find_newer(&self, tx: &mut Tx<'_>) -> Result<Option<NewerSchema>, StoreError> {
        let version = schema_version(tx)?;
        if version <= self.version() {
            return Ok(None);
        }
        let needed: i64 = tx.get(
            "SELECT MAX(compatible_since) FROM schema_migrations WHERE version > ?1",
            values![self.version()],
        )?;
        Ok(Some(NewerSchema {
            version,
            written_by: meta::find_svc_version(tx)?,
            is_compatible: needed <= self.version(),
        }))
    }
}

fn begin(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute_script(STEPS_TABLE)
}

fn refuse_newer(newer: Option<NewerSchema>) -> Result<(), OpenError> {
    newer.map_or(Ok(()), |newer| {
        Err(OpenError::NewerSchema {
            found: newer.version,
            known: SCHEMA_VERSION,
            written_by: newer.written_by,
        })
    })
}

/// The newest step that ran on a database; 0 for an empty database.
fn schema_version(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.get(
        "SELECT COALESCE(MAX(version), 0) FROM schema_migrations",
        &[],
    )
}

#[cfg(test)]
mod released;
#[cfg(test)]
mod tests;
