//! Values and statements in the form of PostgreSQL.

use std::{borrow::Cow, error::Error};

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::Params;
use crate::{error::StoreError, value::Value};

/// Converts placeholders: `?1` to `$1`.
pub(super) fn translate(sql: &str) -> String {
    sql.replace('?', "$")
}

/// Converts the types of the schema. Texts are compared byte by byte, as in SQLite, and not by the
/// collation of the database: ids and cursors rely on the order of bytes.
pub(super) fn translate_schema(sql: &str) -> String {
    sql.replace(" TEXT", " TEXT COLLATE \"C\"")
        .replace(" BLOB", " BYTEA")
        // PostgreSQL before version 18 only has generated columns that are stored.
        .replace(" VIRTUAL", " STORED")
}

pub(super) fn params(values: &[Value]) -> Params<'_> {
    values.iter().map(|value| value as _).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => match *ty {
                Type::INT8 => number.to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
                _ => Err(format!("expected {ty}, found an integer").into()),
            },
            Self::Text(text) if is_text(ty) => without_zero_bytes(text).to_sql(ty, out),
            Self::Text(_) => Err(format!("expected {ty}, found text").into()),
            Self::Bytes(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Replaces zero bytes, which PostgreSQL cannot store. They occur, for example, in answers of
/// receivers.
pub(crate) fn without_zero_bytes(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        false => text.into(),
        true => text.replace('\0', "\u{fffd}").into(),
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(*ty, Type::TEXT | Type::VARCHAR | Type::UNKNOWN)
}

pub(super) fn read_row(row: &tokio_postgres::Row) -> Result<Vec<Value>, StoreError> {
    (0..row.len()).map(|index| read(row, index)).collect()
}

fn read(row: &tokio_postgres::Row, index: usize) -> Result<Value, StoreError> {
    let ty = row.columns()[index].type_().clone();
    let value = match ty {
        Type::INT8 => row.try_get::<_, Option<i64>>(index).map(Value::from),
        Type::INT4 => row.try_get::<_, Option<i32>>(index).map(Value::from),
        Type::BOOL => row.try_get::<_, Option<bool>>(index).map(Value::from),
        Type::TEXT | Type::VARCHAR => row.try_get::<_, Option<String>>(index).map(Value::from),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index).map(Value::from),
        other => {
            return Err(StoreError::Database(format!(
                "the store does not support values of the PostgreSQL type `{other}`"
            )));
        }
    };
    value.map_err(|error| StoreError::Database(error.to_string()))
}
