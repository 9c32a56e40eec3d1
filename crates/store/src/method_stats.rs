//! Statistics of methods, sinks and calls, in two tables of the same form. A block of an owner counts
//! the calls of all methods of the owner in a period, and the attempts of all sinks of the owner; or
//! the calls that the owner made.

use std::time::Duration;

use svc_core::{
    Id, Timestamp, UserId,
    activity_stats::{
        ALL_USERS, MethodCount, MethodCounts, StatsRange, Subject, VERSION, start_of,
    },
    journal::BlockError,
    timestamp::millis,
};
use uuid::Uuid;

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of blocks that one [`prune`] removes.
const REMOVED_MAX: usize = 100;

/// A table of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatsTable {
    /// The calls of the methods of an owner, and the attempts of the owner's sinks.
    Methods,
    /// The calls that a user made, and under [`ALL_USERS`] the calls of all users.
    Calls,
}

impl StatsTable {
    pub const ALL: [Self; 2] = [Self::Methods, Self::Calls];

    fn name(self) -> &'static str {
        match self {
            Self::Methods => "method_stats",
            Self::Calls => "call_stats",
        }
    }
}

/// Adds the counts of an owner in the period that starts at `starts_at`. If the owner was deleted,
/// the counts are discarded.
pub fn append(
    tx: &mut Tx<'_>,
    table: StatsTable,
    owner: UserId,
    starts_at: Timestamp,
    period: Duration,
    counts: &MethodCounts,
) -> Result<(), StoreError> {
    let find_user = "SELECT id FROM users WHERE id = ?1";
    if owner != ALL_USERS && !tx.exists(find_user, values![owner])? {
        return Ok(());
    }
    insert(tx, table, owner, starts_at, period, counts)
}

/// The counts of one subject since a time: the start of each block that has calls, and its counts. A
/// time may occur more than once.
pub fn list(
    tx: &mut Tx<'_>,
    table: StatsTable,
    owner: UserId,
    subject: &Subject,
    since: Timestamp,
) -> Result<Vec<(Timestamp, MethodCount)>, StoreError> {
    let mut found = Vec::new();
    read(tx, table, owner, since, |starts_at, data| {
        let count = MethodCounts::decode_one(data, subject)?;
        found.extend(count.map(|count| (starts_at, count)));
        Ok(())
    })?;
    Ok(found)
}

/// Visits the calls of all methods of an owner since a time, and the attempts of all sinks of the
/// owner. Calls `found` for each subject in each block, with the start of the block and the counts.
pub fn visit(
    tx: &mut Tx<'_>,
    owner: UserId,
    since: Timestamp,
    mut found: impl FnMut(Timestamp, &Subject, &MethodCount),
) -> Result<(), StoreError> {
    read(tx, StatsTable::Methods, owner, since, |starts_at, data| {
        MethodCounts::decode_each(data, |subject, count| found(starts_at, &subject, &count))
    })
}

/// Decodes the blocks of an owner since a time, with their starts.
fn read(
    tx: &mut Tx<'_>,
    table: StatsTable,
    owner: UserId,
    since: Timestamp,
    mut decode: impl FnMut(Timestamp, &[u8]) -> Result<(), BlockError>,
) -> Result<(), StoreError> {
    let table = table.name();
    let sql = format!(
        "SELECT starts_at, data FROM {table} WHERE owner_id = ?1 AND starts_at >= ?2
         ORDER BY starts_at"
    );
    let blocks: Vec<(Timestamp, Vec<u8>)> = tx.list(&sql, values![owner, since])?;
    for (starts_at, data) in blocks {
        if let Err(error) = decode(starts_at, &data) {
            tracing::error!(target: crate::LOG_TARGET, owner = %owner,
                "cannot read a block of the statistics of calls: {error}"
            );
        }
    }
    Ok(())
}

/// Merges blocks that are too old for their [`StatsRange`] into a block of the next range, which
/// has longer periods. One call replaces the blocks of one owner within one such longer period.
/// Returns whether there may be more to merge. Blocks of another version are left to the servers that
/// can read them.
pub fn merge(tx: &mut Tx<'_>, table: StatsTable, now: Timestamp) -> Result<bool, StoreError> {
    let find_oldest = format!(
        "SELECT owner_id, starts_at FROM {}
         WHERE period_ms = ?1 AND starts_at < ?2 AND substr(data, 1, 1) = ?3
         ORDER BY starts_at LIMIT 1",
        table.name()
    );
    for range in StatsRange::ALL {
        let Some(next) = range.next() else { continue };
        let (period, longer) = (range.step(), next.step());
        let before = start_of(range.first(now), longer);
        let oldest: Option<(UserId, Timestamp)> =
            tx.find(&find_oldest, values![millis(period), before, vec![VERSION]])?;
        if let Some((owner, starts_at)) = oldest {
            merge_period(tx, table, owner, start_of(starts_at, longer), longer)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes blocks that are too old for every range. Returns their number; there may be more if it
/// is not 0.
pub fn prune(tx: &mut Tx<'_>, table: StatsTable, now: Timestamp) -> Result<usize, StoreError> {
    let before = StatsRange::Month.first(now);
    let table = table.name();
    let sql = format!(
        "DELETE FROM {table} WHERE id IN (SELECT id FROM {table}
         WHERE period_ms = ?1 AND starts_at < ?2 ORDER BY starts_at LIMIT ?3)"
    );
    let mut removed = 0;
    // Blocks of another version keep their short period.
    for range in StatsRange::ALL {
        let step = millis(range.step());
        removed += tx.count_changes(&sql, values![step, before, REMOVED_MAX])?;
    }
    Ok(removed)
}

/// Removes the blocks that count the calls of a deleted user. The foreign key of the other table
/// removes the blocks of the user's methods.
pub(crate) fn delete_calls_of(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM call_stats WHERE owner_id = ?1", values![user])
}

/// Replaces all blocks of an owner in a period by one.
fn merge_period(
    tx: &mut Tx<'_>,
    table: StatsTable,
    owner: UserId,
    starts_at: Timestamp,
    period: Duration,
) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT id, data FROM {} WHERE owner_id = ?1 AND starts_at >= ?2 AND starts_at < ?3
         AND period_ms <= ?4 AND substr(data, 1, 1) = ?5",
        table.name()
    );
    let blocks: Vec<(Id, Vec<u8>)> = tx.list(
        &sql,
        values![
            owner,
            starts_at,
            starts_at.plus(period),
            millis(period),
            vec![VERSION]
        ],
    )?;
    let mut merged = MethodCounts::default();
    for (block, data) in &blocks {
        match MethodCounts::decode(data) {
            Ok(counts) => merged.add_all(&counts),
            Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %block,
                "removed a damaged block of the statistics of calls: {error}"
            ),
        }
    }
    let delete = format!("DELETE FROM {} WHERE id = ?1", table.name());
    for (block, _) in &blocks {
        tx.send(&delete, values![*block])?;
    }
    insert(tx, table, owner, starts_at, period, &merged)
}

fn insert(
    tx: &mut Tx<'_>,
    table: StatsTable,
    owner: UserId,
    starts_at: Timestamp,
    period: Duration,
    counts: &MethodCounts,
) -> Result<(), StoreError> {
    if counts.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "INSERT INTO {} (id, owner_id, starts_at, period_ms, data) VALUES (?1, ?2, ?3, ?4, ?5)",
        table.name()
    );
    tx.send(
        &sql,
        values![
            Id(Uuid::now_v7()),
            owner,
            starts_at,
            millis(period),
            counts.encode()
        ],
    )
}
