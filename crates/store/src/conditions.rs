//! The conditions of a query whose filters are optional.

use super::{sql::Query, value::Value};

/// Conditions that must all hold, as SQL for `WHERE`, and the values of their placeholders.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    /// Begins with one condition.
    pub(super) fn new(condition: &str, value: impl Into<Value>) -> Self {
        let mut conditions = Self::default();
        conditions.add(condition, value);
        conditions
    }

    /// Adds a value, and returns its placeholder.
    pub(super) fn placeholder(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    /// Adds a condition. Each `?` in it is replaced by the placeholder of the value.
    pub(super) fn add(&mut self, condition: &str, value: impl Into<Value>) {
        let placeholder = self.placeholder(value);
        self.and(&condition.replace('?', &placeholder));
    }

    /// Adds a condition if there is a value for it.
    pub(super) fn add_some(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.add(condition, value);
        }
    }

    /// Adds the condition that a column has one of these values.
    pub(super) fn add_in<T: Clone + Into<Value>>(&mut self, column: &str, values: &[T]) {
        let values = values.iter().cloned();
        let placeholders: Vec<_> = values.map(|value| self.placeholder(value)).collect();
        self.and(&format!("{column} IN ({})", placeholders.join(", ")));
    }

    /// Like [`add_in`](Self::add_in), for lists of many different lengths. Repeats the last value
    /// until the length is a power of two, so that there are few different statements to prepare.
    pub(super) fn add_in_padded<T: Clone + Into<Value>>(&mut self, column: &str, values: &[T]) {
        self.add_in(column, &padded(values));
    }

    /// `WHERE` and the conditions; empty if there are none.
    pub(super) fn where_clause(&self) -> String {
        match self.sql.as_str() {
            "" => String::new(),
            sql => format!("WHERE {sql}"),
        }
    }

    /// A query with the conditions in place of `{}`.
    pub(super) fn query(self, sql: &str) -> Query {
        Query {
            sql: sql.replace("{}", &self.sql),
            values: self.values,
        }
    }

    /// Adds a condition that needs no value, or whose values are already added.
    pub(super) fn and(&mut self, condition: &str) {
        if !self.sql.is_empty() {
            self.sql.push_str(" AND ");
        }
        self.sql.push_str(condition);
    }
}

/// Repeats the last value until the length is a power of two.
pub(super) fn padded<T: Clone>(values: &[T]) -> Vec<T> {
    let mut padded = values.to_vec();
    if let Some(last) = values.last() {
        padded.resize(values.len().next_power_of_two(), last.clone());
    }
    padded
}
