//! Windows of the history: the next events in the order of their ids, of which some match a filter.
//!
//! One statement finds its events by one index and reads a limited number of them, whether or not
//! they match. Conditions without an index are computed for the events of the window only. So a
//! filter that matches nothing costs no more than one that matches everything.

use std::time::Duration;

use svc_core::{Id, SpaceId, Timestamp};

use super::{Filter, first_id_at, just_before, list::matches_patterns};
use crate::{
    conditions::Conditions,
    error::StoreError,
    record::row,
    sql::{FromRow, Tx},
    value::Value,
};

/// The maximum time from the `ts` of an event to the time in its id. It is longer than any write
/// waits.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5 * 60);

/// The order of a window. The history is listed newest first, and its `until` is the time in an
/// event's id. Replays read oldest first, and their `until` is the `ts` of an event: an event gets
/// its id when it is written, some time after its `ts`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    OldestFirst,
    NewestFirst,
}

/// One window. [`Self::rows`] are the events that match.
pub(super) struct Window {
    pub(super) rows: Vec<WindowRow>,
    /// The last event of the window, whether or not it matches. `None` if there are no further
    /// events.
    pub(super) last: Option<Id>,
}

/// An event without its data.
pub(super) struct WindowRow {
    pub(super) id: Id,
    pub(super) r#type: String,
    pub(super) bytes: u64,
}

row! { WindowRow: id, r#type as "type", bytes }

/// Reads at most `limit` events between two ids, without the events with these ids.
pub(super) fn read(
    tx: &mut Tx<'_>,
    filter: &Filter,
    between: (Id, Id),
    order: Order,
    limit: u32,
) -> Result<Window, StoreError> {
    let (sql, values) = window_sql(filter, between, order, limit);
    let found = tx.query(&sql, &values)?;
    let last = match found.last() {
        Some(last) if found.len() >= limit as usize => Some(last.get("id")?),
        _ => None,
    };
    let mut rows = Vec::new();
    for row in &found {
        if row.get("matches")? {
            let row = WindowRow::read(row)?;
            if matches_patterns(filter, &row.r#type) {
                rows.push(row);
            }
        }
    }
    Ok(Window { rows, last })
}

/// Selects a window. `matches` is false for events that the filter excludes by another field than
/// the type.
pub(super) fn window_sql(
    filter: &Filter,
    between: (Id, Id),
    order: Order,
    limit: u32,
) -> (String, Vec<Value>) {
    let (after, before) = bounds(filter, between, order);
    let mut bounds = Conditions::new("id > ?", after);
    bounds.add("id < ?", before);
    // The nil space is not selective: many events have no space.
    let (is_space, no_space) = match filter.space {
        Some(space) if space != SpaceId::NIL => (Some(space), None),
        none => (None, none),
    };
    let (is_owner, also_owner) = match is_space {
        Some(_) => (None, filter.owner),
        None => (filter.owner, None),
    };
    bounds.add_some("space_id = ?", is_space);
    bounds.add_some("owner_id = ?", is_owner);
    let Conditions {
        sql: bounds,
        values,
    } = bounds;
    let mut others = Conditions {
        sql: String::new(),
        values,
    };
    others.add_some("space_id = ?", no_space);
    others.add_some("owner_id = ?", also_owner);
    if order == Order::OldestFirst {
        others.add_some("ts <= ?", filter.until);
    }
    others.add_some(
        "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = events.id
             AND d.lane_id = ? AND d.state <> 'dead')",
        filter.undelivered_by,
    );
    others.add_some(
        "NOT EXISTS (SELECT 1 FROM lanes l WHERE l.id = ? AND l.refill_from <= events.seq)",
        filter.undelivered_by,
    );
    let matches = match others.sql.as_str() {
        "" => "1".to_owned(),
        conditions => format!("CASE WHEN {conditions} THEN 1 ELSE 0 END"),
    };
    let direction = match order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    let limit = others.placeholder(limit);
    let sql = format!(
        "SELECT id, type, octet_length(data) AS bytes, {matches} AS matches FROM events
         WHERE {bounds} ORDER BY id {direction} LIMIT {limit}"
    );
    (sql, others.values)
}

/// The ids between which all events of the filter's time span are. One lower and one upper bound:
/// with two, the database may use the weaker one for its index.
pub(super) fn bounds(filter: &Filter, (after, before): (Id, Id), order: Order) -> (Id, Id) {
    let since = filter.since.map(|since| just_before(first_id_at(since)));
    let until = filter.until.map(|until| match order {
        Order::NewestFirst => until,
        Order::OldestFirst => until.plus(WRITTEN_WITHIN),
    });
    let until = until.map(|until| Id(first_id_at(Timestamp(until.0.saturating_add(1))).0));
    (
        since.map_or(after, |since| since.max(after)),
        until.map_or(before, |until| until.min(before)),
    )
}
