//! The port: what a closure runs statements on, whatever engine stands behind it.

use std::sync::Arc;

use super::{
    error::StoreError,
    sqlite::Connection,
    value::{FromValue, Value},
};

/// The values of a statement's placeholders, in order: `values![id, name]` fills `?1` and `?2`.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::Value::from($value)),*] as &[$crate::store::Value]
    };
}
pub(super) use values;

/// An open transaction. What runs on it is committed or rolled back by the engine.
pub struct Tx<'c> {
    connection: &'c Connection,
}

impl<'c> Tx<'c> {
    pub(super) fn on(connection: &'c Connection) -> Self {
        Self { connection }
    }

    pub fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.connection.query(sql, values)
    }

    /// The first row, if there is one.
    pub fn query_opt(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// The number in the first column of the only row: for `SELECT COUNT(*)`.
    pub fn count(&mut self, sql: &str, values: &[Value]) -> Result<i64, StoreError> {
        self.query_opt(sql, values)?
            .ok_or(StoreError::NoRow)?
            .first()
    }

    /// Rows changed.
    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        self.connection.execute(sql, values)
    }

    /// Several statements without placeholders: for migrations.
    pub(super) fn execute_script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_script(sql)
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
