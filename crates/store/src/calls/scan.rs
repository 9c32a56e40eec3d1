//! Lists and visits calls. A page reads a bounded number of blocks, so it can have a cursor but no
//! calls.

use std::cmp::Reverse;

use svc_core::{
    Id, Timestamp, UserId,
    journal::{CallRow, first_id_at, time_of},
};

use super::search::{Blocks, CallFilter, Reach, Search};
use crate::{error::StoreError, page::PageRequest, sql::Tx};

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
    let search = Search::new(reach, filter, page.before());
    let mut blocks = Blocks::list(tx, search)?;
    let mut scan = Scan {
        search,
        limit: page.rows() as usize - 1,
        found: Vec::new(),
    };
    while !scan.is_full(blocks.newest_unread())
        && blocks.read_step(tx, |owner, rows| scan.add(owner, rows))?
    {}
    Ok(scan.finish(blocks.newest_unread()))
}

/// Which matching calls [`visit`] visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    All,
    /// All calls since this time, and no older call.
    Since(Timestamp),
    /// An unknown part: so many blocks have calls of the same time that one request cannot read all
    /// of them.
    Part,
}

/// Visits matching calls, each once and in any order. Reads at most as many rows as a page.
pub fn visit(
    tx: &mut Tx<'_>,
    reach: Reach,
    filter: &CallFilter,
    mut add: impl FnMut(&CallRow),
) -> Result<Coverage, StoreError> {
    let search = Search::new(reach, filter, PageRequest::default().before());
    let mut blocks = Blocks::list(tx, search)?;
    let coverage = match blocks.newest_unreadable().map(next_millisecond) {
        None => Coverage::All,
        Some(since) if first_id_at(since) < search.before => Coverage::Since(since),
        Some(_) => Coverage::Part,
    };
    let since = match coverage {
        Coverage::Since(since) => since,
        Coverage::All | Coverage::Part => Timestamp(0),
    };
    while blocks.read_step(tx, |owner, rows| {
        let matching = |row: &&CallRow| row.at >= since && search.matches(owner, row);
        rows.iter().filter(matching).for_each(&mut add);
    })? {}
    Ok(coverage)
}

fn next_millisecond(at: Timestamp) -> Timestamp {
    Timestamp(at.0.saturating_add(1))
}

struct Scan<'a> {
    search: Search<'a>,
    limit: usize,
    /// Newest first; at most one more than `limit`.
    found: Vec<(Id, FoundCall)>,
}

impl Scan<'_> {
    fn add(&mut self, owner: UserId, rows: Vec<CallRow>) {
        for row in rows {
            if self.search.matches(owner, &row) {
                self.found.push((row.id(), FoundCall { owner, row }));
            }
        }
        self.found.sort_unstable_by_key(|(id, _)| Reverse(*id));
        self.found.truncate(self.limit + 1);
    }

    /// Whether the page is full of calls that are newer than all blocks that were not read.
    fn is_full(&self, newest_unread: Option<Timestamp>) -> bool {
        let last = self.found.get(self.limit);
        last.is_some_and(|(id, _)| newest_unread.is_none_or(|unread| time_of(*id) > unread))
    }

    fn finish(mut self, newest_unread: Option<Timestamp>) -> CallPage {
        let is_full = self.is_full(newest_unread);
        let Some(unread) = newest_unread.filter(|_| !is_full) else {
            return self.page(None);
        };
        // The next block may have calls that are newer than calls that were found. So only calls
        // that are newer than its newest call stay on this page.
        let cursor = first_id_at(next_millisecond(unread));
        if cursor < self.search.before {
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
