//! The texts of attempts: outputs, errors, and stored requests and responses (exchanges). Receivers
//! choose them, so their bytes are added to the owner's event bytes in the transaction that stores
//! them, and subtracted in the transaction that removes them. The column `exchange_bytes` of a
//! delivery has the bytes of all its attempts.

use std::collections::BTreeMap;

use svc_core::{LaneId, event::PAYLOAD_BYTES_MAX};
use svc_protocol::api::{Attempt, Exchange};

use crate::{
    error::StoreError,
    sql::{Tx, values},
    value::Value,
};

/// The maximum number of deliveries whose texts one call of [`remove_oldest`] removes to free more
/// than the needed bytes.
const REMOVED_MAX: usize = 500;
/// The maximum number of deliveries whose texts one call of [`remove_oldest`] removes. Their texts
/// have at least the bytes of the largest event, even if each delivery has one text of one byte.
const NEEDED_REMOVED_MAX: usize = 5_000;
const _: () = assert!(NEEDED_REMOVED_MAX * OVERHEAD > PAYLOAD_BYTES_MAX + 1_024);
/// How many deliveries of each lane [`remove_oldest`] looks at in one step.
const STEP: u32 = 32;
/// How many deliveries of all lanes [`remove_oldest`] looks at in one step.
const STEP_ROWS: u32 = 500;
/// The maximum number of bytes of texts that one call of [`remove_deliveries`] removes, unless a single
/// delivery has more. Each attempt but two of a delivery has [`OVERHEAD`] bytes at least, so this
/// also limits the number of attempts.
pub(crate) const STEP_BYTES: i64 = 4 * 1024 * 1024;
/// Bytes counted for an attempt with a text, in addition to the texts: its other columns. An
/// attempt without any text is not counted: only a successful one has none, so a delivery has at
/// most one.
const OVERHEAD: usize = 64;
/// The maximum number of bytes of the output of a successful attempt.
const SUCCESS_OUTPUT_MAX: usize = 1_024;
/// The maximum number of characters of the error of an attempt whose texts are not kept.
const SHORT_ERROR: usize = 200;

/// The stored texts of an attempt.
pub(super) struct Texts<'a> {
    pub(super) error: Option<&'a str>,
    pub(super) output: Option<&'a str>,
    pub(super) exchange: Option<String>,
    pub(super) omitted: bool,
}

impl<'a> Texts<'a> {
    fn of(attempt: &'a Attempt) -> Self {
        let output = attempt.output.as_deref();
        Self {
            error: attempt.error.as_deref(),
            output: match attempt.error {
                None => output.map(|text| &text[..text.floor_char_boundary(SUCCESS_OUTPUT_MAX)]),
                Some(_) => output,
            },
            exchange: attempt.exchange.as_deref().map(to_text),
            omitted: false,
        }
    }

    fn bytes(&self) -> usize {
        let exchange = self.exchange.as_deref();
        match [self.error, self.output, exchange] {
            [None, None, None] => 0,
            texts => OVERHEAD + texts.iter().flatten().map(|text| text.len()).sum::<usize>(),
        }
    }

    /// The stored texts if the owner's quota is used up: a short error. It is not counted, so each delivery
    /// has at most one such attempt.
    fn short(self) -> Self {
        let end = |text: &str| text.char_indices().nth(SHORT_ERROR).map(|(end, _)| end);
        Self {
            error: self
                .error
                .map(|text| &text[..end(text).unwrap_or(text.len())]),
            output: None,
            exchange: None,
            omitted: true,
        }
    }
}

fn to_text(exchange: &Exchange) -> String {
    serde_json::to_string(exchange).expect("an exchange is always JSON")
}

/// Counts the texts of a new attempt for its delivery and the lane's owner, and returns what is to
/// be stored of them. Every attempt is stored through this function. Without `has_room`, the owner
/// has used up the stored bytes: the texts are omitted, and earlier attempts of the delivery are
/// removed.
pub(super) fn count<'a>(
    tx: &mut Tx<'_>,
    (lane, n): (LaneId, u64),
    attempt: &'a Attempt,
    has_room: bool,
) -> Result<Texts<'a>, StoreError> {
    let texts = Texts::of(attempt);
    let bytes = texts.bytes();
    if bytes == 0 {
        return Ok(texts);
    }
    if has_room {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        tx.send(
            "UPDATE deliveries SET exchange_bytes = exchange_bytes + ?3
             WHERE lane_id = ?1 AND n = ?2",
            values![lane, n, bytes],
        )?;
        change_usage(tx, lane, bytes)?;
        return Ok(texts);
    }
    let counted: Option<i64> = tx.find(
        "SELECT exchange_bytes FROM deliveries WHERE lane_id = ?1 AND n = ?2",
        values![lane, n],
    )?;
    if let Some(counted) = counted {
        release(tx, lane, n, counted)?;
    }
    tx.send(
        "DELETE FROM attempts WHERE lane_id = ?1 AND n = ?2",
        values![lane, n],
    )?;
    Ok(texts.short())
}

/// Changes the counter of a lane's owner.
fn change_usage(tx: &mut Tx<'_>, lane: LaneId, by: i64) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO event_usage (owner_key, bytes)
         SELECT COALESCE(removed_from, owner_key), CAST(?2 AS BIGINT) FROM lanes WHERE id = ?1
         ON CONFLICT (owner_key) DO UPDATE SET bytes = event_usage.bytes + excluded.bytes",
        values![lane, by],
    )
}

/// The result of [`remove_deliveries`].
pub(crate) struct RemovedDeliveries {
    pub(crate) deliveries: u32,
    /// The bytes of their texts.
    pub(crate) bytes: i64,
    /// Whether all deliveries of the query were removed.
    pub(crate) is_all: bool,
}

/// Removes the deliveries that a query selects as `lane_id, n, exchange_bytes`, with their attempts, and
/// subtracts the bytes of their texts from the counters. Ends before [`STEP_BYTES`], but removes at least one
/// delivery.
pub(crate) fn remove_deliveries(
    tx: &mut Tx<'_>,
    select: &str,
    values: &[Value],
) -> Result<RemovedDeliveries, StoreError> {
    let rows = tx.query(select, values)?;
    let (mut deliveries, mut bytes) = (0, 0);
    let mut by_lane = BTreeMap::<LaneId, i64>::new();
    for row in &rows {
        let (lane, n, size): (LaneId, u64, i64) = (
            row.get("lane_id")?,
            row.get("n")?,
            row.get("exchange_bytes")?,
        );
        if deliveries > 0 && bytes + size > STEP_BYTES {
            break;
        }
        tx.send(
            "DELETE FROM deliveries WHERE lane_id = ?1 AND n = ?2",
            values![lane, n],
        )?;
        *by_lane.entry(lane).or_default() += size;
        (deliveries, bytes) = (deliveries + 1, bytes + size);
    }
    by_lane.retain(|_, bytes| *bytes > 0);
    for (lane, bytes) in by_lane {
        change_usage(tx, lane, -bytes)?;
    }
    Ok(RemovedDeliveries {
        deliveries,
        bytes,
        is_all: deliveries as usize == rows.len(),
    })
}

/// Removes the texts of the oldest deliveries of an owner until the `wanted` bytes are freed, but of
/// at most [`REMOVED_MAX`] deliveries, or more if the `needed` bytes require it. The last attempt of
/// each delivery stays, with the start of its error. The texts of removed lanes come first.
pub(crate) fn remove_oldest(
    tx: &mut Tx<'_>,
    owner_key: &str,
    needed: u64,
    wanted: u64,
) -> Result<(), StoreError> {
    let is_done = |freed: u64, removed: usize| match freed < needed {
        true => removed >= NEEDED_REMOVED_MAX,
        false => freed >= wanted || removed >= REMOVED_MAX,
    };
    let (mut freed, mut removed) = (0, 0);
    while !is_done(freed, removed) {
        // Reads only the oldest counted deliveries of each lane: a lane may have thousands.
        let oldest = tx.query(
            "SELECT d.lane_id AS lane_id, d.n AS n, d.exchange_bytes AS bytes FROM (
                 SELECT id, 0 AS is_kept FROM lanes WHERE removed_from = ?1
                 UNION ALL SELECT id, 1 AS is_kept FROM lanes WHERE owner_key = ?1) AS l
             JOIN deliveries d ON d.lane_id = l.id AND d.n IN (
                 SELECT o.n FROM deliveries o WHERE o.lane_id = l.id AND o.exchange_bytes > 0
                 ORDER BY o.n LIMIT ?2)
             ORDER BY l.is_kept, d.queued_at, d.lane_id, d.n LIMIT ?3",
            values![owner_key, STEP, STEP_ROWS],
        )?;
        if oldest.is_empty() {
            return Ok(());
        }
        for row in &oldest {
            if is_done(freed, removed) {
                return Ok(());
            }
            let (lane, n, size): (LaneId, u64, i64) =
                (row.get("lane_id")?, row.get("n")?, row.get("bytes")?);
            release(tx, lane, n, size)?;
            shorten(tx, lane, n)?;
            freed += size.unsigned_abs();
            removed += 1;
        }
    }
    Ok(())
}

/// Subtracts the bytes of a delivery's attempts from the counters.
fn release(tx: &mut Tx<'_>, lane: LaneId, n: u64, bytes: i64) -> Result<(), StoreError> {
    if bytes == 0 {
        return Ok(());
    }
    tx.send(
        "UPDATE deliveries SET exchange_bytes = 0 WHERE lane_id = ?1 AND n = ?2",
        values![lane, n],
    )?;
    change_usage(tx, lane, -bytes)
}

/// Removes the texts of a delivery's last attempt, and its earlier attempts.
fn shorten(tx: &mut Tx<'_>, lane: LaneId, n: u64) -> Result<(), StoreError> {
    tx.send(
        "DELETE FROM attempts WHERE lane_id = ?1 AND n = ?2 AND attempt < (
             SELECT MAX(a.attempt) FROM attempts a WHERE a.lane_id = ?1 AND a.n = ?2)",
        values![lane, n],
    )?;
    tx.send(
        &format!(
            "UPDATE attempts SET exchange = NULL, output = NULL, output_omitted = 1,
                 error = substr(error, 1, {SHORT_ERROR})
             WHERE lane_id = ?1 AND n = ?2"
        ),
        values![lane, n],
    )
}

#[cfg(test)]
mod tests;
