//! Waiting and finished deliveries, and their attempts. A delivery belongs to a lane: the queue of
//! one sink or of one subscribed method.

mod resends;
pub(crate) mod texts;

use std::collections::BTreeMap;

use svc_core::{EventId, LaneId, Timestamp, event::Event};
use svc_protocol::api::{Attempt, Delivery, DeliveryState, Exchange, LastDelivery};

pub use self::resends::{DeadDeliveries, PastDelivery, find_past, link_resend, list_dead, newest};
use super::{
    conditions::Conditions,
    error::StoreError,
    page::{InvalidPage, Page, PageRequest},
    record::row,
    sql::{FromRow, Query, Row, Tx, values},
    value::as_json,
};

/// The request for a page of a lane's deliveries. A cursor is the number of a page's last delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeliveryPage {
    before: u64,
    page: PageRequest,
    with_exchanges: bool,
    only_tried: bool,
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
            with_exchanges: false,
            only_tried: false,
        })
    }

    /// Whether attempts include their exchanges: the stored requests and answers.
    pub fn with_exchanges(self, with_exchanges: bool) -> Self {
        Self {
            with_exchanges,
            ..self
        }
    }

    /// Whether deliveries that wait for their first attempt are left out.
    pub fn only_tried(self, only_tried: bool) -> Self {
        Self { only_tried, ..self }
    }
}

/// A waiting delivery of a lane, with its event.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueHead {
    pub n: u64,
    pub event_id: EventId,
    pub event_type: String,
    /// `None` if the event was removed.
    pub event: Option<Event>,
    /// Failed attempts, in a lane that is ordered by a key.
    pub failures: u32,
    /// The time of the next attempt, in a lane that is ordered by a key.
    pub retry_at: Timestamp,
}

impl FromRow for QueueHead {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let is_there = row.get::<Option<EventId>>("id")?.is_some();
        Ok(Self {
            n: row.get("n")?,
            event_id: row.get("event_id")?,
            event_type: row.get("event_type")?,
            event: is_there.then(|| Event::read(row)).transpose()?,
            failures: row.get("failures")?,
            retry_at: row.get("retry_at")?,
        })
    }
}

as_json!(Box<Exchange>);

row! { Attempt: at, status, ms, error, output, output_omitted, exchange }
row! { LastDelivery: n, event_id, event_type, state, at as "finished_at", error }

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
    Ok(list_heads(tx, lane, 0, 1)?.pop())
}

/// The numbers of the waiting deliveries, oldest first.
pub fn list_waiting(tx: &mut Tx<'_>, lane: LaneId) -> Result<Vec<u64>, StoreError> {
    tx.list(
        "SELECT n FROM deliveries WHERE lane_id = ?1 AND state = 'pending' ORDER BY n",
        values![lane],
    )
}

const HEADS: &str = "SELECT d.n AS n, d.event_id AS event_id, d.event_type AS event_type,
        d.failures AS failures, d.retry_at AS retry_at,
        e.id AS id, e.type AS type, e.ts AS ts, e.owner_id AS owner_id,
        e.space_id AS space_id, e.actor AS actor, e.data AS data,
        e.trace AS trace
    FROM deliveries d LEFT JOIN events e ON e.id = d.event_id";

/// Waiting deliveries after a number, oldest first.
pub fn list_heads(
    tx: &mut Tx<'_>,
    lane: LaneId,
    after: u64,
    limit: u32,
) -> Result<Vec<QueueHead>, StoreError> {
    let query = select_heads(lane, after, limit);
    tx.list(&query.sql, &query.values)
}

pub(super) fn select_heads(lane: LaneId, after: u64, limit: u32) -> Query {
    Query {
        sql: format!(
            "{HEADS} WHERE d.lane_id = ?1 AND d.state = 'pending' AND d.n > ?2
             ORDER BY d.n LIMIT ?3"
        ),
        values: values![lane, after, limit].to_vec(),
    }
}

/// The waiting deliveries with these numbers, oldest first.
pub fn list_numbered(
    tx: &mut Tx<'_>,
    lane: LaneId,
    numbers: &[u64],
) -> Result<Vec<QueueHead>, StoreError> {
    let mut conditions = Conditions::new("d.lane_id = ?", lane);
    conditions.and("d.state = 'pending'");
    conditions.add_in_padded("d.n", numbers);
    tx.list(
        &format!("{HEADS} WHERE {} ORDER BY d.n", conditions.sql),
        &conditions.values,
    )
}

/// Ends a waiting delivery.
pub fn finish(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
    state: DeliveryState,
    at: Timestamp,
) -> Result<(), StoreError> {
    tx.send(
        "UPDATE deliveries SET state = ?3, finished_at = ?4
         WHERE lane_id = ?1 AND n = ?2 AND state = 'pending'",
        values![lane, n, state, at],
    )
}

/// Postpones a delivery of a lane that is ordered by a key, and adds `failed` to the number of its
/// failed attempts.
pub fn postpone(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
    failed: u32,
    retry_at: Timestamp,
) -> Result<(), StoreError> {
    tx.send(
        "UPDATE deliveries SET failures = failures + ?3, retry_at = ?4
         WHERE lane_id = ?1 AND n = ?2",
        values![lane, n, failed, retry_at],
    )
}

/// Sets the number of failed attempts of a delivery to 0, so that all its attempts are available
/// again. For lanes that are ordered by a key.
pub fn reset_failures(tx: &mut Tx<'_>, lane: LaneId, n: u64) -> Result<(), StoreError> {
    tx.send(
        "UPDATE deliveries SET failures = 0 WHERE lane_id = ?1 AND n = ?2",
        values![lane, n],
    )
}

/// Records a further attempt of a delivery, and counts its texts for the owner of the lane. Without
/// `has_room`, the owner has used up the stored bytes, and the texts are not stored.
pub fn insert_attempt(
    tx: &mut Tx<'_>,
    (lane, n): (LaneId, u64),
    attempt: &Attempt,
    has_room: bool,
) -> Result<(), StoreError> {
    let texts = texts::count(tx, (lane, n), attempt, has_room)?;
    tx.send(
        "INSERT INTO attempts
             (lane_id, n, attempt, at, status, ms, error, output, exchange, output_omitted)
         VALUES (?1, ?2, (SELECT COALESCE(MAX(attempt), 0) + 1 FROM attempts
             WHERE lane_id = ?1 AND n = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        values![
            lane,
            n,
            attempt.at,
            attempt.status,
            attempt.ms,
            texts.error.map(str::to_owned),
            texts.output.map(str::to_owned),
            texts.exchange,
            texts.omitted
        ],
    )
}

/// Deliveries, with the time of the next attempt after a failed one. In a lane that is ordered by a
/// key, each delivery has its own time. In other lanes only the first waiting delivery is tried, so
/// the time of the lane applies to it.
const SELECT: &str = "SELECT n, event_id, event_type, state, resent_as, resend_of,
        CASE WHEN state <> 'pending' THEN NULL WHEN failures > 0 THEN retry_at
            ELSE (SELECT l.next_at FROM lanes l WHERE l.id = deliveries.lane_id
                AND l.failures > 0 AND l.keyed = 0 AND NOT EXISTS (
                    SELECT 1 FROM deliveries d WHERE d.lane_id = deliveries.lane_id
                        AND d.state = 'pending' AND d.n < deliveries.n))
            END AS next_attempt_at
    FROM deliveries";

pub fn find(tx: &mut Tx<'_>, lane: LaneId, n: u64) -> Result<Option<Delivery>, StoreError> {
    let rows = tx.query(
        &format!("{SELECT} WHERE lane_id = ?1 AND n = ?2"),
        values![lane, n],
    )?;
    Ok(with_attempts(tx, lane, &rows, false)?.pop())
}

/// Lists deliveries, newest first, with their attempts.
pub fn list(
    tx: &mut Tx<'_>,
    lane: LaneId,
    state: Option<DeliveryState>,
    DeliveryPage {
        before,
        page,
        with_exchanges,
        only_tried,
    }: DeliveryPage,
) -> Result<Page<Delivery>, StoreError> {
    let mut conditions = Conditions::new("lane_id = ?", lane);
    conditions.add("n < ?", before);
    match state {
        // A constant, because only then the index of dead deliveries is used.
        Some(DeliveryState::Dead) => conditions.and("state = 'dead'"),
        state => conditions.add_some("state = ?", state),
    }
    if only_tried {
        // Skips at most the waiting deliveries, whose number is limited by the size of the queue.
        conditions.and(
            "(state <> 'pending' OR EXISTS (SELECT 1 FROM attempts a
                 WHERE a.lane_id = deliveries.lane_id AND a.n = deliveries.n))",
        );
    }
    let limit = conditions.placeholder(page.rows());
    let rows = tx.query(
        &format!(
            "{SELECT} WHERE {} ORDER BY n DESC LIMIT {limit}",
            conditions.sql
        ),
        &conditions.values,
    )?;
    let numbers = rows.iter().map(|row| row.get("n"));
    let numbers = numbers.collect::<Result<Vec<u64>, _>>()?;
    let sizes = sizes(tx, lane, numbers, with_exchanges)?;
    let fitting = page.page_within_bytes(sizes);
    let fitting_rows = &rows[..fitting.items.len()];
    let deliveries = with_attempts(tx, lane, fitting_rows, with_exchanges)?;
    Ok(Page {
        items: deliveries,
        next_cursor: fitting.next_cursor,
    })
}

/// Selects the attempts of these deliveries. With a filter, other deliveries may be between them.
fn attempts_of(lane: LaneId, numbers: &[u64]) -> Conditions {
    let mut conditions = Conditions::new("lane_id = ?", lane);
    conditions.add_in_padded("n", numbers);
    conditions
}

/// The number of each delivery, and the bytes of its attempts.
fn sizes(
    tx: &mut Tx<'_>,
    lane: LaneId,
    numbers: Vec<u64>,
    with_exchanges: bool,
) -> Result<Vec<(u64, u64)>, StoreError> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let (exchange, of) = (exchange_column(with_exchanges), attempts_of(lane, &numbers));
    let sizes: Vec<(u64, u64)> = tx.list(
        &format!(
            "SELECT n, CAST(SUM(COALESCE(octet_length(output), 0) + COALESCE(octet_length(error), 0)
                 + COALESCE(octet_length({exchange}), 0)) AS BIGINT) AS bytes FROM attempts
             WHERE {} GROUP BY n",
            of.sql
        ),
        &of.values,
    )?;
    let sizes: BTreeMap<_, _> = sizes.into_iter().collect();
    let sized = |n| (n, sizes.get(&n).copied().unwrap_or(0));
    Ok(numbers.into_iter().map(sized).collect())
}

fn exchange_column(with_exchanges: bool) -> &'static str {
    match with_exchanges {
        true => "exchange",
        false => "CAST(NULL AS TEXT)",
    }
}

/// The finished delivery with the highest number in a lane.
pub fn last(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<LastDelivery>, StoreError> {
    tx.find(
        "SELECT n, event_id, event_type, state, finished_at,
                (SELECT a.error FROM attempts a WHERE a.lane_id = d.lane_id AND a.n = d.n
                 ORDER BY a.attempt DESC LIMIT 1) AS error
         FROM deliveries d
         WHERE lane_id = ?1 AND finished_at IS NOT NULL ORDER BY n DESC LIMIT 1",
        values![lane],
    )
}

/// Removes at most `limit` deliveries that ended before a time. Returns how many were removed.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
    let ended = "SELECT lane_id, n, exchange_bytes FROM deliveries
         WHERE finished_at IS NOT NULL AND finished_at < ?1 LIMIT ?2";
    let removed = texts::remove_deliveries(tx, ended, values![before, limit])?;
    Ok(removed.deliveries as usize)
}

/// Removes at most `limit` finished deliveries that are not among the newest `keep` of their lane.
/// Returns how many were removed.
pub fn prune_beyond(tx: &mut Tx<'_>, keep: u32, limit: u32) -> Result<usize, StoreError> {
    let beyond = "SELECT d.lane_id AS lane_id, d.n AS n, d.exchange_bytes AS exchange_bytes
         FROM lanes l JOIN deliveries d ON d.lane_id = l.id AND d.n <= l.tail - ?1
         WHERE l.tail > ?1 AND d.state <> 'pending' LIMIT ?2";
    let removed = texts::remove_deliveries(tx, beyond, values![keep, limit])?;
    Ok(removed.deliveries as usize)
}

/// Adds the attempts to deliveries of one lane, with one statement. The rows are sorted by number,
/// newest first.
fn with_attempts(
    tx: &mut Tx<'_>,
    lane: LaneId,
    rows: &[Row],
    with_exchanges: bool,
) -> Result<Vec<Delivery>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let numbers = rows.iter().map(|row| row.get("n"));
    let of = attempts_of(lane, &numbers.collect::<Result<Vec<u64>, _>>()?);
    let mut attempts: BTreeMap<u64, Vec<Attempt>> = BTreeMap::new();
    let exchange = exchange_column(with_exchanges);
    for row in tx.query(
        &format!(
            "SELECT n, at, status, ms, error, output, output_omitted, {exchange} AS exchange
             FROM attempts
             WHERE {} ORDER BY n, attempt",
            of.sql
        ),
        &of.values,
    )? {
        let made = attempts.entry(row.get("n")?).or_default();
        made.push(Attempt::read(&row)?);
    }
    rows.iter()
        .map(|row| {
            let n = row.get("n")?;
            Ok(Delivery {
                n,
                event_id: row.get("event_id")?,
                event_type: row.get("event_type")?,
                state: row.get("state")?,
                resent_as: row.get("resent_as")?,
                resend_of: row.get("resend_of")?,
                next_attempt_at: row.get("next_attempt_at")?,
                attempts: attempts.remove(&n).unwrap_or_default(),
            })
        })
        .collect()
}
