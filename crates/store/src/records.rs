//! The statements that are alike for all kinds of records with an id.
//!
//! A kind names its table and columns with `record!`, and what else these functions need with
//! `kept!`. Statements that only one kind needs are in the file of that kind. A record with parts in
//! other tables, such as a sink with its lane, has functions of its own there, and they call these.

use std::fmt::Display;

use svc_core::{Timestamp, UserId, power::SavedPower};

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::Record,
    sql::{Tx, values},
    value::{ColumnValue, Value},
};

/// Records with an id.
pub trait Kept: Record {
    type Id: Copy + ColumnValue + Display;
    /// The word for one record, in messages.
    const KIND: &'static str;
    /// Columns that are never written again after the insert.
    const FIXED: &'static [&'static str];
    /// The SQL expression of the bytes of a record, for records that may be large: a page of them
    /// ends at a number of bytes.
    const SIZE: Option<&'static str>;

    fn id(&self) -> Self::Id;
}

/// Records that belong to a user, or to the server.
pub trait Owned: Kept {
    /// `()` if the records belong to the server.
    type Owner: Owner + ?Sized;
    /// The column of the owner; empty if the records belong to the server.
    const OWNER: &'static str;
}

/// Records whose name no other record of their owner has.
pub trait Named: Owned {
    /// The columns that two records do not have alike.
    const UNIQUE: &'static [&'static str];

    fn name(&self) -> &str;
}

pub trait Owner {
    fn value(&self) -> Option<Value>;
}

impl Owner for () {
    fn value(&self) -> Option<Value> {
        None
    }
}

impl Owner for UserId {
    fn value(&self) -> Option<Value> {
        Some(self.to_value())
    }
}

/// An `owner_key`: the id of a user, or `global`.
impl Owner for str {
    fn value(&self) -> Option<Value> {
        Some(self.into())
    }
}

/// Implements [`Kept`], and [`Owned`] and [`Named`] if their parts are given:
/// `kept! { Type "kind": IdType, fixed [column, …], of owner_column: OwnerType, unique [column, …]
/// named field, size "SQL expression" }`. Records of the server have `of (): ()`.
macro_rules! kept {
    (
        $type:ident $kind:literal: $id:ty, fixed [$($fixed:ident),*]
        $(, of $column:tt: $owner:ty)?
        $(, unique [$($unique:ident),*] named $($name:ident).+)?
        $(, size $size:expr)?
    ) => {
        impl $crate::records::Kept for $type {
            type Id = $id;
            const KIND: &'static str = $kind;
            const FIXED: &'static [&'static str] = &["id", $(stringify!($fixed)),*];
            const SIZE: Option<&'static str> = $crate::records::first!($(Some($size),)? None);

            fn id(&self) -> $id {
                self.id
            }
        }

        $(impl $crate::records::Owned for $type {
            type Owner = $owner;
            const OWNER: &'static str = $crate::records::owner_column!($column);
        })?

        $(impl $crate::records::Named for $type {
            const UNIQUE: &'static [&'static str] = &[$(stringify!($unique)),*];

            fn name(&self) -> &str {
                self.$($name).+.as_ref()
            }
        })?
    };
}
pub(super) use kept;

macro_rules! first {
    ($first:expr $(, $rest:expr)?) => {
        $first
    };
}
pub(super) use first;

macro_rules! owner_column {
    (()) => {
        ""
    };
    ($column:ident) => {
        stringify!($column)
    };
}
pub(super) use owner_column;

/// Returns [`StoreError::Unique`] if a record has the same values in columns that must differ.
pub fn insert<R: Record>(tx: &mut Tx<'_>, record: &R) -> Result<(), StoreError> {
    tx.insert(record)
}

pub fn find<R: Kept>(tx: &mut Tx<'_>, id: R::Id) -> Result<Option<R>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

/// The record with an id, if it belongs to this owner.
pub fn find_of<R: Owned>(
    tx: &mut Tx<'_>,
    owner: &R::Owner,
    id: R::Id,
) -> Result<Option<R>, StoreError> {
    let mut of = of_owner::<R>(owner);
    of.add("id = ?", id);
    tx.find_record(&of.where_clause(), &of.values)
}

/// Like [`find`]. A record that does not exist is the error [`StoreError::Missing`].
pub fn get<R: Kept>(tx: &mut Tx<'_>, id: R::Id) -> Result<R, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::missing(R::KIND, id))
}

/// Writes all columns that may change. The record must have been read in the same transaction:
/// transactions that write run one after the other, so no change of another one is overwritten.
pub fn replace<R: Kept>(tx: &mut Tx<'_>, record: &R) -> Result<(), StoreError> {
    let columns = R::COLUMNS
        .iter()
        .filter(|column| !R::FIXED.contains(column));
    let columns: Vec<_> = columns.copied().collect();
    match tx.update(record, &columns.join(", "))? {
        true => Ok(()),
        false => Err(StoreError::missing(R::KIND, record.id())),
    }
}

/// Writes one column of a record.
pub(crate) fn set<R: Kept>(
    tx: &mut Tx<'_>,
    id: R::Id,
    column: &str,
    value: impl Into<Value>,
) -> Result<(), StoreError> {
    let sql = format!("UPDATE {} SET {column} = ?2 WHERE id = ?1", R::TABLE);
    tx.execute(&sql, &[id.into(), value.into()])
}

pub fn set_last_used<R: Kept>(tx: &mut Tx<'_>, id: R::Id, at: Timestamp) -> Result<(), StoreError> {
    set::<R>(tx, id, "last_used_at", at)
}

/// Records of which the server remembers the permissions of the user who last saved them.
pub trait Powered: Kept {}

/// The permissions of the user who last saved the record, at that time.
pub fn saved_power<R: Powered>(tx: &mut Tx<'_>, id: R::Id) -> Result<SavedPower, StoreError> {
    let sql = format!("SELECT saved_power FROM {} WHERE id = ?1", R::TABLE);
    tx.find(&sql, values![id])?
        .ok_or_else(|| StoreError::missing(R::KIND, id))
}

pub fn set_saved_power<R: Powered>(
    tx: &mut Tx<'_>,
    id: R::Id,
    power: SavedPower,
) -> Result<(), StoreError> {
    set::<R>(tx, id, "saved_power", power)
}

/// Returns whether the record existed.
pub fn delete<R: Kept>(tx: &mut Tx<'_>, id: R::Id) -> Result<bool, StoreError> {
    let sql = format!("DELETE FROM {} WHERE id = ?1", R::TABLE);
    tx.changes(&sql, values![id])
}

/// The number of records of an owner.
pub fn count<R: Owned>(tx: &mut Tx<'_>, owner: &R::Owner) -> Result<u64, StoreError> {
    let of = of_owner::<R>(owner);
    let sql = format!("SELECT COUNT(*) FROM {} {}", R::TABLE, of.where_clause());
    tx.get(&sql, &of.values)
}

/// A page of the records of an owner, oldest first.
pub fn list<R: Owned>(
    tx: &mut Tx<'_>,
    owner: &R::Owner,
    page: PageRequest,
) -> Result<Page<R>, StoreError> {
    page.records(tx, of_owner::<R>(owner))
}

/// Like [`list`], without records that have expired.
pub fn list_unexpired<R: Owned>(
    tx: &mut Tx<'_>,
    owner: &R::Owner,
    now: Timestamp,
    page: PageRequest,
) -> Result<Page<R>, StoreError> {
    let mut conditions = of_owner::<R>(owner);
    conditions.add("expires_at > ?", now);
    page.records(tx, conditions)
}

/// All records of an owner, for the server's copy in memory.
pub fn list_of<R: Owned>(tx: &mut Tx<'_>, owner: &R::Owner) -> Result<Vec<R>, StoreError> {
    let of = of_owner::<R>(owner);
    let rest = format!("{} ORDER BY id", of.where_clause());
    tx.list_records(&rest, &of.values)
}

/// All records of all owners, for the server's copy in memory.
pub fn list_all<R: Kept>(tx: &mut Tx<'_>) -> Result<Vec<R>, StoreError> {
    tx.list_records("ORDER BY id", &[])
}

/// The record of an owner with a name.
pub fn find_named<R: Named>(
    tx: &mut Tx<'_>,
    owner: &R::Owner,
    name: &str,
) -> Result<Option<R>, StoreError> {
    let column = R::UNIQUE[R::UNIQUE.len() - 1];
    let mut of = of_owner::<R>(owner);
    of.add(&format!("{column} = ?"), name);
    tx.find_record(&of.where_clause(), &of.values)
}

/// The other record that has the unique columns of this one: it prevents this one from being
/// written.
pub fn find_same_name<R: Named>(tx: &mut Tx<'_>, record: &R) -> Result<Option<R>, StoreError> {
    let mut same = Conditions::new("id <> ?", record.id());
    for (column, value) in R::COLUMNS.iter().zip(record.values()) {
        if R::UNIQUE.contains(column) {
            same.add(&format!("{column} = ?"), value);
        }
    }
    tx.find_record(&same.where_clause(), &same.values)
}

fn of_owner<R: Owned>(owner: &R::Owner) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.add_some(&format!("{} = ?", R::OWNER), owner.value());
    conditions
}
