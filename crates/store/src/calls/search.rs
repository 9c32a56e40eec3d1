//! Which calls a search finds, and which blocks it reads.

use std::cmp::Reverse;

use svc_core::{
    Id, SpaceId, Timestamp, UserId,
    journal::{CallEnd, CallRow, CallVia, decode, first_id_at, time_of},
};

use super::{
    MANY_CALLERS,
    blocks::{self, Head, read_packed},
};
use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// The maximum number of blocks that one request reads.
const BLOCKS_MAX: usize = 1_000;
/// After this many rows, a request reads no further blocks.
const ROWS_MAX: u64 = 200_000;
/// The maximum number of blocks that are read at a time.
const STEP_MAX: usize = 16;

/// The calls that a reader may find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    All,
    /// Calls of this user, and calls of the user's methods.
    Of(UserId),
}

/// A call must match every value that is set.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CallFilter {
    pub id: Option<Id>,
    pub owner: Option<UserId>,
    pub caller: Option<UserId>,
    pub method: Option<String>,
    pub space: Option<SpaceId>,
    pub end: Option<CallEnd>,
    pub code: Option<i32>,
    pub via: Option<CallVia>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
    pub duration_us_min: Option<u32>,
}

/// A search for calls of one reader.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    reach: Reach,
    filter: &'a CallFilter,
    /// Only calls with smaller ids are found.
    pub(super) before: Id,
}

impl<'a> Search<'a> {
    /// Only calls with ids below `before` are found.
    pub(super) fn new(reach: Reach, filter: &'a CallFilter, before: Id) -> Self {
        let after_until = filter
            .until
            .map(|until| first_id_at(Timestamp(until.0.saturating_add(1))));
        Self {
            reach,
            filter,
            before: after_until.unwrap_or(before).min(before),
        }
    }

    pub(super) fn matches(&self, owner: UserId, row: &CallRow) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, value: T) -> bool {
            wanted.is_none_or(|wanted| wanted == value)
        }
        let filter = self.filter;
        let is_in_reach = match self.reach {
            Reach::All => true,
            Reach::Of(user) => owner == user || row.caller == user,
        };
        is_in_reach
            && is(filter.owner, owner)
            && is(filter.caller, row.caller)
            && is(filter.end, row.end)
            && is(filter.code, row.code)
            && is(filter.via, row.via)
            && filter.since.is_none_or(|since| row.at >= since)
            && filter
                .duration_us_min
                .is_none_or(|min| row.duration_us >= min)
            && filter
                .space
                .is_none_or(|space| row.space == Some(space) && may_see_space(self.reach, owner))
            && filter
                .method
                .as_deref()
                .is_none_or(|name| name == &*row.method)
            && row.id() < self.before
            && filter.id.is_none_or(|id| row.id() == id)
    }
}

/// The blocks that may have matching calls, those with the newest calls first. A request reads them
/// in steps, and at most a part of them.
pub(super) struct Blocks {
    heads: Vec<Head>,
    readable: usize,
    read: usize,
    step: usize,
}

impl Blocks {
    pub(super) fn list(tx: &mut Tx<'_>, search: Search<'_>) -> Result<Self, StoreError> {
        let heads = list_heads(tx, search)?;
        let mut rows = 0;
        let is_readable = |head: &&Head| {
            let is_readable = rows < ROWS_MAX;
            rows += head.size;
            is_readable
        };
        let readable = heads.iter().take(BLOCKS_MAX).take_while(is_readable);
        Ok(Self {
            readable: readable.count(),
            heads,
            read: 0,
            step: 1,
        })
    }

    /// The time of the newest call in the blocks that have not been read.
    pub(super) fn newest_unread(&self) -> Option<Timestamp> {
        self.heads.get(self.read).map(|head| head.last_at)
    }

    /// The time of the newest call in the blocks that this request may not read.
    pub(super) fn newest_unreadable(&self) -> Option<Timestamp> {
        self.heads.get(self.readable).map(|head| head.last_at)
    }

    /// Reads the next blocks. `false` if there were none.
    pub(super) fn read_step(
        &mut self,
        tx: &mut Tx<'_>,
        mut add: impl FnMut(UserId, Vec<CallRow>),
    ) -> Result<bool, StoreError> {
        let heads = &self.heads[self.read..(self.read + self.step).min(self.readable)];
        let ids = blocks::ids(heads);
        if ids.is_empty() {
            return Ok(false);
        }
        for (id, data) in read_packed::<CallRow>(tx, &ids)? {
            let Some(head) = heads.iter().find(|head| head.id == id) else {
                continue;
            };
            match decode(&data) {
                Ok(rows) => add(head.owner_id, rows),
                Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %id,
                    "cannot read a block of the call journal: {error}"
                ),
            }
        }
        self.read += ids.len();
        self.step = (self.step * 2).min(STEP_MAX);
        Ok(true)
    }
}

/// Whether the reader may filter calls of this owner's methods by space. A caller must not find out
/// which space of another owner answered.
fn may_see_space(reach: Reach, owner: UserId) -> bool {
    match reach {
        Reach::All => true,
        Reach::Of(user) => owner == user,
    }
}

/// The heads of the blocks that may have matching calls, those with the newest calls first.
fn list_heads(tx: &mut Tx<'_>, search: Search<'_>) -> Result<Vec<Head>, StoreError> {
    let Search { reach, filter, .. } = search;
    let (until, since) = (time_of(search.before), filter.since.unwrap_or(Timestamp(0)));
    let limit = BLOCKS_MAX + 1;
    let mut heads: Vec<Head> = Vec::new();
    let of_owner = |tx: &mut Tx<'_>, owner: UserId| {
        blocks::list::<CallRow>(
            tx,
            "WHERE owner_id = ?1 AND last_at >= ?2 AND first_at <= ?3
             ORDER BY last_at DESC LIMIT ?4",
            values![owner, since, until, limit],
        )
    };
    let of_caller = |tx: &mut Tx<'_>, caller: UserId| {
        tx.list(
            "SELECT b.id AS id, b.owner_id AS owner_id, b.first_at AS first_at,
                b.last_at AS last_at,
                b.row_count AS size, b.kept AS kept
             FROM call_block_callers c JOIN call_blocks b ON b.id = c.block_id
             WHERE c.user_id = ?1 AND c.last_at >= ?2 AND b.first_at <= ?3
             ORDER BY c.last_at DESC LIMIT ?4",
            values![caller, since, until, limit],
        )
    };
    let caller = match (reach, filter.caller, filter.owner) {
        (_, Some(caller), _) => Some(caller),
        // If the methods belong to another owner, the reader finds only calls that the reader made.
        (Reach::Of(user), None, Some(owner)) if owner != user => Some(user),
        _ => None,
    };
    match (caller, filter.owner, reach) {
        (Some(caller), _, _) => {
            heads.append(&mut of_caller(tx, caller)?);
            heads.append(&mut of_caller(tx, MANY_CALLERS)?);
        }
        (None, Some(owner), _) => heads.append(&mut of_owner(tx, owner)?),
        (None, None, Reach::Of(user)) => {
            heads.append(&mut of_owner(tx, user)?);
            heads.append(&mut of_caller(tx, user)?);
            heads.append(&mut of_caller(tx, MANY_CALLERS)?);
        }
        (None, None, Reach::All) => {
            heads = blocks::list::<CallRow>(
                tx,
                "WHERE last_at >= ?1 AND first_at <= ?2 ORDER BY last_at DESC LIMIT ?3",
                values![since, until, limit],
            )?;
        }
    }
    heads.sort_unstable_by_key(|head| (Reverse(head.last_at), head.id));
    heads.dedup_by_key(|head| head.id);
    heads.truncate(limit);
    Ok(heads)
}
