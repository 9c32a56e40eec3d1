//! Retention of the call journal, and the merging of its small blocks. A block holds rows of one
//! owner. Each function removes or merges a bounded number of blocks.
//!
//! When an owner has too many rows, the oldest block is removed, and the rows of callers other than
//! the busiest are written again, into a *kept* block. So a caller who floods a method removes the
//! flood's own rows, not those of other callers ([`svc_core::journal::choose_survivors`]). Every row
//! is read for this only once, when its block is removed.

use svc_core::{
    Timestamp, UserId,
    journal::{BLOCK_ROWS_MAX, CallPayload, CallRow, Candidate, choose_kept, choose_survivors},
};

use super::{
    blocks::{self, Head, KEPT_PART, REMOVED_MAX},
    payloads,
};
use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of rows of expired blocks that one transaction reads, to keep some of them.
const SIFTED_ROWS_MAX: u64 = 8 * BLOCK_ROWS_MAX as u64;
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
    let of_owner = "WHERE owner_id = ?1 ORDER BY last_at, id";
    let heads = blocks::list::<CallRow>(tx, of_owner, values![owner])?;
    let rest = blocks::remove_old::<CallRow>(tx, owner, heads, keep.since, keep)?;
    let Some((kept, recent)) = rest else {
        return Ok(true);
    };
    let kept_rows = blocks::size(&kept);
    if kept_rows > keep.rows / KEPT_PART {
        reduce_kept(tx, owner, &kept, keep)?;
        return Ok(true);
    }
    let excess = count_excess(&recent, keep.rows - kept_rows.min(keep.rows / KEPT_PART));
    if excess > 0 {
        let excess = &recent[..excess.min(REMOVED_MAX)];
        let sifted = blocks::count_within(excess, SIFTED_ROWS_MAX);
        let survivors = sift(tx, &recent[..sifted], keep)?;
        blocks::insert_all(tx, owner, survivors, true)?;
        // The next step merges blocks, or continues.
        return Ok(true);
    }
    let is_merged =
        blocks::merge::<CallRow>(tx, owner, recent)? || blocks::merge::<CallRow>(tx, owner, kept)?;
    Ok(payloads::maintain(tx, owner, keep)? || is_merged)
}

/// How many of the oldest blocks are too many.
fn count_excess(heads: &[Head], rows_max: u64) -> usize {
    let mut left = blocks::size(heads);
    let is_excess = |head: &&Head| {
        left -= head.size;
        left >= rows_max
    };
    heads.iter().take_while(is_excess).count()
}

/// Removes blocks, and returns the rows that stay.
fn sift(tx: &mut Tx<'_>, heads: &[Head], keep: KeepRule) -> Result<Vec<CallRow>, StoreError> {
    let mut survivors = Vec::new();
    if keep.rows >= KEPT_PART {
        let (rows, _) = blocks::read::<CallRow>(tx, &blocks::ids(heads))?;
        let limit = rows.len() as u64 / SURVIVING_PART;
        // Often one caller calls one method: then no row stays, and no row needs a closer look.
        let same = |row: &CallRow| row.caller == rows[0].caller && row.method == rows[0].method;
        if !rows.iter().all(same) {
            survivors = select(rows, |calls| choose_survivors(calls, limit));
        }
    }
    for head in heads {
        blocks::remove::<CallRow>(tx, head.id)?;
    }
    Ok(survivors)
}

/// Writes the kept rows again, without some rows of the callers who have the most.
fn reduce_kept(
    tx: &mut Tx<'_>,
    owner: UserId,
    kept: &[Head],
    keep: KeepRule,
) -> Result<(), StoreError> {
    // Somewhat fewer than allowed, so that the next step is not needed soon.
    let limit = keep.rows / KEPT_PART * 3 / 4;
    let rows = blocks::take_kept(tx, &blocks::ids(kept))?;
    let mut rows = select(rows, |calls| choose_kept(calls, limit));
    let max = usize::try_from(keep.rows / KEPT_PART).unwrap_or(usize::MAX);
    // Only if there are more callers than rows: then the newest stay.
    rows.drain(..rows.len().saturating_sub(max));
    blocks::insert_all(tx, owner, rows, true)
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

/// Removes blocks of rows and of payloads, of any owner, whose newest call is older than `since`.
/// Returns the number of removed blocks. If the number is not 0, more old blocks may be left.
pub fn prune(tx: &mut Tx<'_>, since: Timestamp) -> Result<usize, StoreError> {
    Ok(blocks::prune::<CallRow>(tx, since)? + blocks::prune::<CallPayload>(tx, since)?)
}
