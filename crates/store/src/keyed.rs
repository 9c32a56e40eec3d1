//! The statements that are alike for records that are found by another key than an id, such as the
//! hash of a secret, and for records that expire.
//!
//! Statements that only one kind needs are in the file of that kind.

use svc_core::{Timestamp, UserId};

use super::{
    error::StoreError,
    record::Record,
    sql::{Tx, values},
    value::{ColumnValue, Value},
    waiting::WaitingRows,
};

/// Records with a key that is not an id. `records::insert` inserts them.
pub trait Keyed: Record {
    type Key: ColumnValue;
    const KEY: &'static str;
}

/// Implements [`Keyed`]: `keyed! { Type by column: KeyType }`.
macro_rules! keyed {
    ($type:ident by $column:ident: $key:ty) => {
        impl $crate::keyed::Keyed for $type {
            type Key = $key;
            const KEY: &'static str = stringify!($column);
        }
    };
}
pub(super) use keyed;

pub fn find<R: Keyed>(tx: &mut Tx<'_>, key: &R::Key) -> Result<Option<R>, StoreError> {
    let rest = format!("WHERE {} = ?1", R::KEY);
    tx.find_record(&rest, &[key.to_value()])
}

/// Returns whether the record existed. A secret that is deleted before its use counts is used once.
pub fn delete<R: Keyed>(tx: &mut Tx<'_>, key: &R::Key) -> Result<bool, StoreError> {
    let sql = format!("DELETE FROM {} WHERE {} = ?1", R::TABLE, R::KEY);
    tx.changes(&sql, &[key.to_value()])
}

/// Keeps at most `keep` records that requests without a credential caused: see
/// [`crate::waiting`].
pub fn delete_surplus<R: Keyed>(tx: &mut Tx<'_>, keep: u32) -> Result<(), StoreError> {
    let waiting = WaitingRows {
        table: R::TABLE,
        key: R::KEY,
        age: "expires_at",
        condition: "TRUE",
    };
    waiting.delete_surplus(tx, keep)
}

/// Deletes records that expired at this time or before.
pub fn delete_expired<R: Record>(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM {} WHERE expires_at <= ?1", R::TABLE);
    tx.execute(&sql, values![now])
}

/// Like [`delete_expired`], for records of users. Returns these users, each once.
pub fn end_expired<R: Record>(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<UserId>, StoreError> {
    let sql = format!(
        "DELETE FROM {} WHERE expires_at <= ?1 RETURNING user_id",
        R::TABLE
    );
    let mut users: Vec<UserId> = tx.list(&sql, values![now])?;
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

/// Of the records with this value in the column `of`, keeps the first `keep` in the order
/// `newest_first`. Each record has another value in the column `key`.
pub(super) fn delete_oldest<R: Record>(
    tx: &mut Tx<'_>,
    (of, value): (&str, impl Into<Value>),
    (key, newest_first): (&str, &str),
    keep: u32,
) -> Result<(), StoreError> {
    let table = R::TABLE;
    let sql = format!(
        "DELETE FROM {table} WHERE {of} = ?1 AND {key} NOT IN
         (SELECT {key} FROM {table} WHERE {of} = ?1 ORDER BY {newest_first} LIMIT ?2)"
    );
    tx.execute(&sql, &[value.into(), keep.into()])
}
