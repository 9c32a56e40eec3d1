//! A backup as a file: a snapshot of the database, and a manifest of its contents.
//!
//! This module only handles SQLite files. The server's `backup` module chooses their paths.

mod digest;
mod seal;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use svc_core::Timestamp;
use thiserror::Error;

use super::migrations::SCHEMA_VERSION;
use digest::TableDigest;
use seal::Seal;

/// How long to wait while a server has locked the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const MANIFEST_TABLES: &str = "
    CREATE TABLE backup_manifest (
        svc_version TEXT NOT NULL,
        schema_version BIGINT NOT NULL,
        created_at BIGINT NOT NULL
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
    #[error("`{}` is not a backup made by svc, or its end is missing", .0.display())]
    NotABackup(PathBuf),
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    #[error(
        "the backup has schema version {found}, but this svc supports versions up to {known}; use a newer svc"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error("the name of `{}` is not UTF-8; choose another name", .0.display())]
    Name(PathBuf),
    #[error("could not read or write `{}`", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the database could not be copied: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// A file of the data folder that a backup includes.
#[derive(Clone, PartialEq, Eq)]
pub struct IncludedFile {
    pub name: String,
    pub content: Vec<u8>,
}

/// The description of a backup, which the backup itself contains.
pub struct Manifest {
    pub svc_version: String,
    pub schema_version: i64,
    pub created_at: Timestamp,
    pub tables: BTreeMap<String, u64>,
    pub files: Vec<IncludedFile>,
}

/// Copies a database into an empty file, and adds the manifest. A server may use the database
/// during the copy. The caller has checked the folder of the database with
/// [`open_folder`](super::open_folder): SQLite may create a log beside the database.
pub fn write(
    database: &Path,
    out: &Path,
    files: &[IncludedFile],
    now: Timestamp,
) -> Result<(), ArchiveError> {
    let source = open(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let name = out
        .to_str()
        .ok_or_else(|| ArchiveError::Name(out.to_owned()))?;
    // One read transaction makes the copy. So the copy is consistent, and blocks no writer.
    source.execute("VACUUM INTO ?1", [name])?;
    drop(source);
    let mut copy = open(out, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // The backup must be a single file, without a log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    let schema_version = schema_version(&copy)?;
    let tables = digest::tables(&copy)?;
    let version = env!("CARGO_PKG_VERSION");
    let tx = copy.transaction()?;
    tx.execute_batch(MANIFEST_TABLES)?;
    tx.execute(
        "INSERT INTO backup_manifest (svc_version, schema_version, created_at) VALUES (?1, ?2, ?3)",
        params![version, schema_version, now.0],
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
    tx.commit()?;
    drop(copy);
    seal::append(out).map_err(|source| ArchiveError::Io {
        path: out.to_owned(),
        source,
    })
}

/// Reads a backup and checks all of it: every byte by the seal, every value by the hash of its
/// table, and pages, schema and references with the checks of SQLite.
pub fn read(file: &Path) -> Result<Manifest, ArchiveError> {
    let unreadable = |source| ArchiveError::Io {
        path: file.to_owned(),
        source,
    };
    let seal = seal::check(file).map_err(unreadable)?;
    if seal == Seal::Missing {
        return Err(ArchiveError::NotABackup(file.to_owned()));
    }
    let damaged = |error: rusqlite::Error| ArchiveError::Damaged(error.to_string());
    let copy = open(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(damaged)?;
    let manifest = read_manifest(&copy).map_err(damaged)?;
    if manifest.schema_version > SCHEMA_VERSION && seal == Seal::Whole {
        return Err(ArchiveError::NewerSchema {
            found: manifest.schema_version,
            known: SCHEMA_VERSION,
        });
    }
    // A broken seal is reported last, because the error of a changed table names the table.
    let expected = read_tables(&copy).map_err(damaged)?;
    check_tables(&expected, &digest::tables(&copy).map_err(damaged)?)?;
    check_integrity(&copy)?;
    if seal == Seal::Broken {
        let why = "the file was changed, but not its tables";
        return Err(ArchiveError::Damaged(why.to_owned()));
    }
    Ok(manifest)
}

fn read_manifest(connection: &Connection) -> Result<Manifest, rusqlite::Error> {
    let tables = read_tables(connection)?;
    let files = read_files(connection)?;
    connection.query_row(
        "SELECT svc_version, schema_version, created_at FROM backup_manifest",
        [],
        |row| {
            Ok(Manifest {
                svc_version: row.get(0)?,
                schema_version: row.get(1)?,
                created_at: Timestamp(row.get(2)?),
                tables: tables
                    .into_iter()
                    .map(|table| (table.name, table.rows))
                    .collect(),
                files,
            })
        },
    )
}

/// Tables whose rows are not restored. Otherwise, a token, code or login that was used or revoked
/// since the backup would be valid again.
const NOT_RESTORED: [&str; 10] = [
    "oauth_tokens",
    "oauth_codes",
    "oauth_consents",
    "oauth_devices",
    "oauth_grants",
    "oidc_logins",
    "oidc_pending_grants",
    "totp_enrolments",
    "pending_logins",
    "passkey_challenges",
];

/// Turns a copy of a backup back into a plain database. Deletes the rows of [`NOT_RESTORED`], so
/// users must connect their apps again.
pub fn strip_manifest(file: &Path) -> Result<(), ArchiveError> {
    seal::remove(file).map_err(|source| ArchiveError::Io {
        path: file.to_owned(),
        source,
    })?;
    let mut copy = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Overwrite deleted data, so that the included files do not remain in free pages.
    copy.pragma_update(None, "secure_delete", "ON")?;
    let tx = copy.transaction()?;
    tx.execute_batch(DROP_MANIFEST_TABLES)?;
    for table in NOT_RESTORED {
        // A backup of an older svc may lack the table.
        if tx.table_exists(None, table)? {
            tx.execute(&format!("DELETE FROM {table}"), [])?;
        }
    }
    Ok(tx.commit()?)
}

/// Moves the contents of the write-ahead log of a database into the database file.
pub fn checkpoint_log(database: &Path) -> Result<(), ArchiveError> {
    let connection = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Opens an existing database.
fn open(file: &Path, access: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
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
            "a row of table `{table}` refers to a missing row"
        ))),
    }
}

/// The digests of the tables in the manifest.
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

/// Compares the digests of the manifest with those found, table by table.
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

fn read_files(connection: &Connection) -> Result<Vec<IncludedFile>, rusqlite::Error> {
    connection
        .prepare("SELECT name, content FROM backup_files ORDER BY name")?
        .query_map([], |row| {
            Ok(IncludedFile {
                name: row.get(0)?,
                content: row.get(1)?,
            })
        })?
        .collect()
}
