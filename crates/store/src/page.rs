//! Pages of lists. A cursor is the last id of the previous page. Ids are UUIDv7, so their order is
//! the order in which the records were created.

use std::collections::HashMap;

use svc_core::Id;
pub use svc_protocol::api::PAGE_MAX;
use svc_protocol::api::{Listing, cursor_of};
use thiserror::Error;
use uuid::Uuid;

use super::{
    conditions::Conditions,
    error::StoreError,
    record::{Record, placeholders, select},
    records::Kept,
    sql::{Row, Tx},
    value::Value,
};

/// The default number of records on a page.
pub const PAGE_DEFAULT: u32 = 100;

/// The maximum number of bytes on a page of large records. The first record is always on the page,
/// even if it is larger. A page may have fewer records than requested.
pub(super) const PAGE_BYTES_MAX: u64 = 1024 * 1024;
/// Number of ids that one statement looks up.
const IDS_AT_ONCE: usize = 32;

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum InvalidPage {
    #[error("cursor `{0}` is not valid; use `next_cursor` of the previous page")]
    Cursor(String),
    #[error("limit is {0}; it must be between 1 and {PAGE_MAX}")]
    Limit(u32),
}

/// The request for one page of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRequest {
    after: Option<Uuid>,
    limit: u32,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self {
            after: None,
            limit: PAGE_DEFAULT,
        }
    }
}

impl PageRequest {
    /// From `?cursor=` and `?limit=`.
    pub fn parse(cursor: Option<&str>, limit: Option<u32>) -> Result<Self, InvalidPage> {
        let after = cursor
            .map(|text| Uuid::parse_str(text).map_err(|_| InvalidPage::Cursor(text.to_owned())))
            .transpose()?;
        let limit = limit.unwrap_or(PAGE_DEFAULT);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(InvalidPage::Limit(limit));
        }
        Ok(Self { after, limit })
    }

    /// For `id > ?`: the nil UUID is less than every id.
    pub(super) fn after(self) -> Id {
        Id(self.after.unwrap_or(Uuid::nil()))
    }

    /// For `id < ?`, in lists that show the newest first: the max UUID is greater than every id.
    pub(super) fn before(self) -> Id {
        Id(self.after.unwrap_or(Uuid::max()))
    }

    /// For `LIMIT ?`: one extra row shows whether there is a next page.
    pub(super) fn rows(self) -> u32 {
        self.limit + 1
    }

    /// Whether a page with this many records and bytes takes no further record.
    pub(super) fn is_full(self, records: usize, bytes: u64) -> bool {
        records >= self.limit as usize || bytes >= PAGE_BYTES_MAX
    }

    /// Removes the extra record. Sets the cursor if there was an extra record.
    pub(super) fn page<T, K: ToString>(self, mut items: Vec<T>, key: impl Fn(&T) -> K) -> Page<T> {
        let limit = self.limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items
            .last()
            .filter(|_| more)
            .map(|last| key(last).to_string());
        Page { items, next_cursor }
    }

    /// Reads a page of records that meet the conditions, oldest first. Of records that may be large,
    /// it reads the sizes first.
    pub(super) fn records<R: Kept>(
        self,
        tx: &mut Tx<'_>,
        conditions: Conditions,
    ) -> Result<Page<R>, StoreError> {
        let (rest, values) = self.oldest_first(conditions);
        if let Some(bytes) = R::SIZE {
            let sql = format!("SELECT id, {bytes} AS bytes FROM {} {rest}", R::TABLE);
            let sizes = tx.list(&sql, &values)?;
            return self.read(tx, sizes);
        }
        let records = tx.list_records(&rest, &values)?;
        Ok(self.page(records, R::id))
    }

    /// The rest of the query of a page, oldest first, and its values.
    pub(super) fn oldest_first(self, mut conditions: Conditions) -> (String, Vec<Value>) {
        conditions.add("id > ?", self.after());
        let limit = conditions.placeholder(self.rows());
        let rest = format!("WHERE {} ORDER BY id LIMIT {limit}", conditions.sql);
        (rest, conditions.values)
    }

    /// Reads a page, newest first, from at most `windows` windows. `read` gets the id before which the
    /// window begins, and how many records are missing on the page. If few records match, the page
    /// may have fewer records than its limit, or none, and still have a cursor.
    pub(super) fn read_windows<T: Record>(
        self,
        tx: &mut Tx<'_>,
        windows: usize,
        mut read: impl FnMut(&mut Tx<'_>, Id, usize) -> Result<SizedWindow, StoreError>,
    ) -> Result<Page<T>, StoreError> {
        let wanted = self.rows() as usize;
        let (mut sizes, mut position) = (Vec::new(), Some(self.before()));
        for _ in 0..windows {
            let Some(before) = position.filter(|_| sizes.len() < wanted) else {
                break;
            };
            let window = read(tx, before, wanted - sizes.len())?;
            sizes.extend(window.sizes);
            position = window.last;
        }
        let position = position.filter(|_| sizes.len() < wanted);
        let page = self.read(tx, sizes)?;
        Ok(Page {
            next_cursor: page.next_cursor.or(position.map(|last| last.to_string())),
            items: page.items,
        })
    }

    /// Of the records with these ids and sizes, reads those that fit on a page.
    pub(super) fn read<T: Record>(
        self,
        tx: &mut Tx<'_>,
        sizes: Vec<(Id, u64)>,
    ) -> Result<Page<T>, StoreError> {
        let fitting = self.page_within_bytes(sizes);
        let rows = rows_by_id(tx, &select::<T>(""), &fitting.items)?;
        Ok(Page {
            items: rows.iter().map(T::read).collect::<Result<_, _>>()?,
            next_cursor: fitting.next_cursor,
        })
    }

    /// Truncates a list of keys and sizes where the page is full. The first record always fits.
    pub(super) fn page_within_bytes<K: Clone + ToString>(self, sizes: Vec<(K, u64)>) -> Page<K> {
        let Page { items, next_cursor } = self.page(sizes, |(key, _)| key.clone());
        let all = items.len();
        let mut bytes = 0;
        let fitting: Vec<K> = items
            .into_iter()
            .enumerate()
            .take_while(|(index, (_, size))| {
                bytes += size;
                *index == 0 || bytes <= PAGE_BYTES_MAX
            })
            .map(|(_, (key, _))| key)
            .collect();
        let cut = fitting.last().filter(|_| fitting.len() < all);
        Page {
            next_cursor: cut.map(K::to_string).or(next_cursor),
            items: fitting,
        }
    }
}

/// The matching records of a window: a bounded number of records, of which some match.
pub(super) struct SizedWindow {
    /// Ids and sizes.
    pub(super) sizes: Vec<(Id, u64)>,
    /// The last record of the window, whether or not it matches. `None` if there are no further
    /// records.
    pub(super) last: Option<Id>,
}

/// The rows with these ids, in this order. `select` ends before `WHERE`, and has the column `id`.
pub(super) fn rows_by_id(
    tx: &mut Tx<'_>,
    select: &str,
    ids: &[Id],
) -> Result<Vec<Row>, StoreError> {
    let sql = format!("{select} WHERE id IN ({})", placeholders(IDS_AT_ONCE));
    let mut found = HashMap::new();
    for ids in ids.chunks(IDS_AT_ONCE) {
        // The same statement for any number of ids: the last id fills the unused placeholders.
        let filled = (0..IDS_AT_ONCE).map(|n| ids[n.min(ids.len() - 1)].into());
        let values: Vec<Value> = filled.collect();
        for row in tx.query(&sql, &values)? {
            found.insert(row.get::<Id>("id")?, row);
        }
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// One page of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last page.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(convert).collect(),
            next_cursor: self.next_cursor,
        }
    }

    /// Like [`Self::map`], for a conversion that reads more records.
    pub fn try_map<U>(
        self,
        convert: impl FnMut(T) -> Result<U, StoreError>,
    ) -> Result<Page<U>, StoreError> {
        let items = self.items.into_iter().map(convert);
        Ok(Page {
            items: items.collect::<Result<_, _>>()?,
            next_cursor: self.next_cursor,
        })
    }

    /// Converts the page to the list type that the HTTP API returns.
    pub fn into_list<L: Listing<Item = T>>(self) -> L {
        let next_cursor = self.next_cursor.map(|id| cursor_of(L::PATH, &id));
        L::from_page(self.items, next_cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_a_cursor_only_if_there_is_more() {
        let ids: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();
        let request = PageRequest::parse(None, Some(2)).expect("valid");
        let page = request.page(ids.clone(), |id| *id);
        assert_eq!(page.items, ids[..2]);
        assert_eq!(page.next_cursor, Some(ids[1].to_string()));
        let page = request.page(ids[..2].to_vec(), |id| *id);
        assert_eq!(page.next_cursor, None);
    }

    #[test]
    fn bad_cursors_and_limits_are_refused() {
        for (cursor, limit) in [(Some("x"), None), (None, Some(0)), (None, Some(1_001))] {
            assert!(
                PageRequest::parse(cursor, limit).is_err(),
                "{cursor:?} {limit:?}"
            );
        }
    }
}
