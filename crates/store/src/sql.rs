//! Transactions and rows: the interface of the store's modules to both database engines.

use std::sync::Arc;

use svc_core::Timestamp;

use super::{
    connection::Connection,
    error::StoreError,
    value::{ColumnValue, Value},
};

/// The values of a statement's placeholders, in order: `values![id, name]` fills `?1` and `?2`.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::value::Value::from($value)),*] as &[$crate::value::Value]
    };
}
pub(super) use values;

/// An open transaction. The engine commits it or rolls it back.
///
/// After a failed statement every further statement fails, and the transaction is rolled back even
/// if its closure returns `Ok`. PostgreSQL works in this way. For SQLite, [`Tx`] enforces the same
/// behaviour.
pub struct Tx<'c> {
    connection: &'c dyn Connection,
    failed: Option<StoreError>,
    /// The audit entries that this transaction wrote, since they were last taken.
    audited: Vec<WrittenEntry>,
}

/// An audit entry that a transaction wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenEntry {
    pub action: &'static str,
    pub target_type: &'static str,
    pub target_id: String,
    pub bytes: u64,
}

impl<'c> Tx<'c> {
    pub(super) fn on(connection: &'c dyn Connection) -> Self {
        Self {
            connection,
            failed: None,
            audited: Vec::new(),
        }
    }

    pub(crate) fn note_audited(&mut self, entry: WrittenEntry) {
        self.audited.push(entry);
    }

    /// The audit entries that this transaction wrote since the last call.
    pub fn take_audited(&mut self) -> Vec<WrittenEntry> {
        std::mem::take(&mut self.audited)
    }

    pub(crate) fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.run(|connection| connection.query(sql, values))
    }

    /// Runs several queries in one round trip. Returns the rows of each.
    pub(crate) fn query_all(&mut self, queries: &[Query]) -> Result<Vec<Vec<Row>>, StoreError> {
        self.run(|connection| connection.query_all(queries))
    }

    /// The first row, if there is one.
    pub(crate) fn find<T: FromRow>(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<Option<T>, StoreError> {
        self.query(sql, values)?.first().map(T::read).transpose()
    }

    /// The only row of a statement that always returns one, such as `SELECT COUNT(*)`.
    pub(crate) fn get<T: FromRow>(&mut self, sql: &str, values: &[Value]) -> Result<T, StoreError> {
        self.find(sql, values)?.ok_or(StoreError::NoRow)
    }

    pub(crate) fn list<T: FromRow>(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<T>, StoreError> {
        read_all(&self.query(sql, values)?)
    }

    /// Whether a query finds any row.
    pub(crate) fn exists(&mut self, sql: &str, values: &[Value]) -> Result<bool, StoreError> {
        Ok(!self.query(sql, values)?.is_empty())
    }

    pub(crate) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), StoreError> {
        self.count_changes(sql, values).map(drop)
    }

    /// Returns whether any row was changed.
    pub(crate) fn changes(&mut self, sql: &str, values: &[Value]) -> Result<bool, StoreError> {
        Ok(self.count_changes(sql, values)? > 0)
    }

    /// Returns the number of changed rows.
    pub(crate) fn count_changes(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<usize, StoreError> {
        self.run(|connection| connection.execute(sql, values))
    }

    /// Runs a statement without waiting for its outcome. If the statement fails, the transaction
    /// notices this at its end at the latest, and is rolled back.
    pub(crate) fn send(&mut self, sql: &str, values: &[Value]) -> Result<(), StoreError> {
        self.run(|connection| connection.send(sql, values))
    }

    /// Runs several statements without placeholders: for migrations.
    pub(super) fn execute_script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.run(|connection| connection.execute_script(sql))
    }

    /// The time of the clock that all servers of the database share. Leases are measured with it.
    /// On PostgreSQL, this is the time at which the transaction began.
    pub fn now(&mut self) -> Result<Timestamp, StoreError> {
        self.run(|connection| connection.now())
    }

    /// Notifies other servers once this transaction is committed. This is only a hint: the servers
    /// also poll.
    pub(crate) fn hint(&mut self) {
        self.connection.hint();
    }

    /// Whether other servers may work with the same database.
    pub fn is_shared(&self) -> bool {
        self.connection.is_shared()
    }

    /// The failure of an earlier statement. Does not wait for statements without an outcome yet.
    pub(super) fn failure(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Returns the failure that prevents a commit.
    pub(super) fn end(self) -> Result<(), StoreError> {
        match self.failed {
            // Read the pending outcomes, so that the next transaction does not get them.
            Some(error) => {
                let _ = self.connection.settle();
                Err(error)
            }
            None => self.connection.settle(),
        }
    }

    /// Runs work. If the work fails, only this work is rolled back.
    #[cfg(test)]
    pub(super) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.execute_script("SAVEPOINT attempt")?;
        let result = work(self);
        if result.is_err() {
            self.failed = None;
            self.execute_script("ROLLBACK TO SAVEPOINT attempt")?;
        }
        result
    }

    /// Fails like a statement.
    pub(super) fn fail<T>(&mut self, error: StoreError) -> Result<T, StoreError> {
        self.run(|_| Err(error))
    }

    fn run<T>(
        &mut self,
        statement: impl FnOnce(&dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        statement(self.connection).inspect_err(|error| self.failed = Some(error.clone()))
    }
}

/// Runs work in a transaction that may take long; other servers wait for it.
pub(super) fn in_transaction<T>(
    connection: &dyn Connection,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.begin_long()?;
    let mut tx = Tx::on(connection);
    let done = work(&mut tx);
    match tx.end().and(done) {
        Ok(done) => connection.commit().map(|()| done),
        Err(error) => {
            // The error of the work is reported.
            let _ = connection.rollback();
            Err(error)
        }
    }
}

/// A query and the values of its placeholders.
pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

/// One row of an answer.
#[derive(Clone, Debug)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl Row {
    pub(super) fn new(columns: Arc<[String]>, values: Vec<Value>) -> Self {
        Self { columns, values }
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.values
    }

    pub fn get<T: ColumnValue>(&self, column: &str) -> Result<T, StoreError> {
        let index = self
            .columns
            .iter()
            .position(|name| name == column)
            .ok_or_else(|| StoreError::Column(column.to_owned()))?;
        self.at(index)
    }

    /// The value of a column by its position.
    fn at<T: ColumnValue>(&self, index: usize) -> Result<T, StoreError> {
        T::from_value(&self.values[index]).map_err(|reason| StoreError::Decode {
            column: self.columns[index].clone(),
            reason,
        })
    }
}

/// A type that is read from a row.
pub trait FromRow: Sized {
    fn read(row: &Row) -> Result<Self, StoreError>;
}

pub(crate) fn read_all<T: FromRow>(rows: &[Row]) -> Result<Vec<T>, StoreError> {
    rows.iter().map(T::read).collect()
}

/// The first column.
impl<T: ColumnValue> FromRow for T {
    fn read(row: &Row) -> Result<Self, StoreError> {
        row.at(0)
    }
}

/// The first two columns.
impl<A: ColumnValue, B: ColumnValue> FromRow for (A, B) {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok((row.at(0)?, row.at(1)?))
    }
}
