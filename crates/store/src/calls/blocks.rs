//! The statements that are alike for both kinds of blocks: blocks of rows, and blocks of payloads.

use std::time::Duration;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{BlockError, choose_merge, time_of},
};
use uuid::Uuid;

use super::KeepRule;
use crate::{
    conditions::Conditions,
    error::StoreError,
    record::row,
    sql::{Tx, values},
    value::Value,
};

/// The maximum number of expired blocks of one kind that one transaction removes.
pub(super) const REMOVED_MAX: usize = 100;
/// Kept entries are at most this part of an owner's entries.
pub(super) const KEPT_PART: u64 = 4;
/// Kept entries may come from a long time, so old ones are removed from their blocks. A kept entry
/// outlives the retention by at most this time.
const AGED_AFTER: Duration = Duration::from_secs(60 * 60);
/// The maximum number of blocks that one statement reads.
const READ_MAX: usize = 16;

/// An entry of a block: the row of a call, or the payloads of a call.
pub(super) trait Entry: Sized {
    const TABLE: &'static str;
    /// The column with the size of a block, in rows or in bytes.
    const SIZE: &'static str;
    /// A block of this kind, in log messages.
    const BLOCK: &'static str;

    /// The id of the call.
    fn id(&self) -> Id;

    fn encode(entries: &[Self]) -> Vec<u8>;

    fn decode(block: &[u8]) -> Result<Vec<Self>, BlockError>;

    /// How many of these entries become one block.
    fn count_fitting(entries: &[Self]) -> usize;

    /// The size of a new block.
    fn size(entries: &[Self], data: &[u8]) -> usize;

    /// Lists a new block in further tables.
    fn index(_: &mut Tx<'_>, _block: (Id, Timestamp), _entries: &[Self]) -> Result<(), StoreError> {
        Ok(())
    }

    /// The size of a block in rows, which decides whether the block is merged.
    fn rows(size: u64) -> usize;
}

/// A block without its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) id: Id,
    pub(super) owner_id: UserId,
    pub(super) first_at: Timestamp,
    pub(super) last_at: Timestamp,
    /// The number of rows, or the bytes of payloads.
    pub(super) size: u64,
    /// Whether the block holds entries that were kept when their blocks were removed.
    pub(super) kept: bool,
}

row! { Head: id, owner_id, first_at, last_at, size, kept }

/// The heads of the blocks that `rest` selects.
pub(super) fn list<E: Entry>(
    tx: &mut Tx<'_>,
    rest: &str,
    values: &[Value],
) -> Result<Vec<Head>, StoreError> {
    let (table, size) = (E::TABLE, E::SIZE);
    let columns = format!("id, owner_id, first_at, last_at, {size} AS size, kept");
    tx.list(&format!("SELECT {columns} FROM {table} {rest}"), values)
}

pub(super) fn ids(heads: &[Head]) -> Vec<Id> {
    heads.iter().map(|head| head.id).collect()
}

/// The size of blocks together.
pub(super) fn size(heads: &[Head]) -> u64 {
    heads.iter().map(|head| head.size).sum()
}

/// How many of the first blocks are not larger than `max` together; at least 1.
pub(super) fn count_within(heads: &[Head], max: u64) -> usize {
    let mut size = 0;
    let is_within = |head: &&Head| {
        size += head.size;
        size <= max
    };
    heads.iter().take_while(is_within).count().max(1)
}

/// Writes entries as blocks of one owner.
pub(super) fn insert_all<E: Entry>(
    tx: &mut Tx<'_>,
    owner: UserId,
    mut entries: Vec<E>,
    kept: bool,
) -> Result<(), StoreError> {
    entries.sort_unstable_by_key(E::id);
    let (table, size) = (E::TABLE, E::SIZE);
    let sql = format!(
        "INSERT INTO {table} (id, owner_id, first_at, last_at, {size}, data, kept)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    );
    let mut rest = entries.as_slice();
    while let [first, ..] = rest {
        let (block, later) = rest.split_at(E::count_fitting(rest));
        let first_at = time_of(first.id());
        let last_at = block.last().map_or(first_at, |last| time_of(last.id()));
        let (id, data) = (Id(Uuid::now_v7()), E::encode(block));
        let size = E::size(block, &data);
        tx.send(
            &sql,
            values![id, owner, first_at, last_at, size, data, kept],
        )?;
        E::index(tx, (id, last_at), block)?;
        rest = later;
    }
    Ok(())
}

/// The packed entries of blocks, in any order.
pub(super) fn read_packed<E: Entry>(
    tx: &mut Tx<'_>,
    ids: &[Id],
) -> Result<Vec<(Id, Vec<u8>)>, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_in_padded("id", ids);
    let where_clause = conditions.where_clause();
    let sql = format!("SELECT id, data FROM {} {where_clause}", E::TABLE);
    tx.list(&sql, &conditions.values)
}

/// The entries of blocks, in the order of their ids. Also returns the ids of blocks of another
/// version, which a newer server wrote.
pub(super) fn read<E: Entry>(tx: &mut Tx<'_>, ids: &[Id]) -> Result<(Vec<E>, Vec<Id>), StoreError> {
    let (mut entries, mut unknown) = (Vec::new(), Vec::new());
    for ids in ids.chunks(READ_MAX) {
        for (id, data) in read_packed::<E>(tx, ids)? {
            match E::decode(&data) {
                Ok(mut decoded) => entries.append(&mut decoded),
                Err(BlockError::Version(_)) => unknown.push(id),
                Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %id,
                    "{} is damaged: {error}", E::BLOCK
                ),
            }
        }
    }
    entries.sort_unstable_by_key(E::id);
    Ok((entries, unknown))
}

/// Removes kept blocks, and returns their entries. A block of another version counts as recent from
/// now on. So it stays until it is the oldest of too many, as any recent block.
pub(super) fn take_kept<E: Entry>(tx: &mut Tx<'_>, ids: &[Id]) -> Result<Vec<E>, StoreError> {
    let (entries, unknown) = read::<E>(tx, ids)?;
    let keep = format!("UPDATE {} SET kept = 0 WHERE id = ?1", E::TABLE);
    for id in ids {
        match unknown.contains(id) {
            true => tx.send(&keep, values![*id])?,
            false => remove::<E>(tx, *id)?,
        }
    }
    Ok(entries)
}

pub(super) fn remove<E: Entry>(tx: &mut Tx<'_>, id: Id) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM {} WHERE id = ?1", E::TABLE);
    tx.send(&sql, values![id])
}

/// The blocks that are left: kept ones and recent ones.
type Remaining = (Vec<Head>, Vec<Head>);

/// Of an owner's blocks, removes those whose newest entry is from before `since`, and the expired
/// entries of kept blocks. Returns the other blocks; `None` if more such work may be left.
pub(super) fn remove_old<E: Entry>(
    tx: &mut Tx<'_>,
    owner: UserId,
    heads: Vec<Head>,
    since: Timestamp,
    keep: KeepRule,
) -> Result<Option<Remaining>, StoreError> {
    let (old, heads): (Vec<_>, Vec<_>) = heads.into_iter().partition(|head| head.last_at < since);
    for head in old.iter().take(REMOVED_MAX) {
        remove::<E>(tx, head.id)?;
    }
    if old.len() > REMOVED_MAX {
        return Ok(None);
    }
    let (kept, recent): (Vec<_>, Vec<_>) = heads.into_iter().partition(|head| head.kept);
    let aged = keep.since.minus(AGED_AFTER);
    if let Some(aged) = kept.iter().find(|head| head.first_at < aged) {
        let mut entries: Vec<E> = take_kept(tx, &[aged.id])?;
        entries.retain(|entry| time_of(entry.id()) >= keep.since);
        insert_all(tx, owner, entries, true)?;
        return Ok(None);
    }
    Ok(Some((kept, recent)))
}

/// Merges small blocks, which are all kept or all recent. Blocks of another version are left to the
/// servers that can read them.
pub(super) fn merge<E: Entry>(
    tx: &mut Tx<'_>,
    owner: UserId,
    mut heads: Vec<Head>,
) -> Result<bool, StoreError> {
    loop {
        let rows: Vec<_> = heads.iter().map(|head| E::rows(head.size)).collect();
        let chosen = choose_merge(&rows);
        let Some(first) = chosen.first() else {
            return Ok(false);
        };
        let ids: Vec<_> = chosen.iter().map(|at| heads[*at].id).collect();
        let (entries, unknown) = read::<E>(tx, &ids)?;
        if unknown.is_empty() {
            for id in ids {
                remove::<E>(tx, id)?;
            }
            insert_all(tx, owner, entries, heads[*first].kept)?;
            return Ok(true);
        }
        heads.retain(|head| !unknown.contains(&head.id));
    }
}

/// Removes blocks of any owner whose newest call is older than `since`. Returns their number.
pub(super) fn prune<E: Entry>(tx: &mut Tx<'_>, since: Timestamp) -> Result<usize, StoreError> {
    let table = E::TABLE;
    let sql = format!(
        "DELETE FROM {table} WHERE id IN
         (SELECT id FROM {table} WHERE last_at < ?1 ORDER BY last_at LIMIT ?2)"
    );
    tx.count_changes(&sql, values![since, REMOVED_MAX])
}
