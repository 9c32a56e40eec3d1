//! Both engines behind one type: the address of the database, and one connection to it.

use std::sync::Arc;

use svc_core::Timestamp;

use super::{error::StoreError, folder::FolderLock, postgres, sql::Row, sqlite, value::Value};
use svc_clock::Clock;

/// The purpose of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Write,
    Read,
}

/// Opens the connections of one database.
#[derive(Clone)]
pub(super) enum Database {
    Sqlite {
        file: sqlite::DatabaseFile,
        clock: Clock,
        /// Keeps the data folder locked while any thread lives.
        _lock: Arc<FolderLock>,
    },
    Postgres(Arc<postgres::Server>),
}

impl Database {
    pub(super) fn open(&self, access: Access) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::Sqlite { file, clock, .. } => Connection::Sqlite {
                inner: sqlite::Connection::open(file, access)?,
                access,
                clock: clock.clone(),
            },
            Self::Postgres(server) => Connection::Postgres(server.connect(access)?),
        })
    }
}

/// One connection. It stays on the thread that opened it.
pub(super) enum Connection {
    Sqlite {
        inner: sqlite::Connection,
        access: Access,
        clock: Clock,
    },
    Postgres(postgres::Connection),
}

impl Connection {
    pub(super) fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.query(sql, values),
            Self::Postgres(inner) => inner.query(sql, values),
        }
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.execute(sql, values),
            Self::Postgres(inner) => inner.execute(sql, values),
        }
    }

    /// Runs a statement without waiting for its outcome, which [`settle`](Self::settle) returns.
    pub(super) fn send(&self, sql: &str, values: &[Value]) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.execute(sql, values).map(drop),
            Self::Postgres(inner) => inner.send(sql, values),
        }
    }

    pub(super) fn execute_script(&self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.execute_script(sql),
            Self::Postgres(inner) => inner.execute_script(sql),
        }
    }

    /// Begins a transaction. In the whole zone, transactions that write run one after the other: the
    /// data that such a transaction reads does not change until it commits.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, access, .. } => inner.control(match access {
                Access::Write => "BEGIN IMMEDIATE",
                Access::Read => "BEGIN",
            }),
            Self::Postgres(inner) => inner.begin(),
        }
    }

    /// Begins a transaction that writes and may take hours.
    pub(super) fn begin_long(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { .. } => self.begin(),
            Self::Postgres(inner) => inner.begin_long(),
        }
    }

    pub(super) fn commit(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.control("COMMIT"),
            Self::Postgres(inner) => inner.commit(),
        }
    }

    pub(super) fn rollback(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.control("ROLLBACK"),
            Self::Postgres(inner) => inner.rollback(),
        }
    }

    pub(super) fn savepoint(&self) -> Result<(), StoreError> {
        self.control("SAVEPOINT command")
    }

    pub(super) fn release_savepoint(&self) -> Result<(), StoreError> {
        self.control("RELEASE SAVEPOINT command")
    }

    pub(super) fn rollback_to_savepoint(&self) -> Result<(), StoreError> {
        self.control("ROLLBACK TO SAVEPOINT command")?;
        self.release_savepoint()
    }

    /// Waits for the outcomes of all statements that were sent.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { .. } => Ok(()),
            Self::Postgres(inner) => inner.settle(),
        }
    }

    /// Fails if the database has ended the transaction: SQLite does so when the disk is full,
    /// PostgreSQL when the session ends.
    pub(super) fn check_transaction(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, .. } if !inner.in_transaction() => Err(StoreError::Commit(
                "the database ended the transaction".to_owned(),
            )),
            Self::Postgres(inner) if !inner.is_usable() => {
                Err(StoreError::Unavailable("it ended the session".to_owned()))
            }
            Self::Sqlite { .. } | Self::Postgres(_) => Ok(()),
        }
    }

    /// The time by which leases are measured: one clock for all servers of the database.
    pub(super) fn now(&self) -> Result<Timestamp, StoreError> {
        match self {
            Self::Sqlite { clock, .. } => Ok(clock.now()),
            Self::Postgres(inner) => inner.now(),
        }
    }

    /// Notifies the other servers of the zone once this transaction is committed.
    pub(super) fn hint(&self) {
        match self {
            Self::Sqlite { .. } => {}
            Self::Postgres(inner) => inner.hint(),
        }
    }

    /// Whether other servers work with the same database.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    fn control(&self, sql: &'static str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { inner, .. } => inner.control(sql),
            Self::Postgres(inner) => inner.control(sql),
        }
    }
}
