//! The call journal: blocks of packed rows, one list of blocks for each owner of methods.

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
    journal::{BLOCK_ROWS_MAX, CallRow, encode},
};
use uuid::Uuid;

use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// The maximum number of callers that are listed for a block.
const CALLERS_MAX: usize = 32;
/// Listed instead of the callers, if a block has more than [`CALLERS_MAX`] of them.
const MANY_CALLERS: UserId = UserId::NIL;

/// A block without its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BlockHead {
    id: Id,
    owner_id: UserId,
    first_at: Timestamp,
    last_at: Timestamp,
    row_count: usize,
    /// Whether the block holds rows that were kept when their blocks were removed.
    kept: bool,
}

row! { BlockHead: id, owner_id, first_at, last_at, row_count, kept }

/// Writes calls of one owner's methods. If the owner was deleted, discards the calls. Returns
/// whether the owner exists.
pub fn append(tx: &mut Tx<'_>, owner: UserId, mut rows: Vec<CallRow>) -> Result<bool, StoreError> {
    if !tx.exists("SELECT id FROM users WHERE id = ?1", values![owner])? {
        return Ok(false);
    }
    rows.sort_unstable_by_key(CallRow::id);
    for rows in rows.chunks(BLOCK_ROWS_MAX) {
        insert_block(tx, owner, rows, false)?;
    }
    Ok(true)
}

/// Inserts rows, which are in the order of their ids, as one block.
fn insert_block(
    tx: &mut Tx<'_>,
    owner: UserId,
    rows: &[CallRow],
    kept: bool,
) -> Result<(), StoreError> {
    let times = rows.iter().map(|row| row.at);
    let (Some(first_at), Some(last_at)) = (times.clone().min(), times.max()) else {
        return Ok(());
    };
    let id = Id(Uuid::now_v7());
    tx.send(
        "INSERT INTO call_blocks (id, owner_id, first_at, last_at, row_count, data, kept)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![id, owner, first_at, last_at, rows.len(), encode(rows), kept],
    )?;
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
            values![caller, last_at, id],
        )?;
    }
    Ok(())
}

/// The packed rows of blocks, in any order.
fn read_blocks(tx: &mut Tx<'_>, ids: &[Id]) -> Result<Vec<(Id, Vec<u8>)>, StoreError> {
    let mut conditions = crate::conditions::Conditions::default();
    conditions.add_in_padded("id", ids);
    let sql = format!(
        "SELECT id, data FROM call_blocks {}",
        conditions.where_clause()
    );
    tx.list(&sql, &conditions.values)
}
