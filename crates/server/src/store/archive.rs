//! A backup as a file: a copy of the database at one moment, and a manifest of what is in it.
//!
//! This is about SQLite files and nothing else; where they come from and go to is decided in
//! `crate::backup`.

mod digest;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params, types::ValueRef};
use svc_core::Timestamp;
use thiserror::Error;

use super::migrations::SCHEMA_VERSION;
use digest::{Fields, TableDigest};

/// How long to wait for a server that holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const MANIFEST_TABLES: &str = "
    CREATE TABLE backup_manifest (
        svc_version TEXT NOT NULL,
        schema_version BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        sha256 BLOB NOT NULL
    );
    CREATE TABLE backup_tables (
        name TEXT PRIMARY KEY,
        row_count BIGINT NOT NULL,
        sha256 BLOB NOT NULL
    );
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
    let tables = digest::tables(&copy)?;
    let version = env!("CARGO_PKG_VERSION");
    let seal = seal((version, schema_version, now.0), &tables, files);
    let tx = copy.transaction()?;
    tx.execute_batch(MANIFEST_TABLES)?;
    tx.execute(
        "INSERT INTO backup_manifest (svc_version, schema_version, created_at, sha256)
         VALUES (?1, ?2, ?3, ?4)",
        params![version, schema_version, now.0, seal],
    )?;
    for table in &tables {
        let rows = i64::try_from(table.rows).unwrap_or(i64::MAX);
        tx.execute(
            "INSERT INTO backup_tables (name, row_count, sha256) VALUES (?1, ?2, ?3)",
            params![table.name, rows, table.sha256],
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

/// Reads a backup and checks all of it: its pages, its schema, its references, and every value in
/// it against the hashes made when it was written.
pub(crate) fn read(file: &Path) -> Result<Manifest, ArchiveError> {
    let not_a_backup = |_| ArchiveError::NotABackup(file.to_owned());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(file, flags).map_err(not_a_backup)?;
    let (svc_version, schema_version, created_at, sha256) = copy
        .query_row(
            "SELECT svc_version, schema_version, created_at, sha256 FROM backup_manifest",
            [],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get::<_, Vec<u8>>(3)?,
                ))
            },
        )
        .map_err(not_a_backup)?;
    if schema_version > SCHEMA_VERSION {
        return Err(ArchiveError::NewerSchema {
            found: schema_version,
            known: SCHEMA_VERSION,
        });
    }
    let damaged = |error: rusqlite::Error| ArchiveError::Damaged(error.to_string());
    // First: it can name the table.
    let expected = read_tables(&copy).map_err(damaged)?;
    check_tables(&expected, &digest::tables(&copy).map_err(damaged)?)?;
    check_integrity(&copy)?;
    let files = read_files(&copy).map_err(damaged)?;
    if seal(
        (&svc_version, schema_version, created_at),
        &expected,
        &files,
    ) != sha256
    {
        let why = "its manifest or a file it carries was changed";
        return Err(ArchiveError::Damaged(why.to_owned()));
    }
    Ok(Manifest {
        svc_version,
        schema_version,
        created_at: Timestamp(created_at),
        files,
        tables: expected
            .into_iter()
            .map(|table| (table.name, table.rows))
            .collect(),
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

/// What the manifest says the tables hold.
fn read_tables(connection: &Connection) -> Result<Vec<TableDigest>, rusqlite::Error> {
    connection
        .prepare("SELECT name, row_count, sha256 FROM backup_tables ORDER BY name")?
        .query_map([], |row| {
            let rows: i64 = row.get(1)?;
            Ok(TableDigest {
                name: row.get(0)?,
                rows: u64::try_from(rows).unwrap_or(0),
                sha256: row.get(2)?,
            })
        })?
        .collect()
}

/// Compares what is there with what was written, table by table.
fn check_tables(expected: &[TableDigest], found: &[TableDigest]) -> Result<(), ArchiveError> {
    for table in expected {
        let name = &table.name;
        let why = match found.iter().find(|found| found.name == *name) {
            Some(found) if found == table => continue,
            None => format!("table `{name}` is missing"),
            Some(found) if found.rows != table.rows => format!(
                "table `{name}` should have {} rows, but has {}",
                table.rows, found.rows
            ),
            Some(_) => format!("the contents of table `{name}` were changed"),
        };
        return Err(ArchiveError::Damaged(why));
    }
    match found
        .iter()
        .find(|table| !expected.iter().any(|known| known.name == table.name))
    {
        Some(table) => Err(ArchiveError::Damaged(format!(
            "there is a table `{}` that was not backed up",
            table.name
        ))),
        None => Ok(()),
    }
}

/// The hash of the manifest itself: of all it says, and of the files it carries.
fn seal(
    (svc_version, schema_version, created_at): (&str, i64, i64),
    tables: &[TableDigest],
    files: &[CarriedFile],
) -> Vec<u8> {
    let mut hash = Fields::new();
    hash.value(svc_version.into());
    hash.value(ValueRef::Integer(schema_version));
    hash.value(ValueRef::Integer(created_at));
    for table in tables {
        hash.value(table.name.as_str().into());
        hash.value(table.sha256.as_slice().into());
    }
    for file in files {
        hash.value(file.name.as_str().into());
        hash.value(file.content.as_slice().into());
    }
    hash.finish()
}

fn read_files(connection: &Connection) -> Result<Vec<CarriedFile>, rusqlite::Error> {
    connection
        .prepare("SELECT name, content FROM backup_files ORDER BY name")?
        .query_map([], |row| {
            Ok(CarriedFile {
                name: row.get(0)?,
                content: row.get(1)?,
            })
        })?
        .collect()
}
