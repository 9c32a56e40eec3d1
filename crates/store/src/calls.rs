//! The call journal: blocks of packed rows, one list of blocks for each owner of methods.

mod blocks;
mod maintenance;
mod payloads;
mod scan;
mod search;

pub use maintenance::{KeepRule, maintain, prune};
pub use payloads::{append as append_payloads, find as find_payload};
pub use scan::{CallPage, Coverage, FoundCall, find, list, visit};
pub use search::{CallFilter, Reach};

use std::collections::HashSet;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{BLOCK_ROWS_MAX, BlockError, CallRow, decode, encode},
};

use self::blocks::{Entry, insert_all};
use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of callers that are listed for a block.
const CALLERS_MAX: usize = 32;
/// Listed instead of the callers, if a block has more than [`CALLERS_MAX`] of them.
const MANY_CALLERS: UserId = UserId::NIL;

/// Writes calls of one owner's methods. If the owner was deleted, discards the calls. Returns
/// whether the owner exists.
pub fn append(tx: &mut Tx<'_>, owner: UserId, rows: Vec<CallRow>) -> Result<bool, StoreError> {
    if !tx.exists("SELECT id FROM users WHERE id = ?1", values![owner])? {
        return Ok(false);
    }
    insert_all(tx, owner, rows, false)?;
    Ok(true)
}

impl Entry for CallRow {
    const TABLE: &'static str = "call_blocks";
    const SIZE: &'static str = "row_count";
    const BLOCK: &'static str = "a block of the call journal";

    fn id(&self) -> Id {
        self.id()
    }

    fn encode(rows: &[Self]) -> Vec<u8> {
        encode(rows)
    }

    fn decode(block: &[u8]) -> Result<Vec<Self>, BlockError> {
        decode(block)
    }

    fn count_fitting(rows: &[Self]) -> usize {
        rows.len().min(BLOCK_ROWS_MAX)
    }

    fn size(rows: &[Self], _: &[u8]) -> usize {
        rows.len()
    }

    fn index(
        tx: &mut Tx<'_>,
        (block, last_at): (Id, Timestamp),
        rows: &[Self],
    ) -> Result<(), StoreError> {
        let mut callers = HashSet::new();
        for row in rows {
            callers.insert(row.caller);
            if callers.len() > CALLERS_MAX {
                callers = HashSet::from([MANY_CALLERS]);
                break;
            }
        }
        for caller in callers {
            tx.send(
                "INSERT INTO call_block_callers (user_id, last_at, block_id) VALUES (?1, ?2, ?3)",
                values![caller, last_at, block],
            )?;
        }
        Ok(())
    }

    fn rows(size: u64) -> usize {
        usize::try_from(size).unwrap_or(usize::MAX)
    }
}
