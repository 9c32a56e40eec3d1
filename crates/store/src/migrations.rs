//! The schema, step by step. Forward only: a step that has been released is never edited.
//! `migrations/released.txt` lists the released steps, and a test compares their texts.
//!
//! Servers of the previous version use the new schema during an upgrade. So each step since
//! [`COMPATIBILITY_STEP`] records the oldest schema version whose servers may still use the
//! database. A server uses a newer schema only if every step that it does not know permits its
//! version.

use super::{
    connection::Connection,
    error::{OpenError, StoreError},
    meta, roles,
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
    "0017_waiting_lanes",
    "0018_announced_servers",
    "0019_zone_limits",
    "0020_schema_compatibility",
    "0021_oauth",
    "0022_oidc",
    "0023_second_factors",
    "0024_enrolment_sessions",
    "0025_sources",
    "0026_calls",
    "0027_passkeys",
    "0028_oidc_grants",
    "0029_recovered_drops",
    "0030_method_stats",
    "0031_call_payloads",
    "0032_event_traces",
    "0033_last_seen",
    "0034_call_stats",
    "0035_feed_progress",
    "0036_bounded_use",
    "0037_networks",
    "0038_removed_lanes",
    "0039_lane_indexes",
];

/// The oldest schema version whose servers may use a database of [`SCHEMA_VERSION`]. A step that
/// only adds tables or columns does not change this number. A step that breaks older servers must
/// raise it; these servers stop when the step has run.
const COMPATIBLE_SINCE: i64 = 39;
/// The first step that records [`COMPATIBLE_SINCE`].
const COMPATIBILITY_STEP: i64 = 20;

/// The table of the steps that ran.
const STEPS_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at BIGINT NOT NULL
)";

/// The schema version of this program: the number of steps.
pub const SCHEMA_VERSION: i64 = STEPS.len() as i64;

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
    match run_steps(connection)? {
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
    refuse_newer(run_steps(connection)?)
}

/// Like [`migrate_exactly`], within an open transaction.
pub(super) fn migrate_within(tx: &mut Tx<'_>) -> Result<(), OpenError> {
    begin(tx)?;
    for (version, step) in (1..).zip(STEPS) {
        ensure_applied(tx, version, step)
            .map_err(|reason| OpenError::Migration { version, reason })?;
    }
    refuse_newer(finish(tx)?)
}

/// The schema of the database, if a newer svc has migrated it.
pub fn find_newer_schema(tx: &mut Tx<'_>) -> Result<Option<NewerSchema>, StoreError> {
    let version = schema_version(tx)?;
    if version <= SCHEMA_VERSION {
        return Ok(None);
    }
    let needed: i64 = tx.get(
        "SELECT MAX(COALESCE(compatible_since, version)) FROM schema_migrations WHERE version > ?1",
        values![SCHEMA_VERSION],
    )?;
    Ok(Some(NewerSchema {
        version,
        written_by: meta::find_svc_version(tx)?,
        is_compatible: needed <= SCHEMA_VERSION,
    }))
}

/// The statements of the first `steps` steps, which create the database of an older svc.
#[cfg(feature = "testing")]
pub(super) fn statements(steps: usize) -> String {
    let mut statements = format!("{STEPS_TABLE};");
    for (version, (file, sql)) in (1..).zip(&STEPS[..steps]) {
        statements += sql;
        statements += &format!(
            "INSERT INTO schema_migrations (version, name, applied_at) VALUES ({version}, '{file}', 1);"
        );
    }
    statements
}

fn run_steps(connection: &dyn Connection) -> Result<Option<NewerSchema>, OpenError> {
    in_transaction(connection, begin)?;
    for (version, step) in (1..).zip(STEPS) {
        in_transaction(connection, |tx| ensure_applied(tx, version, step))
            .map_err(|reason| OpenError::Migration { version, reason })?;
    }
    Ok(in_transaction(connection, finish)?)
}

fn begin(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute_script(STEPS_TABLE)
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
    )?;
    if version < COMPATIBILITY_STEP {
        return Ok(());
    }
    tx.execute(
        "UPDATE schema_migrations SET compatible_since = ?2 WHERE version = ?1",
        values![version, COMPATIBLE_SINCE],
    )
}

/// If a newer svc has migrated the database, returns its schema. Otherwise inserts the built-in
/// roles. A newer svc may have other roles, so a newer schema gets none from this svc.
fn finish(tx: &mut Tx<'_>) -> Result<Option<NewerSchema>, StoreError> {
    let newer = find_newer_schema(tx)?;
    if newer.is_none() {
        roles::ensure_builtin(tx, svc_clock::now())?;
    }
    Ok(newer)
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
mod released;

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
