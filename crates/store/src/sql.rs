//! The port: transactions and rows, the same for both engines.

use std::sync::Arc;

use svc_core::Timestamp;

use super::{
    connection::Connection,
    error::StoreError,
    value::{FromValue, Value},
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
/// if its closure returns `Ok`. PostgreSQL works like this, and SQLite is made to behave the same.
pub struct Tx<'c> {
    connection: &'c Connection,
    failed: Option<StoreError>,
}

impl<'c> Tx<'c> {
    pub(super) fn on(connection: &'c Connection) -> Self {
        Self {
            connection,
            failed: None,
        }
    }

    pub(crate) fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.run(|connection| connection.query(sql, values))
    }

    /// The first row, if there is one.
    pub(crate) fn query_opt(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// The first row, read by a function, if there is one.
    pub(crate) fn find<T>(
        &mut self,
        sql: &str,
        values: &[Value],
        read: impl FnOnce(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.query_opt(sql, values)?
            .map(|row| read(&row))
            .transpose()
    }

    /// Every row, read by a function.
    pub(crate) fn list<T>(
        &mut self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.query(sql, values)?.iter().map(read).collect()
    }

    /// The number in the first column of the only row: for `SELECT COUNT(*)`.
    pub(crate) fn count(&mut self, sql: &str, values: &[Value]) -> Result<i64, StoreError> {
        self.query_opt(sql, values)?
            .ok_or(StoreError::NoRow)?
            .first()
    }

    /// Returns the number of changed rows.
    pub(crate) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        self.run(|connection| connection.execute(sql, values))
    }

    /// Runs a statement without waiting for its outcome. A failure is noticed at the end of the
    /// transaction at the latest, and rolls it back.
    pub(crate) fn send(&mut self, sql: &str, values: &[Value]) -> Result<(), StoreError> {
        self.run(|connection| connection.send(sql, values))
    }

    /// Runs several statements without placeholders: for migrations.
    pub(super) fn execute_script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.run(|connection| connection.execute_script(sql))
    }

    /// The time by which leases are measured: when this transaction began, by the clock that all
    /// servers of the database share.
    pub fn now(&mut self) -> Result<Timestamp, StoreError> {
        self.run(Connection::now)
    }

    /// Notifies other servers once this transaction is committed. Only a hint: they also poll.
    pub(crate) fn hint(&mut self) {
        self.connection.hint();
    }

    /// Whether other servers work with the same database.
    pub fn is_shared(&self) -> bool {
        self.connection.is_shared()
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

    /// Runs work that may fail, and rolls back that work alone.
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

    fn run<T>(
        &mut self,
        statement: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        statement(self.connection).inspect_err(|error| self.failed = Some(error.clone()))
    }
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

    pub fn get<T: FromValue>(&self, column: &str) -> Result<T, StoreError> {
        let index = self
            .columns
            .iter()
            .position(|name| name == column)
            .ok_or_else(|| StoreError::Column(column.to_owned()))?;
        self.at(index)
    }

    fn first<T: FromValue>(&self) -> Result<T, StoreError> {
        self.at(0)
    }

    fn at<T: FromValue>(&self, index: usize) -> Result<T, StoreError> {
        T::from_value(&self.values[index]).map_err(|reason| StoreError::Decode {
            column: self.columns[index].clone(),
            reason,
        })
    }
}
