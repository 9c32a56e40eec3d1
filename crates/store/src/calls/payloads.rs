//! Recorded params and answers, in blocks of their own. A block is found by its owner and the times
//! of its calls.

use svc_core::{
    Id, Timestamp, UserId,
    journal::{
        BlockError, CallPayload, PAYLOAD_BLOCK_BYTES, PAYLOAD_ROW_BYTES, choose_merge,
        decode_payloads, encode_payloads, time_of,
    },
};
use uuid::Uuid;

use super::{KeepRule, maintenance::REMOVED_MAX};
use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// A block without its payloads.
struct PayloadHead {
    id: Id,
    last_at: Timestamp,
    byte_count: u64,
}

row! { PayloadHead: id, last_at, byte_count }

/// Writes payloads of one owner's calls. The owner must exist.
pub fn append(
    tx: &mut Tx<'_>,
    owner: UserId,
    mut payloads: Vec<CallPayload>,
) -> Result<(), StoreError> {
    payloads.sort_unstable_by_key(|payload| payload.id);
    let mut rest = payloads.as_slice();
    while !rest.is_empty() {
        let mut bytes = 0;
        let fitting = rest.iter().take_while(|payload| {
            let is_first = bytes == 0;
            bytes += payload.bytes();
            is_first || bytes <= PAYLOAD_BLOCK_BYTES
        });
        let (block, later) = rest.split_at(fitting.count());
        insert(tx, owner, block)?;
        rest = later;
    }
    Ok(())
}

/// Inserts payloads, which are in the order of their ids, as one block.
fn insert(tx: &mut Tx<'_>, owner: UserId, payloads: &[CallPayload]) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (payloads.first(), payloads.last()) else {
        return Ok(());
    };
    let data = encode_payloads(payloads);
    tx.send(
        "INSERT INTO call_payloads (id, owner_id, first_at, last_at, byte_count, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            Id(Uuid::now_v7()),
            owner,
            time_of(first.id),
            time_of(last.id),
            data.len(),
            data
        ],
    )
}

/// The recorded payloads of a call.
pub fn find(tx: &mut Tx<'_>, owner: UserId, id: Id) -> Result<Option<CallPayload>, StoreError> {
    let at = time_of(id);
    let blocks: Vec<Id> = tx.list(
        "SELECT id FROM call_payloads WHERE owner_id = ?1 AND last_at >= ?2 AND first_at <= ?2",
        values![owner, at],
    )?;
    for block in blocks {
        let Some(payloads) = read(tx, block)? else {
            continue;
        };
        match payloads {
            Ok(payloads) => {
                let found = payloads.into_iter().find(|payload| payload.id == id);
                if found.is_some() {
                    return Ok(found);
                }
            }
            Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %block,
                "cannot read a block of recorded payloads: {error}"
            ),
        }
    }
    Ok(None)
}

fn read(
    tx: &mut Tx<'_>,
    block: Id,
) -> Result<Option<Result<Vec<CallPayload>, BlockError>>, StoreError> {
    let data: Option<Vec<u8>> = tx.find(
        "SELECT data FROM call_payloads WHERE id = ?1",
        values![block],
    )?;
    Ok(data.map(|data| decode_payloads(&data)))
}

/// Removes blocks of an owner that are too old, that exceed the limit of bytes, or whose calls were
/// removed. Then merges small blocks. Returns whether more work is left.
pub(super) fn maintain(tx: &mut Tx<'_>, owner: UserId, keep: KeepRule) -> Result<bool, StoreError> {
    let heads: Vec<PayloadHead> = tx.list(
        "SELECT id, last_at, byte_count FROM call_payloads
         WHERE owner_id = ?1 ORDER BY last_at, id",
        values![owner],
    )?;
    if heads.is_empty() {
        return Ok(false);
    }
    // Payloads are written together with the rows of their calls. So payloads that are older than
    // the oldest row belong to calls that were removed.
    let oldest: Option<Timestamp> = tx.get(
        "SELECT MIN(first_at) FROM call_blocks WHERE owner_id = ?1",
        values![owner],
    )?;
    let since = oldest.unwrap_or(Timestamp(i64::MAX)).max(keep.since);
    let expired = count_expired(&heads, since, keep.payload_bytes);
    for head in heads.iter().take(expired.min(REMOVED_MAX)) {
        remove(tx, head.id)?;
    }
    if expired > REMOVED_MAX {
        return Ok(true);
    }
    merge(tx, owner, &heads[expired..])
}

/// Removes blocks of any owner whose newest call is older than `since`.
pub(super) fn prune(tx: &mut Tx<'_>, since: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM call_payloads WHERE id IN
         (SELECT id FROM call_payloads WHERE last_at < ?1 ORDER BY last_at LIMIT ?2)",
        values![since, REMOVED_MAX],
    )
}

/// How many of the oldest blocks are not kept.
fn count_expired(heads: &[PayloadHead], since: Timestamp, bytes_max: u64) -> usize {
    let mut bytes: u64 = heads.iter().map(|head| head.byte_count).sum();
    let is_expired = |head: &&PayloadHead| {
        let is_expired = head.last_at < since || bytes > bytes_max;
        bytes -= head.byte_count;
        is_expired
    };
    heads.iter().take_while(is_expired).count()
}

fn merge(tx: &mut Tx<'_>, owner: UserId, heads: &[PayloadHead]) -> Result<bool, StoreError> {
    let sizes = heads.iter().map(|head| {
        let bytes = usize::try_from(head.byte_count).unwrap_or(usize::MAX);
        bytes.div_ceil(PAYLOAD_ROW_BYTES)
    });
    let chosen = choose_merge(&sizes.collect::<Vec<_>>());
    let mut payloads = Vec::new();
    for position in &chosen {
        let block = heads[*position].id;
        match read(tx, block)? {
            Some(Ok(mut read)) => payloads.append(&mut read),
            // A server with a newer version of svc wrote the block, and will merge it.
            Some(Err(BlockError::Version(_))) => return Ok(false),
            Some(Err(error)) => tracing::error!(target: crate::LOG_TARGET, block = %block,
                "removed a damaged block of recorded payloads: {error}"
            ),
            None => {}
        }
    }
    for position in &chosen {
        remove(tx, heads[*position].id)?;
    }
    append(tx, owner, payloads)?;
    Ok(!chosen.is_empty())
}

fn remove(tx: &mut Tx<'_>, id: Id) -> Result<(), StoreError> {
    tx.send("DELETE FROM call_payloads WHERE id = ?1", values![id])
}
