//! The history, newest first. Ids and sizes are read first, then only the events that fit on the
//! page, so that a page takes little more memory than its bytes.

use std::collections::BTreeSet;

use svc_core::{Id, Timestamp, pattern::Pattern};
use svc_protocol::api::EventRecord;
use uuid::Uuid;

use super::{
    Filter,
    window::{self, Order},
};
use crate::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest, SizedWindow, rows_by_id},
    record::record,
    sql::{Row, Tx},
    value::Value,
};

record! {
    EventRecord in "events": event_id as "id", event_type as "type", event_ts as "ts", owner_id,
    space_id, actor, data
}

/// One statement reads at most this many events.
const WINDOW: u32 = 2_000;
/// The maximum number of windows of one page. They fill the page if the filter matches many events.
/// Events of rare types are found by an index.
const WINDOWS_MAX: usize = 10;
/// The maximum number of types that are read by an index, one by one.
const TYPES_MAX: usize = 100;

/// Lists the events that match a filter, newest first. If few events match, a page may have fewer
/// events than its limit, or none, and still have a cursor.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<EventRecord>, StoreError> {
    let window = match is_narrow(filter) {
        true => WINDOW,
        false => page.rows(),
    };
    let mut windows = 0;
    page.read_windows(tx, WINDOWS_MAX, |tx, before, missing| {
        windows += 1;
        // The first window did not fill the page, so few of the newest events match.
        if windows == 2
            && let Some(types) = list_types(tx, filter)?
        {
            let sizes = list_older(tx, filter, &types, before, missing)?;
            return Ok(SizedWindow { sizes, last: None });
        }
        let between = (Id(Uuid::nil()), before);
        let found = window::read(tx, filter, between, Order::NewestFirst, window)?;
        let sizes = found.rows.into_iter().map(|row| (row.id, row.bytes));
        Ok(SizedWindow {
            sizes: sizes.collect(),
            last: found.last,
        })
    })
}

/// Whether some events of a window may not match.
fn is_narrow(filter: &Filter) -> bool {
    !matches_all(&filter.patterns) || filter.space.is_some() || filter.undelivered_by.is_some()
}

/// The times of the events that match the filter, newest first. Reads at most the newest `read_max`
/// events. If there may be more, also returns the time of the oldest event that was read.
pub fn list_times(
    tx: &mut Tx<'_>,
    filter: &Filter,
    read_max: u32,
) -> Result<(Vec<Timestamp>, Option<Timestamp>), StoreError> {
    let (mut times, mut position, mut left) = (Vec::new(), Some(Id(Uuid::max())), read_max);
    while let Some(before) = position.filter(|_| left > 0) {
        let between = (Id(Uuid::nil()), before);
        let limit = left.min(WINDOW);
        let window = window::read(tx, filter, between, Order::NewestFirst, limit)?;
        times.extend(window.rows.iter().map(|row| written_at(row.id)));
        position = window.last;
        left -= limit;
    }
    Ok((times, position.map(written_at)))
}

/// When an event was written: the first 48 bits of its id.
fn written_at(id: Id) -> Timestamp {
    Timestamp(i64::try_from(id.0.as_u128() >> 80).unwrap_or(i64::MAX))
}

fn matches_all(patterns: &[Pattern]) -> bool {
    let is_everything = |pattern: &Pattern| matches!(pattern, Pattern::Prefix(p) if p.is_empty());
    patterns.is_empty() || patterns.iter().any(is_everything)
}

/// Whether a type matches one of the patterns of a filter.
pub(super) fn matches_patterns(filter: &Filter, event_type: &str) -> bool {
    let matches = |pattern: &Pattern| pattern.matches(event_type);
    matches_all(&filter.patterns) || filter.patterns.iter().any(matches)
}

/// The stored types that match the patterns of a filter. `None` if there are too many, or if the
/// filter has a condition that the indexes of types do not have.
fn list_types(tx: &mut Tx<'_>, filter: &Filter) -> Result<Option<BTreeSet<String>>, StoreError> {
    if matches_all(&filter.patterns) || filter.space.is_some() || filter.undelivered_by.is_some() {
        return Ok(None);
    }
    let mut types = BTreeSet::new();
    for pattern in &filter.patterns {
        let prefix = match pattern {
            Pattern::Exact(exact) => {
                types.insert(exact.clone());
                continue;
            }
            Pattern::Prefix(prefix) => prefix,
        };
        let mut next = Some((prefix.clone(), ">="));
        while let Some((from, comparison)) = next {
            if types.len() > TYPES_MAX {
                return Ok(None);
            }
            let (sql, values) = next_type_sql(filter, (&from, comparison), prefix);
            let found: Option<String> = tx.find(&sql, &values)?;
            next = found.clone().map(|found| (found, ">"));
            types.extend(found);
        }
    }
    Ok(Some(types).filter(|types| types.len() <= TYPES_MAX))
}

/// Selects the first type from `from` on that begins with `prefix`.
fn next_type_sql(
    filter: &Filter,
    (from, comparison): (&str, &str),
    prefix: &str,
) -> (String, Vec<Value>) {
    let mut conditions = Conditions::default();
    conditions.add_some("owner_id = ?", filter.owner);
    conditions.add(&format!("type {comparison} ?"), from);
    conditions.add("type < ?", format!("{prefix}\u{7f}"));
    let sql = format!(
        "SELECT type FROM events WHERE {} ORDER BY type LIMIT 1",
        conditions.sql
    );
    (sql, conditions.values)
}

/// Ids and sizes of the newest events before `before` that have one of these types; at most
/// `missing`.
fn list_older(
    tx: &mut Tx<'_>,
    filter: &Filter,
    types: &BTreeSet<String>,
    before: Id,
    missing: usize,
) -> Result<Vec<(Id, u64)>, StoreError> {
    let mut older = BTreeSet::new();
    for event_type in types {
        let (sql, values) = older_sql(filter, event_type, before, missing);
        older.extend(tx.list::<Id>(&sql, &values)?);
    }
    let ids: Vec<_> = older.into_iter().rev().take(missing).collect();
    let select = "SELECT id, octet_length(data) AS bytes FROM events";
    let sizes = rows_by_id(tx, select, &ids)?;
    let size = |row: &Row| Ok((row.get("id")?, row.get("bytes")?));
    sizes.iter().map(size).collect()
}

/// Selects ids of events of one type, newest first. The index has all columns, so every event that
/// is read matches.
fn older_sql(filter: &Filter, event_type: &str, before: Id, limit: usize) -> (String, Vec<Value>) {
    let (after, before) = window::bounds(filter, (Id(Uuid::nil()), before), Order::NewestFirst);
    let mut conditions = Conditions::new("type = ?", event_type);
    conditions.add_some("owner_id = ?", filter.owner);
    conditions.add("id > ?", after);
    conditions.add("id < ?", before);
    let limit = conditions.placeholder(limit);
    let sql = format!(
        "SELECT id FROM events WHERE {} ORDER BY id DESC LIMIT {limit}",
        conditions.sql
    );
    (sql, conditions.values)
}

#[cfg(test)]
mod tests;
