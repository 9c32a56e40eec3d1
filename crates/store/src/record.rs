//! Records: types that list the columns of their table once, for every query that reads or inserts
//! them.

use std::collections::HashMap;

use super::{
    error::StoreError,
    sql::{FromRow, Tx},
    value::Value,
};

/// A type whose values are rows of one table.
pub trait Record: FromRow {
    const TABLE: &'static str;
    const COLUMNS: &'static [&'static str];

    /// The values of the columns, in their order.
    fn values(&self) -> Vec<Value>;
}

/// Implements [`Record`] for a struct: `record! { Type in "table": field, field as "column" }`. A
/// field is stored in the column of its own name, unless another column is named. One field may
/// have functions of its own: `; field as "column" with read, write`. `read` gets the whole row,
/// and `write` gets the whole record. A field may be a struct whose fields are columns:
/// `with part: Type { field, … }`.
macro_rules! record {
    (
        $type:ident in $table:literal: $($field:ident $(as $column:literal)?),*
        $(with $part:ident: $part_type:ident { $($member:ident),* })?
        $(; $special:ident as $special_column:literal with $read:expr, $write:expr)?
    ) => {
        impl $crate::sql::FromRow for $type {
            fn read(row: &$crate::sql::Row) -> Result<Self, $crate::error::StoreError> {
                Ok(Self {
                    $($field: row.get($crate::record::column_name!($field $($column)?))?,)*
                    $($special: ($read)(row)?,)?
                    $($part: $part_type { $($member: row.get(stringify!($member))?,)* },)?
                })
            }
        }

        impl $crate::record::Record for $type {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[
                $($crate::record::column_name!($field $($column)?),)*
                $($special_column,)?
                $($(stringify!($member),)*)?
            ];

            fn values(&self) -> Vec<$crate::value::Value> {
                vec![
                    $($crate::value::ColumnValue::to_value(&self.$field),)*
                    $($crate::value::ColumnValue::to_value(&($write)(self)),)?
                    $($($crate::value::ColumnValue::to_value(&self.$part.$member),)*)?
                ]
            }
        }
    };
}
pub(super) use record;

/// Implements [`FromRow`] for a struct that some queries return: `row! { Type: field, …; field, … }`.
/// Fields after the semicolon are structs that are read from several columns.
macro_rules! row {
    ($type:ident: $($field:ident $(as $column:literal)?),* $(; $($part:ident),*)?) => {
        impl $crate::sql::FromRow for $type {
            fn read(row: &$crate::sql::Row) -> Result<Self, $crate::error::StoreError> {
                Ok(Self {
                    $($field: row.get($crate::record::column_name!($field $($column)?))?,)*
                    $($($part: $crate::sql::FromRow::read(row)?,)*)?
                })
            }
        }
    };
}
pub(super) use row;

/// The name of the column of a field.
macro_rules! column_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $column:literal) => {
        $column
    };
}
pub(super) use column_name;

/// Selects whole records; `rest` follows the name of the table.
pub(super) fn select<T: Record>(rest: &str) -> String {
    let columns = T::COLUMNS.join(", ");
    format!("SELECT {columns} FROM {} {rest}", T::TABLE)
}

/// The first `count` placeholders: `?1, ?2, …`
pub(super) fn placeholders(count: usize) -> String {
    let placeholders: Vec<_> = (1..=count).map(|n| format!("?{n}")).collect();
    placeholders.join(", ")
}

impl Tx<'_> {
    /// Returns [`StoreError::Unique`] if a value that must be unique exists already, and
    /// [`StoreError::ZeroCharacter`] for a text that only one of the engines could store.
    pub(super) fn insert<T: Record>(&mut self, record: &T) -> Result<(), StoreError> {
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            T::TABLE,
            T::COLUMNS.join(", "),
            placeholders(T::COLUMNS.len())
        );
        let values = record.values();
        self.check_texts(T::COLUMNS.iter().copied().zip(&values))?;
        self.execute(&sql, &values)
    }

    /// Writes some columns of a record, such as `name, active`. Returns whether the record exists.
    /// Checks texts as [`Self::insert`] does.
    pub(super) fn update<T: Record>(
        &mut self,
        record: &T,
        columns: &str,
    ) -> Result<bool, StoreError> {
        let mut values: HashMap<_, _> = T::COLUMNS.iter().copied().zip(record.values()).collect();
        let columns: Vec<_> = columns.split(',').map(str::trim).collect();
        let set = columns
            .iter()
            .zip(2..)
            .map(|(name, n)| format!("{name} = ?{n}"));
        let set = set.collect::<Vec<_>>().join(", ");
        let names: Vec<_> = std::iter::once("id").chain(columns).collect();
        let written = names.iter().map(|name| values.remove(name));
        let written: Vec<_> = written
            .map(|it| it.expect("a column of the table"))
            .collect();
        self.check_texts(names.into_iter().zip(&written))?;
        let sql = format!("UPDATE {} SET {set} WHERE id = ?1", T::TABLE);
        self.changes(&sql, &written)
    }

    fn check_texts<'v>(
        &mut self,
        mut values: impl Iterator<Item = (&'v str, &'v Value)>,
    ) -> Result<(), StoreError> {
        let has_zero = |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
        match values.find(|(_, value)| has_zero(value)) {
            Some((column, _)) => self.fail(StoreError::ZeroCharacter {
                column: column.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The first record of [`select`].
    pub(super) fn find_record<T: Record>(
        &mut self,
        rest: &str,
        values: &[Value],
    ) -> Result<Option<T>, StoreError> {
        self.find(&select::<T>(rest), values)
    }

    /// The records of [`select`].
    pub(super) fn list_records<T: Record>(
        &mut self,
        rest: &str,
        values: &[Value],
    ) -> Result<Vec<T>, StoreError> {
        self.list(&select::<T>(rest), values)
    }
}
