//! Counters of failed logins that the servers of a zone share. A slot is the number of a counter.

use std::collections::HashMap;

use svc_core::{Timestamp, login::Failures};

use super::{
    error::StoreError,
    record::placeholders,
    sql::{Tx, values},
    value::Value,
};

/// The counters in these slots. A slot without a counter is missing in the result.
pub fn find(tx: &mut Tx<'_>, slots: &[i64]) -> Result<HashMap<i64, Failures>, StoreError> {
    let sql = format!(
        "SELECT slot, count, last FROM login_failures WHERE slot IN ({})",
        placeholders(slots.len())
    );
    let slots: Vec<_> = slots.iter().map(|slot| Value::from(*slot)).collect();
    let rows = tx.query(&sql, &slots)?;
    let read = rows.iter().map(|row| {
        let (count, last) = (row.get("count")?, row.get("last")?);
        Ok((row.get("slot")?, Failures { count, last }))
    });
    read.collect()
}

pub fn set(tx: &mut Tx<'_>, slot: i64, failures: Failures) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO login_failures (slot, count, last) VALUES (?1, ?2, ?3)
         ON CONFLICT (slot) DO UPDATE SET count = excluded.count, last = excluded.last",
        values![slot, failures.count, failures.last],
    )
}

/// Removes a counter.
pub fn reset(tx: &mut Tx<'_>, slot: i64) -> Result<(), StoreError> {
    tx.send("DELETE FROM login_failures WHERE slot = ?1", values![slot])
}

/// Removes counters whose last failure was before a time.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM login_failures WHERE last < ?1",
        values![before],
    )
}
