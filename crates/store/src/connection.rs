//! The port to the database: the trait that both engines implement, and [`Database`], which opens
//! connections.

use std::sync::Arc;

use svc_core::Timestamp;

use super::{
    error::StoreError,
    folder::FolderLock,
    outage::Outage,
    postgres,
    sql::{Query, Row},
    sqlite,
    store_clock::StoreClock,
    value::Value,
};

/// The purpose of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Write,
    Read,
    /// Reads whose cost does not depend on the number of stored records. A statement that exceeds
    /// its budget is interrupted.
    ReadPoint,
}

impl Access {
    pub(super) fn is_read(self) -> bool {
        self != Self::Write
    }
}

/// Opens the connections of one database.
#[derive(Clone)]
pub(super) enum Database {
    Sqlite {
        file: sqlite::DatabaseFile,
        clock: Arc<StoreClock>,
        /// Keeps the data folder locked while a thread of the store runs.
        _lock: Arc<FolderLock>,
    },
    Postgres(Arc<postgres::Server>),
    #[cfg(feature = "testing")]
    Simulated(crate::simulated::ServerLink),
}

impl Database {
    /// Whether other servers may work with the same database.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::Sqlite { .. })
    }

    /// The state of the embedded database's disk.
    pub(super) fn outage(&self) -> Option<&Outage> {
        match self {
            Self::Sqlite { file, .. } => Some(&file.outage),
            _ => None,
        }
    }

    pub(super) fn open(&self, access: Access) -> Result<Box<dyn Connection>, StoreError> {
        Ok(match self {
            Self::Sqlite { file, clock, .. } => {
                Box::new(sqlite::Connection::open(file, access, clock.clone())?)
            }
            Self::Postgres(server) => Box::new(server.connect(access)?),
            #[cfg(feature = "testing")]
            Self::Simulated(link) => Box::new(link.connect(access)),
        })
    }
}

/// One connection. Only one thread at a time uses it. The default methods are for an engine that
/// waits for every statement and that only one server uses.
pub(super) trait Connection: Send {
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// The rows of several queries, in one round trip.
    fn query_all(&self, queries: &[Query]) -> Result<Vec<Vec<Row>>, StoreError> {
        let rows = queries.iter();
        rows.map(|query| self.query(&query.sql, &query.values))
            .collect()
    }

    /// Returns the number of changed rows.
    fn execute(&self, sql: &str, values: &[Value]) -> Result<usize, StoreError>;

    /// Runs a statement without waiting for its outcome, which [`settle`](Self::settle) returns.
    fn send(&self, sql: &str, values: &[Value]) -> Result<(), StoreError> {
        self.execute(sql, values).map(drop)
    }

    fn execute_script(&self, sql: &str) -> Result<(), StoreError>;

    /// Runs a statement that controls a transaction, without values or rows.
    fn control(&self, sql: &'static str) -> Result<(), StoreError> {
        self.send(sql, &[])
    }

    /// Begins a transaction. In the whole zone, transactions that write run one after the other:
    /// the data that such a transaction reads does not change until it ends.
    fn begin(&self) -> Result<(), StoreError>;

    /// Begins a transaction without waiting for the outcome: the first statement waits for it. That
    /// statement fails if the connection was lost meanwhile.
    fn begin_lazily(&self) -> Result<(), StoreError> {
        self.begin()
    }

    /// Begins a transaction that writes and may take hours.
    fn begin_long(&self) -> Result<(), StoreError> {
        self.begin()
    }

    /// Commits the transaction. If COMMIT itself fails, the transaction may still have had an
    /// effect. The error is then [`StoreError::Commit`] or an [outage](StoreError::is_outage).
    fn commit(&self) -> Result<(), StoreError> {
        self.control("COMMIT").map_err(StoreError::of_commit)
    }

    fn rollback(&self) -> Result<(), StoreError> {
        self.control("ROLLBACK")
    }

    /// Waits for the outcomes of all statements that were sent.
    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Fails if the database has ended the transaction: SQLite does so when the disk is full,
    /// PostgreSQL when the session ends.
    fn check_transaction(&self) -> Result<(), StoreError>;

    /// Whether the connection was lost.
    fn is_lost(&self) -> bool {
        false
    }

    /// The time by which leases are measured: one clock for all servers of the database.
    fn now(&self) -> Result<Timestamp, StoreError>;

    /// Notifies the other servers of the zone once this transaction is committed.
    fn hint(&self) {}

    /// Whether other servers work with the same database.
    fn is_shared(&self) -> bool {
        false
    }
}
