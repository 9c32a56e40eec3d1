//! Statistics of methods and sinks. A block counts the calls of all methods of an owner in a
//! period, and the attempts of all sinks of the owner.

use std::time::Duration;

use svc_core::{
    Id, Timestamp, UserId,
    journal::BlockError,
    method_stats::{MethodCount, MethodCounts, StatsRange, start_of},
};
use uuid::Uuid;

use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// The maximum number of blocks that one [`prune`] removes.
const REMOVED_MAX: usize = 100;

struct Block {
    id: Id,
    data: Vec<u8>,
}

row! { Block: id, data }

/// Adds the counts of an owner's methods and sinks in the period that starts at `starts_at`. If the
/// owner was deleted, the counts are discarded.
pub fn append(
    tx: &mut Tx<'_>,
    owner: UserId,
    starts_at: Timestamp,
    period: Duration,
    counts: &MethodCounts,
) -> Result<(), StoreError> {
    if !tx.exists("SELECT id FROM users WHERE id = ?1", values![owner])? {
        return Ok(());
    }
    insert(tx, owner, starts_at, period, counts)
}

/// The calls of one method since a time: the start of each block that has calls, and its counts. A
/// time may occur more than once.
pub fn list(
    tx: &mut Tx<'_>,
    owner: UserId,
    method: &str,
    since: Timestamp,
) -> Result<Vec<(Timestamp, MethodCount)>, StoreError> {
    let blocks: Vec<(Timestamp, Vec<u8>)> = tx.list(
        "SELECT starts_at, data FROM method_stats WHERE owner_id = ?1 AND starts_at >= ?2
         ORDER BY starts_at",
        values![owner, since],
    )?;
    let mut found = Vec::new();
    for (starts_at, data) in blocks {
        match MethodCounts::decode_one(&data, method) {
            Ok(Some(count)) => found.push((starts_at, count)),
            Ok(None) => {}
            Err(error) => tracing::error!(target: crate::LOG_TARGET, owner = %owner,
                "cannot read a block of the statistics of methods: {error}"
            ),
        }
    }
    Ok(found)
}

/// Visits the calls of all methods of an owner since a time, and the attempts of all sinks of the
/// owner. Calls `found` for each name in each block, with the start of the block and the counts.
pub fn visit(
    tx: &mut Tx<'_>,
    owner: UserId,
    since: Timestamp,
    mut found: impl FnMut(Timestamp, &str, &MethodCount),
) -> Result<(), StoreError> {
    let blocks: Vec<(Timestamp, Vec<u8>)> = tx.list(
        "SELECT starts_at, data FROM method_stats WHERE owner_id = ?1 AND starts_at >= ?2
         ORDER BY starts_at",
        values![owner, since],
    )?;
    for (starts_at, data) in blocks {
        let read = MethodCounts::decode_each(&data, |name, count| found(starts_at, name, &count));
        if let Err(error) = read {
            tracing::error!(target: crate::LOG_TARGET, owner = %owner,
                "cannot read a block of the statistics of methods: {error}"
            );
        }
    }
    Ok(())
}

/// Merges blocks that are too old for their [`StatsRange`] into a block of the next range, which
/// has longer periods. One call replaces the blocks of one owner within one such longer period.
/// Returns whether there may be more to merge.
pub fn merge(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, StoreError> {
    for range in StatsRange::ALL {
        let Some(next) = range.next() else { continue };
        let (period, longer) = (range.step(), next.step());
        let before = start_of(range.first(now), longer);
        let oldest: Option<(UserId, Timestamp)> = tx.find(
            "SELECT owner_id, starts_at FROM method_stats WHERE period_ms = ?1 AND starts_at < ?2
             ORDER BY starts_at LIMIT 1",
            values![millis(period), before],
        )?;
        if let Some((owner, starts_at)) = oldest
            && merge_period(tx, owner, start_of(starts_at, longer), longer)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes blocks that are too old for every range. Returns their number; there may be more if it
/// is not 0.
pub fn prune(tx: &mut Tx<'_>, now: Timestamp) -> Result<usize, StoreError> {
    let before = StatsRange::Month.first(now);
    tx.count_changes(
        "DELETE FROM method_stats WHERE id IN
         (SELECT id FROM method_stats WHERE period_ms = ?1 AND starts_at < ?2
          ORDER BY starts_at LIMIT ?3)",
        values![millis(StatsRange::Month.step()), before, REMOVED_MAX],
    )
}

/// Replaces all blocks of an owner in a period by one. Returns whether this was possible.
fn merge_period(
    tx: &mut Tx<'_>,
    owner: UserId,
    starts_at: Timestamp,
    period: Duration,
) -> Result<bool, StoreError> {
    let blocks: Vec<Block> = tx.list(
        "SELECT id, data FROM method_stats
         WHERE owner_id = ?1 AND starts_at >= ?2 AND starts_at < ?3 AND period_ms <= ?4",
        values![owner, starts_at, starts_at.plus(period), millis(period)],
    )?;
    let mut merged = MethodCounts::default();
    for block in &blocks {
        match MethodCounts::decode(&block.data) {
            Ok(counts) => merged.add_all(&counts),
            // A server with a newer version of svc wrote the block, and will merge it.
            Err(BlockError::Version(_)) => return Ok(false),
            Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %block.id,
                "removed a damaged block of the statistics of methods: {error}"
            ),
        }
    }
    for block in &blocks {
        tx.send("DELETE FROM method_stats WHERE id = ?1", values![block.id])?;
    }
    insert(tx, owner, starts_at, period, &merged)?;
    Ok(true)
}

fn insert(
    tx: &mut Tx<'_>,
    owner: UserId,
    starts_at: Timestamp,
    period: Duration,
    counts: &MethodCounts,
) -> Result<(), StoreError> {
    if counts.is_empty() {
        return Ok(());
    }
    tx.send(
        "INSERT INTO method_stats (id, owner_id, starts_at, period_ms, data)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        values![
            Id(Uuid::now_v7()),
            owner,
            starts_at,
            millis(period),
            counts.encode()
        ],
    )
}

fn millis(period: Duration) -> i64 {
    i64::try_from(period.as_millis()).unwrap_or(i64::MAX)
}
