//! The history, newest first. Ids and sizes are read first, then only the events that fit on the
//! page, so that a page takes little more memory than its bytes.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use svc_core::{EventId, SpaceId, pattern::Pattern};
use svc_protocol::api::EventRecord;
use uuid::Uuid;

use super::{Filter, conditions};
use crate::{
    error::StoreError,
    page::{Page, PageRequest, rows_by_id},
    sql::{Row, Tx},
    value::{Json, Value},
};

/// An event in a list. Its data stays text: a parsed value takes many times the memory.
pub type StoredEvent = EventRecord<Box<RawValue>>;

/// Number of the newest events that are compared with the patterns one by one. Common patterns match
/// some of them. For rare patterns, the index of types is used.
const NEWEST: u32 = 2_000;

/// Newest first.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<StoredEvent>, StoreError> {
    let sizes = if matches_all(&filter.patterns) {
        let (sql, values) = newest_sql(filter, page.before(), page.limit());
        tx.query(&sql, &values)?
    } else {
        let ids = matching(tx, filter, page)?;
        rows_by_id(
            tx,
            "SELECT id, octet_length(data) AS bytes FROM events",
            &ids,
        )?
    };
    let select = "SELECT id, type, ts, owner_id, space_id, actor, data FROM events";
    page.read(tx, &sizes, select, read)
}

pub(super) fn matches_all(patterns: &[Pattern]) -> bool {
    let is_everything = |pattern: &Pattern| matches!(pattern, Pattern::Prefix(p) if p.is_empty());
    patterns.is_empty() || patterns.iter().any(is_everything)
}

/// The newest events that match the filter, without its patterns.
fn newest_sql(filter: &Filter, before: Value, limit: Value) -> (String, Vec<Value>) {
    let filter = Filter {
        patterns: Vec::new(),
        ..filter.clone()
    };
    let (conditions, mut values) = conditions(&filter, vec![before]);
    values.push(limit);
    let sql = format!(
        "SELECT id, type, octet_length(data) AS bytes FROM events WHERE id < ?1{conditions}
         ORDER BY id DESC LIMIT ?{}",
        values.len()
    );
    (sql, values)
}

/// Ids of events whose type matches one of the patterns; at most as many as the page needs.
fn matching(tx: &mut Tx<'_>, filter: &Filter, page: PageRequest) -> Result<Vec<Uuid>, StoreError> {
    let wanted = page.rows();
    let (sql, values) = newest_sql(filter, page.before(), NEWEST.into());
    let newest = tx.query(&sql, &values)?;
    let mut ids = Vec::new();
    let mut oldest = None;
    for row in &newest {
        let (id, event_type): (EventId, String) = (row.get("id")?, row.get("type")?);
        oldest = Some(id);
        let matches = |pattern: &Pattern| pattern.matches(&event_type);
        if ids.len() < wanted && filter.patterns.iter().any(matches) {
            ids.push(id.0);
        }
    }
    let (Some(oldest), true) = (oldest, newest.len() == NEWEST as usize) else {
        return Ok(ids);
    };
    // The set sorts the ids and removes those that two patterns match.
    let mut older = BTreeSet::new();
    let missing = wanted - ids.len();
    if missing > 0 {
        for pattern in &filter.patterns {
            let (sql, values) = older_sql(filter, pattern, oldest, missing);
            for row in tx.query(&sql, &values)? {
                older.insert(row.get::<EventId>("id")?.0);
            }
        }
    }
    ids.extend(older.into_iter().rev().take(missing));
    Ok(ids)
}

/// Ids of events before `before` that a pattern matches, newest first. A column followed by `|| ''`
/// cannot use an index, so the other column decides which index is used.
fn older_sql(
    filter: &Filter,
    pattern: &Pattern,
    before: EventId,
    limit: usize,
) -> (String, Vec<Value>) {
    let filter = Filter {
        patterns: Vec::new(),
        ..filter.clone()
    };
    let (conditions, mut values) = conditions(&filter, vec![before.into()]);
    let mut placeholder = |value: Value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let limit = placeholder(Value::Int(i64::try_from(limit).unwrap_or(i64::MAX)));
    let (types, order) = match pattern {
        Pattern::Exact(exact) => (format!("type = {}", placeholder(exact.into())), "id"),
        Pattern::Prefix(prefix) => {
            let (from, to) = (
                placeholder(prefix.into()),
                placeholder(format!("{prefix}\u{7f}").into()),
            );
            (format!("type >= {from} AND type < {to}"), "id || ''")
        }
    };
    // A space has few events, so its index is best; many events have no space.
    let of_space = filter.space.is_some_and(|space| space != SpaceId::NIL);
    let (conditions, types, order) = match (of_space, filter.space) {
        (true, _) => (
            conditions.replace("owner_id =", "owner_id || '' ="),
            types.replace("type", "type || ''"),
            "id",
        ),
        (false, Some(_)) => (
            conditions.replace("space_id =", "space_id || '' ="),
            types,
            order,
        ),
        (false, None) => (conditions, types, order),
    };
    let conditions = match order {
        "id" => format!("id < ?1{conditions}"),
        _ => format!(
            "id || '' < ?1{}",
            conditions.replace("AND id ", "AND id || '' ")
        ),
    };
    let sql = format!(
        "SELECT id FROM events WHERE {conditions} AND {types} ORDER BY {order} DESC LIMIT {limit}"
    );
    (sql, values)
}

fn read(row: &Row) -> Result<StoredEvent, StoreError> {
    let Json(actor) = row.get("actor")?;
    let data = RawValue::from_string(row.get("data")?).map_err(|error| StoreError::Decode {
        column: "data".to_owned(),
        reason: error.to_string(),
    })?;
    Ok(StoredEvent {
        event_id: row.get("id")?,
        event_type: row.get("type")?,
        event_ts: row.get("ts")?,
        owner_id: row.get("owner_id")?,
        space_id: row.get("space_id")?,
        actor,
        data,
    })
}

#[cfg(test)]
mod tests;
