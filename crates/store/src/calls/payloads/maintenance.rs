//! Retention of recorded payloads, and the merging of their small blocks. As with rows, callers share
//! an owner's bytes: when the oldest block is removed, the payloads of callers other than the busiest
//! are written again, into a kept block.

use std::collections::HashMap;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{
        BlockError, CallPayload, CallRow, Candidate, PAYLOAD_BLOCK_BYTES, PAYLOAD_ROW_BYTES,
        choose_kept, choose_merge, choose_survivors, time_of,
    },
};

use super::{PayloadHead, insert_all, read, remove};
use crate::{
    calls::{
        KeepRule,
        maintenance::{AGED_AFTER, KEPT_PART, REMOVED_MAX, SURVIVING_PART, read_rows},
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
    let heads: Vec<PayloadHead> = tx.list(
        "SELECT id, first_at, last_at, byte_count, kept FROM call_payloads
         WHERE owner_id = ?1 ORDER BY last_at, id",
        values![owner],
    )?;
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
    let is_old = |head: &PayloadHead| head.last_at < since(oldest);
    let (old, heads): (Vec<_>, Vec<_>) = heads.into_iter().partition(is_old);
    for head in old.iter().take(REMOVED_MAX) {
        remove(tx, head.id)?;
    }
    if old.len() > REMOVED_MAX {
        return Ok(true);
    }
    let (kept, recent): (Vec<_>, Vec<_>) = heads.into_iter().partition(|head| head.kept);
    let is_aged = |head: &&PayloadHead| head.first_at < keep.since.minus(AGED_AFTER);
    if let Some(aged) = kept.iter().find(is_aged) {
        let mut payloads = take_kept(tx, std::slice::from_ref(aged))?;
        payloads.retain(|payload| time_of(payload.id) >= keep.since);
        insert_all(tx, owner, payloads, true)?;
        return Ok(true);
    }
    let kept_bytes: u64 = kept.iter().map(|head| head.byte_count).sum();
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
        let mut bytes = 0;
        let is_sifted = |head: &&PayloadHead| {
            bytes += head.byte_count;
            bytes <= SIFTED_BYTES_MAX
        };
        let sifted = recent[..expired].iter().take_while(is_sifted).count();
        sift(tx, owner, &recent[..sifted.max(1)], survivors)?;
        return Ok(true);
    }
    Ok(merge(tx, owner, recent)? || merge(tx, owner, kept)?)
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
    heads: &[PayloadHead],
    survivors: Survivors,
) -> Result<(), StoreError> {
    let rows = rows_of(tx, owner, heads)?;
    let bytes: u64 = heads.iter().map(|head| head.byte_count).sum();
    let mut callers = rows.values().map(|row| (row.caller, &row.method));
    let first = callers.next();
    let kept = match survivors {
        Survivors::OfKeptCalls if first.is_some() => {
            let (payloads, _) = read_all(tx, heads)?;
            select(payloads, &rows, |calls| (0..calls.len()).collect())
        }
        Survivors::Share if callers.any(|other| Some(other) != first) => {
            let (payloads, _) = read_all(tx, heads)?;
            select(payloads, &rows, |calls| {
                choose_survivors(calls, bytes / SURVIVING_PART)
            })
        }
        // Often one caller calls one method: then no payload stays.
        Survivors::OfKeptCalls | Survivors::Share => Vec::new(),
    };
    for head in heads {
        remove(tx, head.id)?;
    }
    insert_all(tx, owner, kept, true)
}

/// Writes the kept payloads again, without some of the callers who have the most bytes. Returns
/// whether blocks were removed.
fn reduce_kept(
    tx: &mut Tx<'_>,
    owner: UserId,
    kept: &[PayloadHead],
    kept_max: u64,
) -> Result<bool, StoreError> {
    let rows = rows_of(tx, owner, kept)?;
    let payloads = take_kept(tx, kept)?;
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
    insert_all(tx, owner, payloads, true)?;
    Ok(true)
}

/// The rows of the calls whose payloads may be in these blocks, by the ids of the calls.
fn rows_of(
    tx: &mut Tx<'_>,
    owner: UserId,
    heads: &[PayloadHead],
) -> Result<HashMap<Id, CallRow>, StoreError> {
    let first = heads.iter().map(|head| head.first_at).min();
    let last = heads.iter().map(|head| head.last_at).max();
    let blocks: Vec<Id> = tx.list(
        "SELECT id FROM call_blocks WHERE owner_id = ?1 AND last_at >= ?2 AND first_at <= ?3
         ORDER BY kept DESC, last_at LIMIT ?4",
        values![owner, first, last, ROW_BLOCKS_MAX],
    )?;
    let (rows, _) = read_rows(tx, &blocks)?;
    Ok(rows.into_iter().map(|row| (row.id(), row)).collect())
}

/// The payloads of blocks, in the order of their calls' ids. Also returns the ids of blocks of another
/// version, which a newer server wrote.
fn read_all<'a>(
    tx: &mut Tx<'_>,
    heads: impl IntoIterator<Item = &'a PayloadHead>,
) -> Result<(Vec<CallPayload>, Vec<Id>), StoreError> {
    let (mut all, mut unknown) = (Vec::new(), Vec::new());
    for head in heads {
        match read(tx, head.id)? {
            Some(Ok(mut payloads)) => all.append(&mut payloads),
            Some(Err(BlockError::Version(_))) => unknown.push(head.id),
            Some(Err(error)) => tracing::error!(target: crate::LOG_TARGET, block = %head.id,
                "a block of recorded payloads is damaged: {error}"
            ),
            None => {}
        }
    }
    all.sort_unstable_by_key(|payload| payload.id);
    Ok((all, unknown))
}

/// Removes kept blocks, and returns their payloads. A block of another version counts as recent from
/// now on.
fn take_kept(tx: &mut Tx<'_>, heads: &[PayloadHead]) -> Result<Vec<CallPayload>, StoreError> {
    let (payloads, unknown) = read_all(tx, heads)?;
    for head in heads {
        match unknown.contains(&head.id) {
            true => tx.send(
                "UPDATE call_payloads SET kept = 0 WHERE id = ?1",
                values![head.id],
            )?,
            false => remove(tx, head.id)?,
        }
    }
    Ok(payloads)
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
fn count_expired(heads: &[PayloadHead], bytes_max: u64) -> usize {
    let mut bytes: u64 = heads.iter().map(|head| head.byte_count).sum();
    let is_expired = |head: &&PayloadHead| {
        let is_expired = bytes > bytes_max;
        bytes -= head.byte_count;
        is_expired
    };
    heads.iter().take_while(is_expired).count()
}

/// Merges small blocks. Blocks of another version are left to the servers that can read them.
fn merge(tx: &mut Tx<'_>, owner: UserId, mut heads: Vec<PayloadHead>) -> Result<bool, StoreError> {
    loop {
        let sizes = heads
            .iter()
            .map(|head| match usize::try_from(head.byte_count) {
                Ok(bytes) if bytes <= PAYLOAD_BLOCK_BYTES / 2 => bytes.div_ceil(PAYLOAD_ROW_BYTES),
                // Two such blocks may not fit into one, so merging would never end.
                _ => usize::MAX,
            });
        let chosen = choose_merge(&sizes.collect::<Vec<_>>());
        let Some(first) = chosen.first() else {
            return Ok(false);
        };
        let (payloads, unknown) = read_all(tx, chosen.iter().map(|at| &heads[*at]))?;
        if unknown.is_empty() {
            for position in &chosen {
                remove(tx, heads[*position].id)?;
            }
            insert_all(tx, owner, payloads, heads[*first].kept)?;
            return Ok(true);
        }
        heads.retain(|head| !unknown.contains(&head.id));
    }
}
