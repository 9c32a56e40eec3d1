//! Bytes of stored events: a counter for each owner, updated in the transaction that stores or
//! removes an event, so that no emit needs to add up the sizes of all events.
//!
//! The texts of attempts (outputs, errors, stored requests and responses) count too: see
//! `deliveries::texts`.
//!
//! An event counts for its owner. If only global sinks still need the event, it may be moved to the
//! counter of the server (`charged_to`), so that a slow global sink uses no user's quota.

use std::collections::BTreeMap;

use svc_core::{
    EventId, Quota, QuotaOverrides, Quotas, UserId,
    event::{Event, PAYLOAD_BYTES_MAX},
};

use super::removal::{LostEvents, RETURNED, RemovedEvent, remove, settle};
use crate::{
    deliveries::texts,
    error::StoreError,
    sinks::GLOBAL,
    sql::{Tx, values},
};

/// Bytes counted for an event in addition to its data: its other columns and its index entries.
const OVERHEAD: i64 = 512;

/// The largest number of bytes that an emitted event adds to its counter.
const EVENT_MAX: u64 = PAYLOAD_BYTES_MAX as u64 + OVERHEAD.unsigned_abs();

/// The maximum number of events that one query reads.
const WINDOW: u32 = 500;
/// The maximum number of queries of an owner's oldest events in one emit.
const WINDOWS_MAX: u32 = 10;

/// The limits on stored events, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Limit of the owner.
    pub owner: u64,
    /// Limit of all events that only global sinks need.
    pub server: u64,
}

/// The counter of an owner; `None` is the counter of the server.
pub fn bytes_of(tx: &mut Tx<'_>, owner: Option<UserId>) -> Result<u64, StoreError> {
    let bytes = tx.find(
        "SELECT bytes FROM event_usage WHERE owner_key = ?1",
        values![key(owner)],
    )?;
    Ok(bytes.unwrap_or_default())
}

/// The users whose counters exceed their quota of event bytes, with this quota.
pub fn list_over(tx: &mut Tx<'_>, quotas: &Quotas) -> Result<Vec<(UserId, u64)>, StoreError> {
    let rows = tx.query(
        "SELECT o.id AS id, o.quotas AS quotas, u.bytes AS bytes
         FROM event_usage u JOIN users o ON o.id = u.owner_key",
        &[],
    )?;
    let mut over = Vec::new();
    for row in rows {
        let overrides: QuotaOverrides = row.get("quotas")?;
        let limit = quotas.with(&overrides).get(Quota::EventBytes);
        if row.get::<u64>("bytes")? > limit {
            over.push((row.get("id")?, limit));
        }
    }
    Ok(over)
}

fn key(owner: Option<UserId>) -> String {
    owner.map_or_else(|| GLOBAL.to_owned(), |owner| owner.to_string())
}

/// The number of bytes that an event adds to its counter.
pub fn size_of(event: &Event) -> u64 {
    event.data.as_str().len() as u64 + OVERHEAD.unsigned_abs()
}

/// Adds new events to the counter of their owner.
pub(crate) fn add(tx: &mut Tx<'_>, owner: UserId, bytes: u64) -> Result<(), StoreError> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    change(tx, &key(Some(owner)), bytes)
}

const CHANGE: &str = "INSERT INTO event_usage (owner_key, bytes) VALUES (?1, ?2)
     ON CONFLICT (owner_key) DO UPDATE SET bytes = event_usage.bytes + excluded.bytes";

fn change(tx: &mut Tx<'_>, key: &str, by: i64) -> Result<(), StoreError> {
    tx.send(CHANGE, values![key, by])
}

/// Subtracts removed events from their counters.
pub(super) fn subtract(tx: &mut Tx<'_>, removed: &[RemovedEvent]) -> Result<(), StoreError> {
    let mut by_key = BTreeMap::<_, i64>::new();
    for event in removed {
        *by_key.entry(&event.charged_to).or_default() += event.data_bytes + OVERHEAD;
    }
    for (key, bytes) in by_key {
        change(tx, key, -bytes)?;
    }
    Ok(())
}

/// The result of [`make_room`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Room {
    /// Whether the owner is within the limit.
    pub fits: bool,
    pub lost: Vec<LostEvents>,
}

/// Tries to reduce an owner's usage to the limit: removes the oldest texts of attempts, as many as one
/// event can need, then the oldest events that no waiting delivery needs. Events that only global sinks need are moved to the
/// counter of the server, if that counter is below its limit. Events from `newest` on are kept.
///
/// A lane with a filter, or a lane that was full, may not have checked some events yet. Such events
/// have no delivery of this lane, so they may be removed, and are then reported as lost. Otherwise
/// one unavailable receiver would block all emits of its owner.
pub fn make_room(
    tx: &mut Tx<'_>,
    owner: UserId,
    newest: EventId,
    limits: Limits,
) -> Result<Room, StoreError> {
    let mut lost = prune_charged(tx)?;
    // Remove slightly more than needed, so that the next emits need no clean-up.
    let slack = limits.owner / 64;
    let excess = bytes_of(tx, Some(owner))?.saturating_sub(limits.owner);
    if excess > 0 {
        // An emit never needs more than the bytes of its event.
        let needed = excess.min(EVENT_MAX);
        texts::remove_oldest(tx, &key(Some(owner)), needed, excess + slack)?;
    }
    let mut after = EventId::NIL;
    for _ in 0..WINDOWS_MAX {
        let bytes = bytes_of(tx, Some(owner))?;
        if bytes <= limits.owner {
            return Ok(Room { fits: true, lost });
        }
        let mut excess = bytes - limits.owner + slack;
        let rows = tx.query(OLDEST, values![owner, after, WINDOW, newest])?;
        let mut unneeded = Vec::new();
        for row in &rows {
            after = row.get("id")?;
            if excess == 0 {
                break;
            }
            let size = row.get::<u64>("data_bytes")? + OVERHEAD.unsigned_abs();
            match (row.get("needed")?, row.get("needed_by_owner")?) {
                (false, _) => unneeded.push(after),
                (true, false) if charge_server(tx, owner, after, size, limits.server)? => {}
                (true, _) => continue,
            }
            excess = excess.saturating_sub(size);
        }
        LostEvents::merge(&mut lost, remove(tx, &unneeded)?);
        if rows.len() < WINDOW as usize {
            break;
        }
    }
    let fits = bytes_of(tx, Some(owner))? <= limits.owner;
    Ok(Room { fits, lost })
}

/// The oldest events after `?2` that count for an owner, and whether waiting deliveries need them.
const OLDEST: &str = "SELECT e.id AS id, octet_length(e.data) AS data_bytes,
        CASE WHEN EXISTS (SELECT 1 FROM deliveries d JOIN lanes l ON l.id = d.lane_id
            WHERE d.event_id = e.id AND d.state = 'pending' AND l.removed_from IS NULL)
            THEN 1 ELSE 0 END AS needed,
        CASE WHEN EXISTS (SELECT 1 FROM deliveries d JOIN lanes l ON l.id = d.lane_id
            WHERE d.event_id = e.id AND d.state = 'pending' AND l.removed_from IS NULL
                AND l.owner_key <> 'global')
            THEN 1 ELSE 0 END AS needed_by_owner
     FROM events e WHERE e.owner_id = ?1 AND e.id > ?2 AND e.id < ?4
         AND e.charged_to IS NULL
     ORDER BY e.id LIMIT ?3";

/// Removes events that count for the server and that no waiting delivery needs, at most [`WINDOW`].
/// Otherwise the server's counter would stay full.
fn prune_charged(tx: &mut Tx<'_>) -> Result<Vec<LostEvents>, StoreError> {
    let removed = tx.list(
        &format!(
            "DELETE FROM events WHERE id IN (
                 SELECT e.id FROM events e WHERE e.charged_to IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM deliveries d
                         WHERE d.event_id = e.id AND d.state = 'pending')
                 ORDER BY e.id LIMIT ?1) RETURNING {RETURNED}"
        ),
        values![WINDOW],
    )?;
    settle(tx, &removed)
}

/// Moves an event from its owner's counter to the server's. False if the server's counter is full.
fn charge_server(
    tx: &mut Tx<'_>,
    owner: UserId,
    event: EventId,
    bytes: u64,
    limit: u64,
) -> Result<bool, StoreError> {
    if bytes_of(tx, None)? + bytes > limit {
        return Ok(false);
    }
    tx.send(
        "UPDATE events SET charged_to = 'global' WHERE id = ?1",
        values![event],
    )?;
    let by = i64::try_from(bytes).unwrap_or(i64::MAX);
    change(tx, &key(None), by)?;
    change(tx, &key(Some(owner)), -by)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
