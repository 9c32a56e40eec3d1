//! Copies an embedded database into an empty PostgreSQL database.
//!
//! Parts: [`Source`] is the embedded database, locked against other writers. [`Target`] is one
//! transaction on the PostgreSQL database, which also creates the schema. `tables` lists the tables
//! in the order of copying and reads them page by page. The target stays empty until
//! [`Target::commit`]. The source is migrated to the current schema, and nothing else in it is
//! changed.

mod tables;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use svc_core::ServerId;
use thiserror::Error;

use self::tables::Table;
use super::{
    DATABASE_FILE, FolderLock, StoreOptions,
    connection::{Access, Connection, Database},
    error::{OpenError, StoreError},
    fields::Fields,
    meta, migrations,
    postgres::{self, DatabaseUrl},
    sql::Tx,
    sqlite,
    store_clock::StoreClock,
    value::Value,
};

#[derive(Debug, Error)]
pub enum TransferError {
    #[error("`{}` is not a database: {reason}", path.display())]
    NotADatabase { path: PathBuf, reason: StoreError },
    #[error("`{}` is a database, but not one that svc made", .0.display())]
    NotOurs(PathBuf),
    #[error("the source cannot be used")]
    Source(#[source] OpenError),
    #[error("the target {url} cannot be used")]
    Target {
        url: String,
        #[source]
        source: OpenError,
    },
    #[error(
        "cannot get exclusive access to the target {url}; is a server or another migration using it?"
    )]
    Busy {
        url: String,
        #[source]
        source: StoreError,
    },
    #[error(
        "the target {url} is not empty, it has {}; name an empty database",
        list_tables(found)
    )]
    NotEmpty {
        url: String,
        /// The tables that have rows, and the number of their rows.
        found: Vec<(&'static str, i64)>,
    },
    #[error("table `{table}` could not be read from the source")]
    Read {
        table: &'static str,
        #[source]
        source: StoreError,
    },
    #[error("table `{table}` could not be copied; the target is unchanged")]
    Write {
        table: &'static str,
        #[source]
        source: StoreError,
    },
    #[error("table `{table}` could not be copied exactly: {what}; the target is unchanged")]
    Different { table: &'static str, what: String },
    #[error(
        "the target did not confirm the commit, so the outcome is unknown; run the migration again: \"not empty\" means that the copy succeeded"
    )]
    Commit(#[source] StoreError),
}

fn list_tables(found: &[(&'static str, i64)]) -> String {
    let parts: Vec<_> = found
        .iter()
        .map(|(table, rows)| match rows {
            1 => format!("1 row in `{table}`"),
            rows => format!("{rows} rows in `{table}`"),
        })
        .collect();
    parts.join(", ")
}

/// A table that was copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableCopy {
    pub name: &'static str,
    pub rows: u64,
    /// One hash of all values, row by row in the order of the primary key.
    pub sha256: Vec<u8>,
}

/// The progress of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    pub step: Step,
    pub table: &'static str,
    pub rows: u64,
    /// The number of all rows of the table.
    pub of: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Copy,
    Check,
}

/// A snapshot of an embedded database that is locked against servers.
pub struct Source {
    connection: Box<dyn Connection>,
}

impl Source {
    /// Locks the data folder and migrates its database.
    pub fn open(data_dir: &Path) -> Result<Self, TransferError> {
        let path = data_dir.join(DATABASE_FILE);
        let lock = FolderLock::acquire(data_dir).map_err(TransferError::Source)?;
        match sqlite::has_table(&path, "schema_migrations") {
            Ok(true) => {}
            Ok(false) => return Err(TransferError::NotOurs(path)),
            Err(reason) => return Err(TransferError::NotADatabase { path, reason }),
        }
        let options = StoreOptions::default();
        let database = Database::Sqlite {
            file: sqlite::DatabaseFile {
                path,
                busy_timeout: options.busy_timeout,
                outage: Arc::default(),
                point_steps: options.point_steps,
            },
            clock: Arc::new(StoreClock::new(options.clock)),
            _lock: Arc::new(lock),
        };
        let opened = || -> Result<_, OpenError> {
            migrations::migrate_exactly(&*database.open(Access::Write)?)?;
            let connection = database.open(Access::Read)?;
            connection.begin()?;
            Ok(connection)
        };
        Ok(Self {
            connection: opened().map_err(TransferError::Source)?,
        })
    }

    /// The id of the server of this data folder; `None` if no server has run on it.
    pub fn server_id(&self) -> Result<Option<ServerId>, TransferError> {
        meta::find_server_id(&mut Tx::on(&*self.connection)).map_err(|source| TransferError::Read {
            table: "meta",
            source,
        })
    }
}

/// One transaction on a PostgreSQL database.
pub struct Target {
    connection: postgres::Connection,
    url: String,
}

impl Target {
    /// Connects, creates the schema, and checks that the database is empty.
    pub fn begin(url: DatabaseUrl) -> Result<Self, TransferError> {
        let shown = url.to_string();
        let unusable = |source| TransferError::Target {
            url: shown.clone(),
            source,
        };
        let server = postgres::Server::new(url);
        let connection = server
            .connect(Access::Write)
            .map_err(|error| unusable(error.into()))?;
        server.check(&connection).map_err(unusable)?;
        let begun = connection.begin_long().and_then(|()| connection.settle());
        begun.map_err(|source| TransferError::Busy {
            url: shown.clone(),
            source,
        })?;
        let mut tx = Tx::on(&connection);
        migrations::migrate_within(&mut tx).map_err(unusable)?;
        let found = tables::count_all(&mut tx).map_err(|error| unusable(error.into()))?;
        if !found.is_empty() {
            return Err(TransferError::NotEmpty { url: shown, found });
        }
        Ok(Self {
            connection,
            url: shown,
        })
    }

    /// The URL of the database, without the password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Commits the copy.
    pub fn commit(self) -> Result<(), TransferError> {
        self.connection.commit().map_err(TransferError::Commit)
    }
}

/// Copies every table and compares both sides. In the copy, linked spaces belong to `server`.
pub fn copy(
    source: &Source,
    target: &Target,
    server: Option<ServerId>,
    report: &mut dyn FnMut(Progress),
) -> Result<Vec<TableCopy>, TransferError> {
    let tables = tables::all(&*source.connection)?;
    let mut copies = Vec::with_capacity(tables.len());
    for table in &tables {
        copies.push(copy_table(source, target, table, server, report)?);
    }
    for (table, copy) in tables.iter().zip(&copies) {
        check_table(target, table, copy, report)?;
    }
    Ok(copies)
}

fn copy_table(
    source: &Source,
    target: &Target,
    table: &Table,
    server: Option<ServerId>,
    report: &mut dyn FnMut(Progress),
) -> Result<TableCopy, TransferError> {
    let name = table.name;
    let read_error = |source| TransferError::Read {
        table: name,
        source,
    };
    let write_error = |source| TransferError::Write {
        table: name,
        source,
    };
    let replaced = table.replaced(server);
    let insert = table.insert();
    let connection = &target.connection;
    table.clear(connection).map_err(write_error)?;
    let write = |page: &mut [Vec<Value>]| {
        for row in page {
            prepare(row, &replaced);
            connection.send(&insert, row).map_err(write_error)?;
        }
        connection.settle().map_err(write_error)
    };
    read_table(
        &*source.connection,
        table,
        Step::Copy,
        read_error,
        write,
        report,
    )
}

/// Counts and hashes the rows of a table, in the source or in the target. `write` may change a page
/// before it is hashed.
fn read_table(
    connection: &dyn Connection,
    table: &Table,
    step: Step,
    failed: impl Fn(StoreError) -> TransferError,
    write: impl Fn(&mut [Vec<Value>]) -> Result<(), TransferError>,
    report: &mut dyn FnMut(Progress),
) -> Result<TableCopy, TransferError> {
    let mut progress = Progress {
        step,
        table: table.name,
        rows: 0,
        of: table.count(connection).map_err(&failed)?,
    };
    report(progress);
    let mut fields = Fields::default();
    let mut after = None;
    while let Some(mut page) = table.page(connection, after).map_err(&failed)? {
        after = page.last().map(|row| table.key_of(row));
        write(&mut page)?;
        for row in &page {
            row.iter().for_each(|value| fields.value(value));
            fields.end_of_row();
        }
        progress.rows += page.len() as u64;
        report(progress);
    }
    let Progress {
        table, rows, of, ..
    } = progress;
    if rows != of {
        let what = format!("it has {of} rows, but {rows} were read");
        return Err(TransferError::Different { table, what });
    }
    Ok(TableCopy {
        name: table,
        rows,
        sha256: fields.finish(),
    })
}

/// Changes a row to the values that are written to the target.
fn prepare(row: &mut [Value], replaced: &[(usize, Value)]) {
    for (column, value) in replaced {
        if row[*column] != Value::Null {
            row[*column] = value.clone();
        }
    }
    for value in row {
        if let Value::Text(text) = value
            && let std::borrow::Cow::Owned(other) = postgres::without_zero_bytes(text)
        {
            *text = other;
        }
    }
}

/// Compares a copied table with the rows that were sent.
fn check_table(
    target: &Target,
    table: &Table,
    expected: &TableCopy,
    report: &mut dyn FnMut(Progress),
) -> Result<(), TransferError> {
    let name = table.name;
    let target_error = |source| TransferError::Write {
        table: name,
        source,
    };
    let read_only = |_: &mut [Vec<Value>]| Ok(());
    let found = read_table(
        &target.connection,
        table,
        Step::Check,
        target_error,
        read_only,
        report,
    )?;
    let what = match found == *expected {
        true => return Ok(()),
        false if found.rows != expected.rows => {
            format!("{} rows were sent, {} are there", expected.rows, found.rows)
        }
        false => "a value differs".to_owned(),
    };
    Err(TransferError::Different { table: name, what })
}
