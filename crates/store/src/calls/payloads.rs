//! Recorded params and answers, in blocks of their own. A block is found by its owner and the times
//! of its calls.

mod maintenance;

pub(super) use maintenance::maintain;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{
        BlockError, CallPayload, PAYLOAD_BLOCK_BYTES, decode_payloads, encode_payloads, time_of,
    },
};
use uuid::Uuid;

use super::maintenance::REMOVED_MAX;
use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// A block without its payloads.
struct PayloadHead {
    id: Id,
    first_at: Timestamp,
    last_at: Timestamp,
    byte_count: u64,
    /// Whether the block holds payloads that were kept when their blocks were removed.
    kept: bool,
}

row! { PayloadHead: id, first_at, last_at, byte_count, kept }

/// Writes payloads of one owner's calls. The owner must exist.
pub fn append(
    tx: &mut Tx<'_>,
    owner: UserId,
    payloads: Vec<CallPayload>,
) -> Result<(), StoreError> {
    insert_all(tx, owner, payloads, false)
}

fn insert_all(
    tx: &mut Tx<'_>,
    owner: UserId,
    mut payloads: Vec<CallPayload>,
    kept: bool,
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
        insert(tx, owner, block, kept)?;
        rest = later;
    }
    Ok(())
}

/// Inserts payloads, which are in the order of their ids, as one block.
fn insert(
    tx: &mut Tx<'_>,
    owner: UserId,
    payloads: &[CallPayload],
    kept: bool,
) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (payloads.first(), payloads.last()) else {
        return Ok(());
    };
    let data = encode_payloads(payloads);
    tx.send(
        "INSERT INTO call_payloads (id, owner_id, first_at, last_at, byte_count, data, kept)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            Id(Uuid::now_v7()),
            owner,
            time_of(first.id),
            time_of(last.id),
            data.len(),
            data,
            kept
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

/// Removes blocks of any owner whose newest call is older than `since`.
pub(super) fn prune(tx: &mut Tx<'_>, since: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM call_payloads WHERE id IN
         (SELECT id FROM call_payloads WHERE last_at < ?1 ORDER BY last_at LIMIT ?2)",
        values![since, REMOVED_MAX],
    )
}

fn remove(tx: &mut Tx<'_>, id: Id) -> Result<(), StoreError> {
    tx.send("DELETE FROM call_payloads WHERE id = ?1", values![id])
}
