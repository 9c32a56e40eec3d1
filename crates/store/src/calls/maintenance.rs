//! Retention of the call journal, and the merging of its small blocks. A block holds rows of one
//! owner. Each function removes or merges a bounded number of blocks.
//!
//! When an owner has too many rows, the oldest block is removed, and the rows of callers other than
//! the busiest are written again, into a *kept* block. So a caller who floods a method removes the
//! flood's own rows, not those of other callers ([`svc_core::journal::choose_survivors`]). Every row
//! is read for this only once, when its block is removed.

use std::time::Duration;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{
        BLOCK_ROWS_MAX, BlockError, CallRow, Candidate, choose_kept, choose_merge,
        choose_survivors, decode,
    },
};

use super::{BlockHead, insert_block, payloads, read_blocks};
use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of expired blocks of rows, and of payloads, that one transaction removes.
pub(super) const REMOVED_MAX: usize = 100;
/// The maximum number of rows of expired blocks that one transaction reads, to keep some of them.
const SIFTED_ROWS_MAX: usize = 8 * BLOCK_ROWS_MAX;
/// Kept rows are at most this part of an owner's rows, and kept payloads of the owner's bytes.
pub(super) const KEPT_PART: u64 = 4;
/// Kept rows may come from a long time, so old rows are removed from their blocks. A kept row
/// outlives the retention by at most this time.
pub(super) const AGED_AFTER: Duration = Duration::from_secs(60 * 60);
/// At most this part of a removed block is kept, or one call of each caller.
pub(super) const SURVIVING_PART: u64 = 8;

/// Which rows are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepRule {
    /// The number of rows of an owner. Only whole blocks are removed, so up to one block more is
    /// kept.
    pub rows: u64,
    /// Blocks whose newest row is older than this time are removed.
    pub since: Timestamp,
    /// The maximum number of bytes of recorded payloads of an owner.
    pub payload_bytes: u64,
}

/// Removes old blocks of an owner and merges small ones. Returns whether more work is left.
pub fn maintain(tx: &mut Tx<'_>, owner: UserId, keep: KeepRule) -> Result<bool, StoreError> {
    let heads: Vec<BlockHead> = tx.list(
        "SELECT id, owner_id, first_at, last_at, row_count, kept FROM call_blocks
         WHERE owner_id = ?1 ORDER BY last_at, id",
        values![owner],
    )?;
    let (old, heads): (Vec<_>, Vec<_>) = heads
        .into_iter()
        .partition(|head| head.last_at < keep.since);
    for head in old.iter().take(REMOVED_MAX) {
        remove(tx, head.id)?;
    }
    if old.len() > REMOVED_MAX {
        return Ok(true);
    }
    let (kept, recent): (Vec<_>, Vec<_>) = heads.into_iter().partition(|head| head.kept);
    let is_aged = |head: &&BlockHead| head.first_at < keep.since.minus(AGED_AFTER);
    if let Some(aged) = kept.iter().find(is_aged) {
        let mut rows = take_kept(tx, &[aged.id])?;
        rows.retain(|row| row.at >= keep.since);
        insert_all(tx, owner, rows, true)?;
        return Ok(true);
    }
    let kept_rows = count_rows(&kept);
    if kept_rows > keep.rows / KEPT_PART {
        reduce_kept(tx, owner, &kept, keep)?;
        return Ok(true);
    }
    let excess = count_excess(&recent, keep.rows - kept_rows.min(keep.rows / KEPT_PART));
    if excess > 0 {
        let mut rows = 0;
        let is_sifted = |head: &&BlockHead| {
            rows += head.row_count;
            rows <= SIFTED_ROWS_MAX
        };
        let sifted = recent[..excess.min(REMOVED_MAX)].iter();
        let sifted = sifted.take_while(is_sifted).count().max(1);
        let survivors = sift(tx, &recent[..sifted], keep)?;
        insert_all(tx, owner, survivors, true)?;
        // The next step merges blocks, or continues.
        return Ok(true);
    }
    let is_merged = merge(tx, owner, recent)? || merge(tx, owner, kept)?;
    Ok(payloads::maintain(tx, owner, keep)? || is_merged)
}

fn count_rows(heads: &[BlockHead]) -> u64 {
    heads.iter().map(|head| head.row_count as u64).sum()
}

/// How many of the oldest blocks are too many.
fn count_excess(heads: &[BlockHead], rows_max: u64) -> usize {
    let mut left = count_rows(heads);
    let is_excess = |head: &&BlockHead| {
        left -= head.row_count as u64;
        left >= rows_max
    };
    heads.iter().take_while(is_excess).count()
}

/// Removes blocks, and returns the rows that stay.
fn sift(tx: &mut Tx<'_>, heads: &[BlockHead], keep: KeepRule) -> Result<Vec<CallRow>, StoreError> {
    let mut survivors = Vec::new();
    if keep.rows >= KEPT_PART {
        let ids: Vec<_> = heads.iter().map(|head| head.id).collect();
        let (rows, _) = read_rows(tx, &ids)?;
        let limit = rows.len() as u64 / SURVIVING_PART;
        // Often one caller calls one method: then no row stays, and no row needs a closer look.
        let same = |row: &CallRow| row.caller == rows[0].caller && row.method == rows[0].method;
        if !rows.iter().all(same) {
            survivors = select(rows, |calls| choose_survivors(calls, limit));
        }
    }
    for head in heads {
        remove(tx, head.id)?;
    }
    Ok(survivors)
}

/// Writes the kept rows again, without some rows of the callers who have the most.
fn reduce_kept(
    tx: &mut Tx<'_>,
    owner: UserId,
    kept: &[BlockHead],
    keep: KeepRule,
) -> Result<(), StoreError> {
    let ids: Vec<_> = kept.iter().map(|head| head.id).collect();
    // Somewhat fewer than allowed, so that the next step is not needed soon.
    let limit = keep.rows / KEPT_PART * 3 / 4;
    let rows = take_kept(tx, &ids)?;
    let mut rows = select(rows, |calls| choose_kept(calls, limit));
    let max = usize::try_from(keep.rows / KEPT_PART).unwrap_or(usize::MAX);
    // Only if there are more callers than rows: then the newest stay.
    rows.drain(..rows.len().saturating_sub(max));
    insert_all(tx, owner, rows, true)
}

/// Removes kept blocks, and returns their rows. A block of another version counts as recent from now
/// on. So it stays until it is the oldest of too many, as any recent block.
fn take_kept(tx: &mut Tx<'_>, ids: &[Id]) -> Result<Vec<CallRow>, StoreError> {
    let (rows, unknown) = read_rows(tx, ids)?;
    for id in ids {
        match unknown.contains(id) {
            true => tx.send(
                "UPDATE call_blocks SET kept = 0 WHERE id = ?1",
                values![*id],
            )?,
            false => remove(tx, *id)?,
        }
    }
    Ok(rows)
}

fn select(rows: Vec<CallRow>, choose: impl FnOnce(&[Candidate<'_>]) -> Vec<usize>) -> Vec<CallRow> {
    let calls: Vec<_> = rows.iter().map(as_candidate).collect();
    let chosen = choose(&calls);
    chosen.into_iter().map(|at| rows[at].clone()).collect()
}

fn as_candidate(row: &CallRow) -> Candidate<'_> {
    Candidate {
        caller: row.caller,
        method: &row.method,
        size: 1,
    }
}

/// The rows of blocks, in the order of their ids. Also returns the ids of blocks of another version,
/// which a newer server wrote.
pub(super) fn read_rows(
    tx: &mut Tx<'_>,
    ids: &[Id],
) -> Result<(Vec<CallRow>, Vec<Id>), StoreError> {
    let (mut rows, mut unknown) = (Vec::new(), Vec::new());
    for (id, data) in read_blocks(tx, ids)? {
        match decode(&data) {
            Ok(mut decoded) => rows.append(&mut decoded),
            Err(BlockError::Version(_)) => unknown.push(id),
            Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %id,
                "a block of the call journal is damaged: {error}"
            ),
        }
    }
    rows.sort_unstable_by_key(CallRow::id);
    Ok((rows, unknown))
}

fn insert_all(
    tx: &mut Tx<'_>,
    owner: UserId,
    rows: Vec<CallRow>,
    kept: bool,
) -> Result<(), StoreError> {
    for rows in rows.chunks(BLOCK_ROWS_MAX) {
        insert_block(tx, owner, rows, kept)?;
    }
    Ok(())
}

/// Removes blocks of rows and of payloads, of any owner, whose newest call is older than `since`.
/// Returns the number of removed blocks. If the number is not 0, more old blocks may be left.
pub fn prune(tx: &mut Tx<'_>, since: Timestamp) -> Result<usize, StoreError> {
    let removed = tx.count_changes(
        "DELETE FROM call_blocks WHERE id IN
         (SELECT id FROM call_blocks WHERE last_at < ?1 ORDER BY last_at LIMIT ?2)",
        values![since, REMOVED_MAX],
    )?;
    Ok(removed + payloads::prune(tx, since)?)
}

/// Merges small blocks, which are all kept or all recent. Blocks of another version are left to the
/// servers that can read them.
fn merge(tx: &mut Tx<'_>, owner: UserId, mut heads: Vec<BlockHead>) -> Result<bool, StoreError> {
    loop {
        let counts: Vec<_> = heads.iter().map(|head| head.row_count).collect();
        let chosen = choose_merge(&counts);
        let Some(first) = chosen.first() else {
            return Ok(false);
        };
        let ids: Vec<Id> = chosen.iter().map(|at| heads[*at].id).collect();
        let (rows, unknown) = read_rows(tx, &ids)?;
        if unknown.is_empty() {
            for id in ids {
                remove(tx, id)?;
            }
            insert_all(tx, owner, rows, heads[*first].kept)?;
            return Ok(true);
        }
        heads.retain(|head| !unknown.contains(&head.id));
    }
}

fn remove(tx: &mut Tx<'_>, id: Id) -> Result<(), StoreError> {
    tx.send("DELETE FROM call_blocks WHERE id = ?1", values![id])
}
