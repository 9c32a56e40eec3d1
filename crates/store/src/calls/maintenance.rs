//! Retention of the call journal, and the merging of its small blocks. A block holds rows of one
//! owner. Each function removes or merges a bounded number of blocks.

use svc_core::{
    Id, Timestamp, UserId,
    journal::{BLOCK_ROWS_MAX, BlockError, CallRow, choose_merge, decode},
};

use super::{BlockHead, insert_block, payloads, read_blocks};
use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of expired blocks of rows, and of payloads, that one transaction removes.
pub(super) const REMOVED_MAX: usize = 100;

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
        "SELECT id, owner_id, last_at, row_count FROM call_blocks
         WHERE owner_id = ?1 ORDER BY last_at, id",
        values![owner],
    )?;
    let expired = count_expired(&heads, keep);
    for head in heads.iter().take(expired.min(REMOVED_MAX)) {
        remove(tx, head.id)?;
    }
    if expired > REMOVED_MAX {
        return Ok(true);
    }
    let is_merged = merge(tx, owner, &heads[expired..])?;
    Ok(payloads::maintain(tx, owner, keep)? || is_merged)
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

/// How many of the oldest blocks are not kept.
fn count_expired(heads: &[BlockHead], keep: KeepRule) -> usize {
    let mut left: u64 = heads.iter().map(|head| head.row_count as u64).sum();
    let mut expired = 0;
    for head in heads {
        left = left.saturating_sub(head.row_count as u64);
        if left < keep.rows && head.last_at >= keep.since {
            break;
        }
        expired += 1;
    }
    expired
}

fn merge(tx: &mut Tx<'_>, owner: UserId, heads: &[BlockHead]) -> Result<bool, StoreError> {
    let counts: Vec<_> = heads.iter().map(|head| head.row_count).collect();
    let chosen = choose_merge(&counts);
    if chosen.is_empty() {
        return Ok(false);
    }
    let ids: Vec<Id> = chosen.iter().map(|at| heads[*at].id).collect();
    let mut rows = Vec::new();
    for (id, data) in read_blocks(tx, &ids)? {
        match decode(&data) {
            Ok(mut decoded) => rows.append(&mut decoded),
            // A newer server of the zone wrote the block. That server will merge it.
            Err(BlockError::Version(_)) => return Ok(false),
            Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %id,
                "removed a damaged block of the call journal: {error}"
            ),
        }
    }
    rows.sort_unstable_by_key(CallRow::id);
    for id in ids {
        remove(tx, id)?;
    }
    for rows in rows.chunks(BLOCK_ROWS_MAX) {
        insert_block(tx, owner, rows)?;
    }
    Ok(true)
}

fn remove(tx: &mut Tx<'_>, id: Id) -> Result<(), StoreError> {
    tx.send("DELETE FROM call_blocks WHERE id = ?1", values![id])
}
