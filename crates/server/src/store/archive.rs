//! A backup as a file: a copy of the database at one moment, and a manifest of what is in it.
//!
//! This is about SQLite files and nothing else; where they come from and go to is decided in
//! `crate::backup`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use svc_core::Timestamp;
use thiserror::Error;

use super::migrations::SCHEMA_VERSION;

/// How long to wait for a server that holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const MANIFEST_TABLES: &str = "
    CREATE TABLE backup_manifest (
        svc_version TEXT NOT NULL,
        schema_version BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    );
    CREATE TABLE backup_tables (name TEXT PRIMARY KEY, row_count BIGINT NOT NULL);
    CREATE TABLE backup_files (name TEXT PRIMARY KEY, content BLOB NOT NULL);";

const DROP_MANIFEST_TABLES: &str = "
    DROP TABLE backup_manifest;
    DROP TABLE backup_tables;
    DROP TABLE backup_files;";

#[derive(Debug, Error)]
pub enum ArchiveError {
    #[error("`{}` is not a backup made by svc", .0.display())]
    NotABackup(PathBuf),
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    #[error(
        "the backup has schema version {found}, but this svc knows versions up to {known}; use a newer svc"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error("the name of `{}` is not UTF-8; choose another", .0.display())]
    Name(PathBuf),
    #[error("the database could not be copied: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// A file of the data folder that a backup carries along.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CarriedFile {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// What a backup says about itself.
pub(crate) struct Manifest {
    pub(crate) svc_version: String,
    pub(crate) schema_version: i64,
    pub(crate) created_at: Timestamp,
    pub(crate) tables: BTreeMap<String, u64>,
    pub(crate) files: Vec<CarriedFile>,
}

/// Copies a database, which a server may be using, into an empty file, and adds the manifest.
pub(crate) fn write(
    database: &Path,
    out: &Path,
    files: &[CarriedFile],
    now: Timestamp,
) -> Result<(), ArchiveError> {
    let source = open(database)?;
    // One read transaction: a consistent copy that holds up no writer.
    let name = out
        .to_str()
        .ok_or_else(|| ArchiveError::Name(out.to_owned()))?;
    source.execute("VACUUM INTO ?1", [name])?;
    drop(source);
    let mut copy = open(out)?;
    // One file, without a log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    let schema_version = schema_version(&copy)?;
    let tables = count_rows(&copy)?;
    let tx = copy.transaction()?;
    tx.execute_batch(MANIFEST_TABLES)?;
    tx.execute(
        "INSERT INTO backup_manifest (svc_version, schema_version, created_at) VALUES (?1, ?2, ?3)",
        params![env!("CARGO_PKG_VERSION"), schema_version, now.0],
    )?;
    for (name, rows) in &tables {
        tx.execute(
            "INSERT INTO backup_tables (name, row_count) VALUES (?1, ?2)",
            params![name, i64::try_from(*rows).unwrap_or(i64::MAX)],
        )?;
    }
    for file in files {
        tx.execute(
            "INSERT INTO backup_files (name, content) VALUES (?1, ?2)",
            params![file.name, file.content],
        )?;
    }
    Ok(tx.commit()?)
}

/// Reads a backup and checks all of it: its pages, its schema, its references, its row counts.
pub(crate) fn read(file: &Path) -> Result<Manifest, ArchiveError> {
    let not_a_backup = |_| ArchiveError::NotABackup(file.to_owned());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(file, flags).map_err(not_a_backup)?;
    let (svc_version, schema_version, created_at) = copy
        .query_row(
            "SELECT svc_version, schema_version, created_at FROM backup_manifest",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .map_err(not_a_backup)?;
    if schema_version > SCHEMA_VERSION {
        return Err(ArchiveError::NewerSchema {
            found: schema_version,
            known: SCHEMA_VERSION,
        });
    }
    let damaged = |error: rusqlite::Error| ArchiveError::Damaged(error.to_string());
    check_integrity(&copy)?;
    let expected = read_counts(&copy).map_err(damaged)?;
    let found = count_rows(&copy).map_err(damaged)?;
    if let Some((table, rows)) = expected
        .iter()
        .find(|(table, rows)| found.get(*table) != Some(rows))
    {
        return Err(ArchiveError::Damaged(format!(
            "table `{table}` should have {rows} rows, but has {}",
            found.get(table).map_or("none".to_owned(), u64::to_string)
        )));
    }
    Ok(Manifest {
        svc_version,
        schema_version,
        created_at: Timestamp(created_at),
        files: read_files(&copy).map_err(damaged)?,
        tables: expected,
    })
}

/// Turns a copy of a backup back into a plain database.
pub(crate) fn strip_manifest(file: &Path) -> Result<(), ArchiveError> {
    let mut copy = open(file)?;
    // What was carried must not linger in pages that are free now.
    copy.pragma_update(None, "secure_delete", "ON")?;
    let tx = copy.transaction()?;
    tx.execute_batch(DROP_MANIFEST_TABLES)?;
    Ok(tx.commit()?)
}

/// Brings everything from a database's log into the file itself.
pub(crate) fn fold_log(database: &Path) -> Result<(), ArchiveError> {
    let connection = open(database)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Opens a database that must be there.
fn open(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn schema_version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.query_row("SELECT MAX(version) FROM schema_migrations", [], |row| {
        row.get(0)
    })
}

fn check_integrity(connection: &Connection) -> Result<(), ArchiveError> {
    let damaged = |error: rusqlite::Error| ArchiveError::Damaged(error.to_string());
    let verdict: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(damaged)?;
    if verdict != "ok" {
        return Err(ArchiveError::Damaged(verdict));
    }
    let orphan: Option<String> = connection
        .query_row("PRAGMA foreign_key_check", [], |row| row.get(0))
        .optional()
        .map_err(damaged)?;
    match orphan {
        None => Ok(()),
        Some(table) => Err(ArchiveError::Damaged(format!(
            "a row of table `{table}` refers to one that is missing"
        ))),
    }
}

fn count_rows(connection: &Connection) -> Result<BTreeMap<String, u64>, rusqlite::Error> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_master
         WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
           AND name NOT LIKE 'backup\\_%' ESCAPE '\\'",
    )?;
    let names = statement
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    names
        .into_iter()
        .map(|name| {
            let quoted = name.replace('"', "\"\"");
            let rows: i64 =
                connection.query_row(&format!("SELECT COUNT(*) FROM \"{quoted}\""), [], |row| {
                    row.get(0)
                })?;
            Ok((name, u64::try_from(rows).unwrap_or(0)))
        })
        .collect()
}

fn read_counts(connection: &Connection) -> Result<BTreeMap<String, u64>, rusqlite::Error> {
    connection
        .prepare("SELECT name, row_count FROM backup_tables")?
        .query_map([], |row| {
            let rows: i64 = row.get(1)?;
            Ok((row.get(0)?, u64::try_from(rows).unwrap_or(0)))
        })?
        .collect()
}

fn read_files(connection: &Connection) -> Result<Vec<CarriedFile>, rusqlite::Error> {
    connection
        .prepare("SELECT name, content FROM backup_files")?
        .query_map([], |row| {
            Ok(CarriedFile {
                name: row.get(0)?,
                content: row.get(1)?,
            })
        })?
        .collect()
}
