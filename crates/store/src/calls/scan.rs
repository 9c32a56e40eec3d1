//! Finds calls. A page reads a bounded number of blocks, so it can have a cursor but no calls.

use std::cmp::Reverse;

use svc_core::{
    Id, SpaceId, Timestamp, UserId,
    journal::{CallEnd, CallRow, CallVia, decode, first_id_at, time_of},
};

use super::{BlockHead, MANY_CALLERS, read_blocks};
use crate::{
    error::StoreError,
    page::PageRequest,
    sql::{Tx, values},
};

/// The maximum number of blocks that one page reads.
const BLOCKS_MAX: usize = 1_000;
/// After this many rows, a page reads no further blocks.
const ROWS_MAX: usize = 200_000;
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

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundCall {
    pub owner: UserId,
    pub row: CallRow,
}

/// Calls, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallPage {
    pub calls: Vec<FoundCall>,
    pub next_cursor: Option<String>,
    /// Whether calls are missing: so many blocks have calls of the same time that one page cannot
    /// read all of them.
    pub incomplete: bool,
}

/// Finds a call, if the reader may see it.
pub fn find(tx: &mut Tx<'_>, reach: Reach, id: Id) -> Result<Option<FoundCall>, StoreError> {
    let at = time_of(id);
    let filter = CallFilter {
        id: Some(id),
        since: Some(at),
        until: Some(at),
        ..CallFilter::default()
    };
    let page = list(tx, reach, &filter, PageRequest::default())?;
    Ok(page.calls.into_iter().next())
}

pub fn list(
    tx: &mut Tx<'_>,
    reach: Reach,
    filter: &CallFilter,
    page: PageRequest,
) -> Result<CallPage, StoreError> {
    let limit = page.rows() as usize - 1;
    let after_until = filter
        .until
        .map(|until| first_id_at(Timestamp(until.0.saturating_add(1))));
    let before = after_until.unwrap_or(page.before()).min(page.before());
    let heads = list_blocks(tx, reach, filter, before)?;
    let mut scan = Scan {
        reach,
        filter,
        before,
        limit,
        found: Vec::new(),
    };
    let readable = heads.len().min(BLOCKS_MAX);
    let (mut read, mut rows, mut step) = (0, 0, 1);
    while read < readable && rows < ROWS_MAX && !scan.is_full(heads.get(read)) {
        let blocks = &heads[read..(read + step).min(readable)];
        scan.read(tx, blocks)?;
        read += blocks.len();
        rows += blocks.iter().map(|head| head.row_count).sum::<usize>();
        step = (step * 2).min(STEP_MAX);
    }
    Ok(scan.finish(heads.get(read)))
}

struct Scan<'a> {
    reach: Reach,
    filter: &'a CallFilter,
    /// Only calls with smaller ids are found.
    before: Id,
    limit: usize,
    /// Newest first; at most one more than `limit`.
    found: Vec<(Id, FoundCall)>,
}

impl Scan<'_> {
    fn read(&mut self, tx: &mut Tx<'_>, blocks: &[BlockHead]) -> Result<(), StoreError> {
        let ids: Vec<_> = blocks.iter().map(|head| head.id).collect();
        for (id, data) in read_blocks(tx, &ids)? {
            let Some(head) = blocks.iter().find(|head| head.id == id) else {
                continue;
            };
            match decode(&data) {
                Ok(rows) => self.add(head.owner_id, rows),
                Err(error) => tracing::error!(target: crate::LOG_TARGET, block = %id,
                    "cannot read a block of the call journal: {error}"
                ),
            }
        }
        Ok(())
    }

    fn add(&mut self, owner: UserId, rows: Vec<CallRow>) {
        for row in rows {
            if !self.matches(owner, &row) {
                continue;
            }
            let id = row.id();
            if id < self.before && self.filter.id.is_none_or(|wanted| wanted == id) {
                self.found.push((id, FoundCall { owner, row }));
            }
        }
        self.found.sort_unstable_by_key(|(id, _)| Reverse(*id));
        self.found.truncate(self.limit + 1);
    }

    fn matches(&self, owner: UserId, row: &CallRow) -> bool {
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
    }

    /// Whether the page is full of calls that are newer than all blocks that were not read.
    fn is_full(&self, next: Option<&BlockHead>) -> bool {
        let last = self.found.get(self.limit);
        last.is_some_and(|(id, _)| next.is_none_or(|next| time_of(*id) > next.last_at))
    }

    fn finish(mut self, next: Option<&BlockHead>) -> CallPage {
        let is_full = self.is_full(next);
        let Some(next) = next.filter(|_| !is_full) else {
            return self.page(None);
        };
        // The next block may have calls that are newer than calls that were found. So only calls
        // that are newer than its newest call stay on this page.
        let cursor = first_id_at(Timestamp(next.last_at.0.saturating_add(1)));
        if cursor < self.before {
            self.found.retain(|(id, _)| *id >= cursor);
            return self.page(Some(cursor));
        }
        CallPage {
            incomplete: true,
            ..self.page(None)
        }
    }

    /// The page of the calls that were found. If there are more of them than fit on a page, the
    /// next page begins after the last call on this page; otherwise it begins at `cursor`.
    fn page(mut self, cursor: Option<Id>) -> CallPage {
        let is_more = self.found.len() > self.limit;
        self.found.truncate(self.limit);
        let last = self.found.last().map(|(id, _)| *id);
        let cursor = if is_more { last } else { cursor };
        CallPage {
            next_cursor: cursor.map(|id| id.to_string()),
            calls: self.found.into_iter().map(|(_, call)| call).collect(),
            incomplete: false,
        }
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

/// The blocks that may have matching calls, those with the newest calls first.
fn list_blocks(
    tx: &mut Tx<'_>,
    reach: Reach,
    filter: &CallFilter,
    before: Id,
) -> Result<Vec<BlockHead>, StoreError> {
    let (until, since) = (time_of(before), filter.since.unwrap_or(Timestamp(0)));
    let limit = BLOCKS_MAX + 1;
    let mut heads: Vec<BlockHead> = Vec::new();
    let of_owner = |tx: &mut Tx<'_>, owner: UserId| {
        tx.list(
            "SELECT id, owner_id, last_at, row_count FROM call_blocks
             WHERE owner_id = ?1 AND last_at >= ?2 AND first_at <= ?3
             ORDER BY last_at DESC LIMIT ?4",
            values![owner, since, until, limit],
        )
    };
    let of_caller = |tx: &mut Tx<'_>, caller: UserId| {
        tx.list(
            "SELECT b.id AS id, b.owner_id AS owner_id, b.last_at AS last_at,
                b.row_count AS row_count
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
            heads = tx.list(
                "SELECT id, owner_id, last_at, row_count FROM call_blocks
                 WHERE last_at >= ?1 AND first_at <= ?2 ORDER BY last_at DESC LIMIT ?3",
                values![since, until, limit],
            )?;
        }
    }
    heads.sort_unstable_by_key(|head| (Reverse(head.last_at), head.id));
    heads.dedup_by_key(|head| head.id);
    heads.truncate(limit);
    Ok(heads)
}
