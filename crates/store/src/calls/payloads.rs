//! Recorded params and answers, in blocks of their own. A block is found by its owner and the times
//! of its calls.

mod maintenance;

pub(super) use maintenance::maintain;

use svc_core::{
    Id, UserId,
    journal::{
        BlockError, CallPayload, PAYLOAD_BLOCK_BYTES, PAYLOAD_ROW_BYTES, decode_payloads,
        encode_payloads, time_of,
    },
};

use super::blocks::{Entry, insert_all, read_packed};
use crate::{
    error::StoreError,
    sql::{Tx, values},
};

impl Entry for CallPayload {
    const TABLE: &'static str = "call_payloads";
    const SIZE: &'static str = "byte_count";
    const BLOCK: &'static str = "a block of recorded payloads";

    fn id(&self) -> Id {
        self.id
    }

    fn encode(payloads: &[Self]) -> Vec<u8> {
        encode_payloads(payloads)
    }

    fn decode(block: &[u8]) -> Result<Vec<Self>, BlockError> {
        decode_payloads(block)
    }

    fn count_fitting(payloads: &[Self]) -> usize {
        let mut bytes = 0;
        let fitting = payloads.iter().take_while(|payload| {
            let is_first = bytes == 0;
            bytes += payload.bytes();
            is_first || bytes <= PAYLOAD_BLOCK_BYTES
        });
        fitting.count()
    }

    fn size(_: &[Self], data: &[u8]) -> usize {
        data.len()
    }

    fn rows(size: u64) -> usize {
        match usize::try_from(size) {
            Ok(bytes) if bytes <= PAYLOAD_BLOCK_BYTES / 2 => bytes.div_ceil(PAYLOAD_ROW_BYTES),
            // Two such blocks may not fit into one, so merging would never end.
            _ => usize::MAX,
        }
    }
}

/// Writes payloads of one owner's calls. The owner must exist.
pub fn append(
    tx: &mut Tx<'_>,
    owner: UserId,
    payloads: Vec<CallPayload>,
) -> Result<(), StoreError> {
    insert_all(tx, owner, payloads, false)
}

/// The recorded payloads of a call.
pub fn find(tx: &mut Tx<'_>, owner: UserId, id: Id) -> Result<Option<CallPayload>, StoreError> {
    let at = time_of(id);
    let blocks: Vec<Id> = tx.list(
        "SELECT id FROM call_payloads WHERE owner_id = ?1 AND last_at >= ?2 AND first_at <= ?2",
        values![owner, at],
    )?;
    for block in blocks {
        for (_, data) in read_packed::<CallPayload>(tx, &[block])? {
            match decode_payloads(&data) {
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
    }
    Ok(None)
}
