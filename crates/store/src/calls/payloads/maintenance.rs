//! Retention of recorded payloads, and the merging of their small blocks. As with rows, callers share
//! an owner's bytes: when the oldest block is removed, the payloads of callers other than the busiest
//! are written again, into a kept block.

use std::collections::HashMap;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{
        CallPayload, CallRow, Candidate, PAYLOAD_BLOCK_BYTES, choose_kept, choose_survivors,
    },
};

use crate::{
    calls::{
        KeepRule,
        blocks::{self, Head, KEPT_PART},
        maintenance::SURVIVING_PART,
    },
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum bytes of expired blocks whose payloads one transaction reads, to keep some of them.
const SIFTED_BYTES_MAX: u64 = 16 * PAYLOAD_BLOCK_BYTES as u64;
/// The maximum number of blocks of rows that are read to find the callers of payloads.
const ROW_BLOCKS_MAX: usize = 16;

/// Removes blocks of an owner that are too old, that exceed the limit of bytes, or whose calls were
/// removed. Then merges small blocks. Returns whether more work is left.
pub(in crate::calls) fn maintain(
    tx: &mut Tx<'_>,
    owner: UserId,
    keep: KeepRule,
) -> Result<bool, StoreError> {
    let of_owner = "WHERE owner_id = ?1 ORDER BY last_at, id";
    let heads = blocks::list::<CallPayload>(tx, of_owner, values![owner])?;
    if heads.is_empty() {
        return Ok(false);
    }
    // Payloads are written together with the rows of their calls. So payloads that are older than
    // the oldest row belong to calls that were removed.
    let (oldest, oldest_recent): (Option<Timestamp>, Option<Timestamp>) = tx.get(
        "SELECT MIN(first_at), MIN(CASE WHEN kept = 0 THEN first_at END)
         FROM call_blocks WHERE owner_id = ?1",
        values![owner],
    )?;
    let since = |oldest: Option<Timestamp>| oldest.unwrap_or(Timestamp(i64::MAX)).max(keep.since);
    let rest = blocks::remove_old::<CallPayload>(tx, owner, heads, since(oldest), keep)?;
    let Some((kept, recent)) = rest else {
        return Ok(true);
    };
    let kept_bytes = blocks::size(&kept);
    let kept_max = keep.payload_bytes / KEPT_PART;
    if kept_bytes > kept_max {
        return reduce_kept(tx, owner, &kept, kept_max);
    }
    let bytes_max = keep.payload_bytes - kept_bytes.min(kept_max);
    let since = since(oldest_recent);
    let removed_rows = recent.iter().take_while(|head| head.last_at < since);
    let chosen = match removed_rows.count() {
        0 => (Survivors::Share, count_expired(&recent, bytes_max)),
        count => (Survivors::OfKeptCalls, count),
    };
    if let (survivors, expired @ 1..) = chosen {
        let sifted = blocks::count_within(&recent[..expired], SIFTED_BYTES_MAX);
        sift(tx, owner, &recent[..sifted], survivors)?;
        return Ok(true);
    }
    Ok(blocks::merge::<CallPayload>(tx, owner, recent)?
        || blocks::merge::<CallPayload>(tx, owner, kept)?)
}

/// Which payloads of a removed block are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Survivors {
    /// The block was removed because the blocks of its calls were: payloads of the calls that stay.
    OfKeptCalls,
    /// The owner has too many bytes: a share, without the busiest caller and method.
    Share,
}

/// Removes blocks, and keeps some of their payloads.
fn sift(
    tx: &mut Tx<'_>,
    owner: UserId,
    heads: &[Head],
    survivors: Survivors,
) -> Result<(), StoreError> {
    let rows = rows_of(tx, owner, heads)?;
    let bytes = blocks::size(heads);
    let mut callers = rows.values().map(|row| (row.caller, &row.method));
    let first = callers.next();
    let kept = match survivors {
        Survivors::OfKeptCalls if first.is_some() => {
            let (payloads, _) = blocks::read(tx, &blocks::ids(heads))?;
            select(payloads, &rows, |calls| (0..calls.len()).collect())
        }
        Survivors::Share if callers.any(|other| Some(other) != first) => {
            let (payloads, _) = blocks::read(tx, &blocks::ids(heads))?;
            select(payloads, &rows, |calls| {
                choose_survivors(calls, bytes / SURVIVING_PART)
            })
        }
        // Often one caller calls one method: then no payload stays.
        Survivors::OfKeptCalls | Survivors::Share => Vec::new(),
    };
    for head in heads {
        blocks::remove::<CallPayload>(tx, head.id)?;
    }
    blocks::insert_all(tx, owner, kept, true)
}

/// Writes the kept payloads again, without some of the callers who have the most bytes. Returns
/// whether blocks were removed.
fn reduce_kept(
    tx: &mut Tx<'_>,
    owner: UserId,
    kept: &[Head],
    kept_max: u64,
) -> Result<bool, StoreError> {
    let rows = rows_of(tx, owner, kept)?;
    let payloads = blocks::take_kept(tx, &blocks::ids(kept))?;
    let limit = kept_max * 3 / 4;
    let mut payloads = select(payloads, &rows, |calls| choose_kept(calls, limit));
    let size = |payload: &CallPayload| payload.bytes() as u64;
    let mut bytes: u64 = payloads.iter().map(size).sum();
    // Only if the newest payloads of all callers are too many: then the newest of them stay.
    let max = kept_max / 8 * 7;
    payloads.retain(|payload| {
        let fits = bytes <= max;
        bytes -= if fits { 0 } else { size(payload) };
        fits
    });
    blocks::insert_all(tx, owner, payloads, true)?;
    Ok(true)
}

/// The rows of the calls whose payloads may be in these blocks, by the ids of the calls.
fn rows_of(
    tx: &mut Tx<'_>,
    owner: UserId,
    heads: &[Head],
) -> Result<HashMap<Id, CallRow>, StoreError> {
    let first = heads.iter().map(|head| head.first_at).min();
    let last = heads.iter().map(|head| head.last_at).max();
    let row_blocks: Vec<Id> = tx.list(
        "SELECT id FROM call_blocks WHERE owner_id = ?1 AND last_at >= ?2 AND first_at <= ?3
         ORDER BY kept DESC, last_at LIMIT ?4",
        values![owner, first, last, ROW_BLOCKS_MAX],
    )?;
    let (rows, _) = blocks::read::<CallRow>(tx, &row_blocks)?;
    Ok(rows.into_iter().map(|row| (row.id(), row)).collect())
}

/// The chosen payloads. Payloads of calls that were removed are not chosen.
fn select(
    mut payloads: Vec<CallPayload>,
    rows: &HashMap<Id, CallRow>,
    choose: impl FnOnce(&[Candidate<'_>]) -> Vec<usize>,
) -> Vec<CallPayload> {
    payloads.retain(|payload| rows.contains_key(&payload.id));
    let calls = payloads.iter().filter_map(|payload| {
        let row = rows.get(&payload.id)?;
        Some(Candidate {
            caller: row.caller,
            method: &row.method,
            size: payload.bytes() as u64,
        })
    });
    let chosen = choose(&calls.collect::<Vec<_>>());
    let chosen = chosen.into_iter().map(|at| payloads[at].clone());
    chosen.collect()
}

/// How many of the oldest blocks exceed the limit of bytes.
fn count_expired(heads: &[Head], bytes_max: u64) -> usize {
    let mut bytes = blocks::size(heads);
    let is_expired = |head: &&Head| {
        let is_expired = bytes > bytes_max;
        bytes -= head.size;
        is_expired
    };
    heads.iter().take_while(is_expired).count()
}
