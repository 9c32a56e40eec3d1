//! The history, newest first. Ids and sizes are read first, then only the events that fit on the
//! page, so that a page takes little more memory than its bytes.

use std::collections::BTreeSet;

use svc_core::{Id, SpaceId, Timestamp, pattern::Pattern};
use svc_protocol::api::EventRecord;
use uuid::Uuid;

use super::Filter;
use crate::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest, rows_by_id},
    record::record,
    sql::{Row, Tx},
    value::Value,
};

record! {
    EventRecord in "events": event_id as "id", event_type as "type", event_ts as "ts", owner_id,
    space_id, actor, data
}

/// How many of the newest events are compared with the patterns one by one. This fills a page if
/// the patterns match many events. For rare patterns, older events are read through an index.
const NEWEST: u32 = 2_000;

/// Lists the events that match a filter, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<EventRecord>, StoreError> {
    let sizes = if matches_all(&filter.patterns) {
        let (sql, values) = newest_sql(filter, page.before(), page.rows());
        tx.query(&sql, &values)?
    } else {
        let ids = matching(tx, filter, page)?;
        rows_by_id(
            tx,
            "SELECT id, octet_length(data) AS bytes FROM events",
            &ids,
        )?
    };
    let size = |row: &Row| Ok((row.get("id")?, row.get("bytes")?));
    let sizes = sizes.iter().map(size).collect::<Result<_, StoreError>>()?;
    page.read(tx, sizes)
}

/// The times of the events that match the filter, newest first. Reads at most the newest `read_max`
/// events. If there may be more, also returns the time of the oldest event that was read.
pub fn list_times(
    tx: &mut Tx<'_>,
    filter: &Filter,
    read_max: u32,
) -> Result<(Vec<Timestamp>, Option<Timestamp>), StoreError> {
    let (sql, values) = newest_sql(filter, Id(Uuid::max()), read_max);
    let mut times = Vec::new();
    let mut oldest = None;
    let rows = tx.query(&sql, &values)?;
    for row in &rows {
        let at = written_at(row.get("id")?);
        oldest = Some(at);
        if matches_patterns(filter, &row.get::<String>("type")?) {
            times.push(at);
        }
    }
    Ok((times, oldest.filter(|_| rows.len() >= read_max as usize)))
}

/// When an event was written: the first 48 bits of its id.
fn written_at(id: Id) -> Timestamp {
    Timestamp(i64::try_from(id.0.as_u128() >> 80).unwrap_or(i64::MAX))
}

pub(super) fn matches_all(patterns: &[Pattern]) -> bool {
    let is_everything = |pattern: &Pattern| matches!(pattern, Pattern::Prefix(p) if p.is_empty());
    patterns.is_empty() || patterns.iter().any(is_everything)
}

/// Whether a type matches one of the patterns of a filter.
pub(super) fn matches_patterns(filter: &Filter, event_type: &str) -> bool {
    let matches = |pattern: &Pattern| pattern.matches(event_type);
    matches_all(&filter.patterns) || filter.patterns.iter().any(matches)
}

/// Selects the newest events that match the filter, except that the filter's patterns are ignored.
pub(super) fn newest_sql(filter: &Filter, before: Id, limit: u32) -> (String, Vec<Value>) {
    let mut conditions = Conditions::new("id < ?", before);
    filter.add_without_patterns(&mut conditions);
    let limit = conditions.placeholder(limit);
    let sql = format!(
        "SELECT id, type, octet_length(data) AS bytes FROM events WHERE {}
         ORDER BY id DESC LIMIT {limit}",
        conditions.sql
    );
    (sql, conditions.values)
}

/// Ids of events whose type matches one of the patterns; at most as many as the page needs.
fn matching(tx: &mut Tx<'_>, filter: &Filter, page: PageRequest) -> Result<Vec<Id>, StoreError> {
    let wanted = page.rows() as usize;
    let (sql, values) = newest_sql(filter, page.before(), NEWEST);
    let newest = tx.query(&sql, &values)?;
    let mut ids = Vec::new();
    let mut oldest = None;
    for row in &newest {
        let (id, event_type): (Id, String) = (row.get("id")?, row.get("type")?);
        oldest = Some(id);
        let matches = |pattern: &Pattern| pattern.matches(&event_type);
        if ids.len() < wanted && filter.patterns.iter().any(matches) {
            ids.push(id);
        }
    }
    let (Some(oldest), true) = (oldest, newest.len() == NEWEST as usize) else {
        return Ok(ids);
    };
    // The set sorts the ids and removes duplicates: two patterns can match the same event.
    let mut older = BTreeSet::new();
    let missing = wanted - ids.len();
    if missing > 0 {
        for pattern in &filter.patterns {
            let (sql, values) = older_sql(filter, pattern, oldest, missing);
            older.extend(tx.list::<Id>(&sql, &values)?);
        }
    }
    ids.extend(older.into_iter().rev().take(missing));
    Ok(ids)
}

/// Ids of events before `before` that a pattern matches, newest first. `|| ''` after a column keeps
/// the database from using an index on this column, so that the database uses a better index.
fn older_sql(filter: &Filter, pattern: &Pattern, before: Id, limit: usize) -> (String, Vec<Value>) {
    let mut conditions = Conditions::new("id < ?", before);
    filter.add_without_patterns(&mut conditions);
    let limit = conditions.placeholder(limit);
    let (types, order) = match pattern {
        Pattern::Exact(exact) => {
            let exact = conditions.placeholder(exact);
            (format!("type = {exact}"), "id")
        }
        Pattern::Prefix(prefix) => {
            let from = conditions.placeholder(prefix);
            let to = conditions.placeholder(format!("{prefix}\u{7f}"));
            (format!("type >= {from} AND type < {to}"), "id || ''")
        }
    };
    let Conditions { sql, values } = conditions;
    // A space has few events, so the index on `space_id` is best. The nil space is the exception:
    // many events have no space.
    let of_space = filter.space.is_some_and(|space| space != SpaceId::NIL);
    let (conditions, types, order) = match (of_space, filter.space) {
        (true, _) => (
            sql.replace("owner_id =", "owner_id || '' ="),
            types.replace("type", "type || ''"),
            "id",
        ),
        (false, Some(_)) => (sql.replace("space_id =", "space_id || '' ="), types, order),
        (false, None) => (sql, types, order),
    };
    let conditions = match order {
        "id" => conditions,
        _ => conditions
            .replace("id <", "id || '' <")
            .replace("id >", "id || '' >"),
    };
    let sql = format!(
        "SELECT id FROM events WHERE {conditions} AND {types} ORDER BY {order} DESC LIMIT {limit}"
    );
    (sql, values)
}

#[cfg(test)]
mod tests;
