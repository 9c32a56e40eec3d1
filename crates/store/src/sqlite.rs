//! SQLite, as one of the two databases of the store. It uses a write-ahead log (WAL) with
//! `synchronous=FULL`, so that a commit that has returned survives kill -9 and the loss of power.

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rusqlite::{
    ErrorCode, OpenFlags,
    config::DbConfig,
    ffi, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};

use svc_core::Timestamp;

use super::{
    connection::{self, Access},
    error::StoreError,
    outage::Outage,
    sql::Row,
    store_clock::StoreClock,
    value::Value,
};

/// The maximum number of prepared statements that a connection keeps.
const STATEMENT_CACHE: usize = 128;
/// The size to which the write-ahead log is truncated after it has grown during a long read.
const LOG_BYTES_KEPT: i64 = 64 * 1024 * 1024;
/// The steps of SQLite's virtual machine are counted in units of this size.
const STEPS_COUNTED: i32 = 1_000;

/// The file of the database, and the settings to open it.
#[derive(Clone)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    /// How long to wait for another process that has locked the file, such as a backup.
    pub(super) busy_timeout: Duration,
    /// Shared by all connections of the file.
    pub(super) outage: Arc<Outage>,
    /// The maximum number of steps of a statement of [`Access::ReadPoint`].
    pub(super) point_steps: u32,
}

pub(super) struct Connection {
    inner: rusqlite::Connection,
    access: Access,
    clock: Arc<StoreClock>,
    outage: Arc<Outage>,
    /// The last outage that a statement of this connection reported.
    failure: RefCell<Option<StoreError>>,
    /// The number of rows that this connection had changed when the transaction began.
    changes_before: Cell<u64>,
    /// How many times [`STEPS_COUNTED`] steps the current statement has run. Counted only with
    /// [`Access::ReadPoint`].
    steps: Arc<AtomicU32>,
}

impl Connection {
    pub(super) fn open(
        file: &DatabaseFile,
        access: Access,
        clock: Arc<StoreClock>,
    ) -> Result<Self, StoreError> {
        let opened = Self::try_open(file, access, clock).map_err(StoreError::from);
        opened.inspect_err(|error| file.outage.note(error))
    }

    fn try_open(
        file: &DatabaseFile,
        access: Access,
        clock: Arc<StoreClock>,
    ) -> rusqlite::Result<Self> {
        // Only one thread at a time uses a connection, so SQLite's own mutex is not needed.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut inner = rusqlite::Connection::open_with_flags(&file.path, flags)?;
        inner.busy_timeout(file.busy_timeout)?;
        inner.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        // Plans must not depend on bound values: otherwise SQLite parses and plans a cached
        // statement again for each execution.
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        inner.pragma_update(None, "journal_mode", "WAL")?;
        inner.pragma_update(None, "synchronous", "FULL")?;
        inner.pragma_update(None, "foreign_keys", "ON")?;
        inner.pragma_update(None, "temp_store", "MEMORY")?;
        inner.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
        if access.is_read() {
            inner.pragma_update(None, "query_only", "ON")?;
        }
        let steps = Arc::new(AtomicU32::new(0));
        if access == Access::ReadPoint {
            let (counted, max) = (
                steps.clone(),
                file.point_steps / STEPS_COUNTED.unsigned_abs(),
            );
            let is_over = move || counted.fetch_add(1, Ordering::Relaxed) >= max;
            inner.progress_handler(STEPS_COUNTED, Some(is_over))?;
        }
        Ok(Self {
            inner,
            access,
            clock,
            outage: file.outage.clone(),
            failure: RefCell::default(),
            changes_before: Cell::default(),
            steps,
        })
    }

    /// Replaces the content of the database with the content of another database.
    #[cfg(feature = "testing")]
    pub(super) fn copy_from(&mut self, other: &Self) -> Result<(), StoreError> {
        let copy = rusqlite::backup::Backup::new(&other.inner, &mut self.inner)?;
        copy.run_to_completion(i32::MAX, Duration::ZERO, None)?;
        Ok(())
    }

    /// Converts the error of a statement, and reports an outage.
    fn checked<T>(&self, ran: rusqlite::Result<T>) -> Result<T, StoreError> {
        ran.map_err(|error| {
            // A connection for reads refuses every write, so this error says nothing about the
            // disk.
            let is_refused = error.sqlite_error_code() == Some(ErrorCode::ReadOnly);
            if is_refused && self.access.is_read() {
                return StoreError::Database(error.to_string());
            }
            let error = StoreError::from(error);
            self.outage.note(&error);
            if error.is_outage() {
                *self.failure.borrow_mut() = Some(error.clone());
            }
            error
        })
    }
}

impl connection::Connection for Connection {
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.steps.store(0, Ordering::Relaxed);
        let mut statement = self.checked(self.inner.prepare_cached(sql))?;
        let columns: Arc<[String]> = statement.column_names().map(str::to_owned).collect();
        let mut rows = self.checked(statement.query(params_from_iter(values)))?;
        let mut answer = Vec::new();
        while let Some(row) = self
            .checked(rows.next())
            .inspect_err(|error| note(error, sql))?
        {
            let values = (0..columns.len())
                .map(|index| row.get_ref(index).map_err(Into::into).and_then(read))
                .collect::<Result<_, StoreError>>()?;
            answer.push(Row::new(columns.clone(), values));
        }
        Ok(answer)
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        let mut statement = self.checked(self.inner.prepare_cached(sql))?;
        self.checked(statement.execute(params_from_iter(values)))
    }

    fn execute_script(&self, sql: &str) -> Result<(), StoreError> {
        self.checked(self.inner.execute_batch(sql))
    }

    fn begin(&self) -> Result<(), StoreError> {
        self.failure.take();
        self.changes_before.set(self.inner.total_changes());
        self.control(match self.access {
            Access::Write => "BEGIN IMMEDIATE",
            Access::Read | Access::ReadPoint => "BEGIN",
        })
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.control("COMMIT").map_err(StoreError::of_commit)?;
        // A commit without changes writes nothing to the disk, so it does not show that the disk
        // works.
        if self.inner.total_changes() > self.changes_before.get() {
            self.outage.end();
        }
        Ok(())
    }

    fn check_transaction(&self) -> Result<(), StoreError> {
        if self.inner.is_autocommit() {
            if let Some(failure) = self.failure.borrow().clone() {
                return Err(failure);
            }
            let why = "the database ended the transaction";
            return Err(StoreError::Commit(why.to_owned()));
        }
        Ok(())
    }

    fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }
}

/// Logs a statement that exceeded its budget: it belongs to [`Store::read_list`] or
/// [`Store::read_table`].
///
/// [`Store::read_list`]: crate::Store::read_list
/// [`Store::read_table`]: crate::Store::read_table
fn note(error: &StoreError, sql: &str) {
    if *error == StoreError::OverBudget {
        tracing::error!(target: crate::LOG_TARGET, statement = sql,
            "a read that should be small reads too many records and was interrupted; please report this as a bug"
        );
    }
}

/// Whether an existing database has this table. Does not create the file.
pub(super) fn has_table(file: &Path, table: &str) -> Result<bool, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(file, flags)?;
    let tables: i64 = connection.query_row(
        "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?1",
        [table],
        |row| row.get(0),
    )?;
    Ok(tables > 0)
}

fn read(value: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(bytes) => Value::Text(
            std::str::from_utf8(bytes)
                .map_err(|_| StoreError::Database("text is not UTF-8".to_owned()))?
                .to_owned(),
        ),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => {
            return Err(StoreError::Database(
                "the store does not support floating-point values".to_owned(),
            ));
        }
    })
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.into()))
    }
}

impl<'v> From<&'v Value> for ValueRef<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Integer(*number),
            Value::Text(text) => Self::Text(text.as_bytes()),
            Value::Bytes(bytes) => Self::Blob(bytes),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(code, message) = &error else {
            return Self::Database(error.to_string());
        };
        match (code.code, code.extended_code) {
            (
                ErrorCode::ConstraintViolation,
                ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
            ) => {
                let message = message.as_deref().unwrap_or_default();
                let columns = message.rsplit(": ").next().unwrap_or_default();
                Self::Unique(columns.to_owned())
            }
            (ErrorCode::ConstraintViolation, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => Self::ForeignKey,
            (ErrorCode::OperationInterrupted, _) => Self::OverBudget,
            // `SHMSIZE`: the index of the write-ahead log could not grow.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => {
                Self::DiskFull(error.to_string())
            }
            (
                ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                // SQLite reports a read that fails with EIO as a malformed database.
                | ErrorCode::DatabaseCorrupt,
                extended,
            ) => Self::Disk(format!("{error} (SQLite code {extended})")),
            _ => Self::Database(error.to_string()),
        }
    }
}
