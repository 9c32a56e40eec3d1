//! Deliveries and their attempts, waiting and finished.

use std::collections::BTreeMap;

use svc_core::{EventId, LaneId, Timestamp, event::Event};
use svc_protocol::api::{Attempt, Delivery, DeliveryState, LastDelivery};

use super::{
    error::StoreError,
    events,
    page::{InvalidPage, Page, PageRequest},
    sql::{Row, Tx, values},
    value::{FromValue, Value},
};

/// A page of a lane's deliveries. Its cursor is the number of the last delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeliveryPage {
    before: u64,
    page: PageRequest,
}

impl DeliveryPage {
    /// From `?cursor=` and `?limit=`.
    pub fn parse(cursor: Option<&str>, limit: Option<u32>) -> Result<Self, InvalidPage> {
        let parse = |text: &str| {
            text.parse()
                .map_err(|_| InvalidPage::Cursor(text.to_owned()))
        };
        Ok(Self {
            before: cursor.map_or(Ok(u64::MAX), parse)?,
            page: PageRequest::parse(None, limit)?,
        })
    }
}

/// The oldest waiting delivery of a lane.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueHead {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
    /// `None` if the event was removed.
    pub event: Option<Event>,
}

impl FromValue for DeliveryState {
    fn from_value(value: &Value) -> Result<Self, String> {
        match String::from_value(value)?.as_str() {
            "pending" => Ok(Self::Pending),
            "delivered" => Ok(Self::Delivered),
            "dead" => Ok(Self::Dead),
            other => Err(format!("`{other}` is not a state of a delivery")),
        }
    }
}

impl From<DeliveryState> for Value {
    fn from(state: DeliveryState) -> Self {
        match state {
            DeliveryState::Pending => "pending",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Dead => "dead",
        }
        .into()
    }
}

impl FromValue for u16 {
    fn from_value(value: &Value) -> Result<Self, String> {
        let number = i64::from_value(value)?;
        Self::try_from(number).map_err(|_| format!("{number} is out of range"))
    }
}

/// Inserts a delivery with the number that its lane assigned.
pub(super) fn insert(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
    (event_id, event_type): (EventId, &str),
    queued_at: Timestamp,
) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO deliveries (lane_id, n, event_id, event_type, state, queued_at)
         VALUES (?1, ?2, ?3, ?4, 'pending', ?5)",
        values![lane, n, event_id, event_type, queued_at],
    )
}

pub fn find_head(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<QueueHead>, StoreError> {
    let row = tx.query_opt(
        "SELECT d.n AS n, d.event_id AS event_id, d.event_type AS event_type,
                e.id AS id, e.type AS type, e.ts AS ts, e.owner_id AS owner_id,
                e.space_id AS space_id, e.actor AS actor, e.data AS data
         FROM deliveries d LEFT JOIN events e ON e.id = d.event_id
         WHERE d.lane_id = ?1 AND d.state = 'pending' ORDER BY d.n LIMIT 1",
        values![lane],
    )?;
    row.map(|row| {
        let is_there = row.get::<Option<EventId>>("id")?.is_some();
        Ok(QueueHead {
            n: row.get("n")?,
            event_id: row.get("event_id")?,
            event_type: row.get("event_type")?,
            event: is_there.then(|| events::read(&row)).transpose()?,
        })
    })
    .transpose()
}

/// Ends a waiting delivery. False if it is not waiting.
pub fn finish(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
    state: DeliveryState,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE deliveries SET state = ?3, finished_at = ?4
         WHERE lane_id = ?1 AND n = ?2 AND state = 'pending'",
        values![lane, n, state, at],
    )?;
    Ok(changed == 1)
}

/// Records an attempt of a delivery; `number` counts from 1.
pub fn insert_attempt(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
    number: u32,
    attempt: &Attempt,
) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO attempts (lane_id, n, attempt, at, status, ms, error, output)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        values![
            lane,
            n,
            number,
            attempt.at,
            attempt.status.map(u32::from),
            attempt.ms,
            attempt.error.as_ref(),
            attempt.output.as_ref()
        ],
    )
}

pub fn find(tx: &mut Tx<'_>, lane: LaneId, n: u64) -> Result<Option<Delivery>, StoreError> {
    let rows = tx.query(
        "SELECT n, event_id, event_type, state FROM deliveries WHERE lane_id = ?1 AND n = ?2",
        values![lane, n],
    )?;
    Ok(with_attempts(tx, lane, &rows)?.pop())
}

/// Newest first, with their attempts.
pub fn list(
    tx: &mut Tx<'_>,
    lane: LaneId,
    state: Option<DeliveryState>,
    DeliveryPage { before, page }: DeliveryPage,
) -> Result<Page<Delivery>, StoreError> {
    let mut values = vec![lane.into(), before.into(), page.limit()];
    let condition = match state {
        Some(state) => {
            values.push(state.into());
            " AND state = ?4"
        }
        None => "",
    };
    let rows = tx.query(
        &format!(
            "SELECT n, event_id, event_type, state FROM deliveries
             WHERE lane_id = ?1 AND n < ?2{condition} ORDER BY n DESC LIMIT ?3"
        ),
        &values,
    )?;
    let numbers = rows.iter().map(|row| row.get("n"));
    let sizes = sizes(tx, lane, numbers.collect::<Result<Vec<u64>, _>>()?)?;
    let fitting = page.page_within_bytes(sizes);
    let deliveries = with_attempts(tx, lane, &rows[..fitting.items.len()])?;
    Ok(Page {
        items: deliveries,
        next_cursor: fitting.next_cursor,
    })
}

/// The sizes of the attempts of these deliveries, newest first.
fn sizes(tx: &mut Tx<'_>, lane: LaneId, numbers: Vec<u64>) -> Result<Vec<(u64, u64)>, StoreError> {
    let (Some(newest), Some(oldest)) = (numbers.first(), numbers.last()) else {
        return Ok(Vec::new());
    };
    let rows = tx.query(
        "SELECT n, CAST(SUM(COALESCE(octet_length(output), 0) + COALESCE(octet_length(error), 0))
             AS BIGINT) AS bytes FROM attempts
         WHERE lane_id = ?1 AND n >= ?2 AND n <= ?3 GROUP BY n",
        values![lane, *oldest, *newest],
    )?;
    let size = |row: &Row| Ok((row.get("n")?, row.get("bytes")?));
    let sizes = rows
        .iter()
        .map(size)
        .collect::<Result<BTreeMap<u64, u64>, StoreError>>()?;
    let sized = |n| (n, sizes.get(&n).copied().unwrap_or(0));
    Ok(numbers.into_iter().map(sized).collect())
}

/// The newest finished delivery of a lane.
pub fn last(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<LastDelivery>, StoreError> {
    let row = tx.query_opt(
        "SELECT n, event_id, event_type, state, finished_at,
                (SELECT a.error FROM attempts a WHERE a.lane_id = d.lane_id AND a.n = d.n
                 ORDER BY a.attempt DESC LIMIT 1) AS error
         FROM deliveries d
         WHERE lane_id = ?1 AND finished_at IS NOT NULL ORDER BY n DESC LIMIT 1",
        values![lane],
    )?;
    row.map(|row| {
        Ok(LastDelivery {
            n: row.get("n")?,
            event_id: row.get("event_id")?,
            event_type: row.get("event_type")?,
            state: row.get("state")?,
            at: row.get("finished_at")?,
            error: row.get("error")?,
        })
    })
    .transpose()
}

/// Removes at most `limit` deliveries that ended before a time. Returns their number.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM deliveries WHERE (lane_id, n) IN (
             SELECT lane_id, n FROM deliveries
             WHERE finished_at IS NOT NULL AND finished_at < ?1 LIMIT ?2)",
        values![before, limit],
    )
}

/// Removes at most `limit` finished deliveries beyond the newest `keep` of their lane. Returns their
/// number.
pub fn prune_beyond(tx: &mut Tx<'_>, keep: u32, limit: u32) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM deliveries WHERE (lane_id, n) IN (
             SELECT d.lane_id, d.n FROM lanes l JOIN deliveries d
                 ON d.lane_id = l.id AND d.n <= l.tail - ?1
             WHERE l.tail > ?1 AND d.state <> 'pending' LIMIT ?2)",
        values![keep, limit],
    )
}

/// Adds the attempts to deliveries of one lane, with one statement. The rows are sorted by number,
/// newest first.
fn with_attempts(tx: &mut Tx<'_>, lane: LaneId, rows: &[Row]) -> Result<Vec<Delivery>, StoreError> {
    let (Some(newest), Some(oldest)) = (rows.first(), rows.last()) else {
        return Ok(Vec::new());
    };
    let mut attempts: BTreeMap<u64, Vec<Attempt>> = BTreeMap::new();
    for row in tx.query(
        "SELECT n, at, status, ms, error, output FROM attempts
         WHERE lane_id = ?1 AND n >= ?2 AND n <= ?3 ORDER BY n, attempt",
        values![lane, oldest.get::<u64>("n")?, newest.get::<u64>("n")?],
    )? {
        let attempt = read_attempt(&row)?;
        attempts.entry(row.get("n")?).or_default().push(attempt);
    }
    rows.iter()
        .map(|row| {
            let n = row.get("n")?;
            Ok(Delivery {
                n,
                event_id: row.get("event_id")?,
                event_type: row.get("event_type")?,
                state: row.get("state")?,
                attempts: attempts.remove(&n).unwrap_or_default(),
            })
        })
        .collect()
}

pub(super) fn read_attempt(row: &Row) -> Result<Attempt, StoreError> {
    Ok(Attempt {
        at: row.get("at")?,
        status: row.get("status")?,
        ms: row.get("ms")?,
        error: row.get("error")?,
        output: row.get("output")?,
    })
}
