//! Tables that requests without a credential fill, such as sign-ins in progress. Each table has a
//! maximum number of rows, which all networks share. When there are more rows, the network with the
//! most rows loses its oldest rows, so that a flood from one network removes only rows of its own.
//!
//! The column `network` has the network of the request.

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of rows that one call counts and deletes beyond the maximum of the table.
const SURPLUS_MAX: u32 = 1_000;

/// The rows of a table that share one maximum.
pub(super) struct WaitingRows {
    pub(super) table: &'static str,
    /// The column of the primary key.
    pub(super) key: &'static str,
    /// The column that orders the rows of one network; the oldest row has the smallest value.
    pub(super) age: &'static str,
    /// Selects the rows, if the table has others too.
    pub(super) condition: &'static str,
}

impl WaitingRows {
    /// If there are more than `keep` rows, deletes the surplus and a hundredth of `keep`. All rows
    /// are ranked for this, so only one in many insertions into a full table needs it.
    pub(super) fn delete_surplus(&self, tx: &mut Tx<'_>, keep: u32) -> Result<(), StoreError> {
        let count: u32 = tx.get(&self.count(), values![keep.saturating_add(SURPLUS_MAX)])?;
        if count <= keep {
            return Ok(());
        }
        tx.execute(&self.delete(), values![count - keep + keep / 100])
    }

    pub(super) fn count(&self) -> String {
        let Self {
            table,
            key,
            condition,
            ..
        } = self;
        format!(
            "SELECT COUNT(*) FROM (SELECT {key} FROM {table} WHERE {condition} LIMIT ?1) AS waiting"
        )
    }

    /// The row with the largest `place` is the oldest row of the network with the most rows.
    pub(super) fn delete(&self) -> String {
        let Self {
            table,
            key,
            age,
            condition,
        } = self;
        format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM (
                 SELECT {key}, {age} AS age,
                     ROW_NUMBER() OVER (PARTITION BY network ORDER BY {age} DESC, {key} DESC) AS place
                 FROM {table} WHERE {condition}) AS ranked
             ORDER BY place DESC, age, {key} LIMIT ?1)"
        )
    }
}
