//! The lanes of method subscriptions. The first registration of a subscribed method creates its
//! lane. All spaces of the same owner that register the method share the lane. The end of the last
//! of these registrations removes the lane (spec 6.4).
//!
//! A declaration records that a space has registered the method of a lane. In a lane that holds
//! events (`event_overflow = "hold"`), the declaration stays while its space is stopped.
//!
//! A lane and its declarations also store to which servers their spaces are linked, so that a server
//! finds its due lanes by an index.

use std::collections::HashMap;

use svc_core::{
    LaneId, SpaceId, UserId,
    pattern::Pattern,
    subscription::{Subscription, SubscriptionTotals},
};
use uuid::Uuid;

use super::{patterns, removal};
use crate::{
    error::StoreError,
    record::row,
    sql::{Tx, values},
    value::Value,
};

/// The outcome of a declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclarationOutcome {
    /// The lanes of the subscriptions, in the order of the subscriptions.
    pub lanes: Vec<LaneId>,
    pub removed: Vec<RemovedSubscription>,
}

/// A subscription that was removed with its queue, because no space declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedSubscription {
    pub owner_id: UserId,
    /// The canonical name.
    pub method: String,
    /// Deliveries that were waiting.
    pub queued: u32,
    /// Events that did not fit into the queue.
    pub dropped: u64,
}

row! { RemovedSubscription: owner_id, method, queued as "depth", dropped }

/// A subscription that a space declares, as it is stored.
struct DeclaredLane {
    id: LaneId,
    method: String,
    patterns: Vec<Pattern>,
    formatters: Vec<String>,
    holds: bool,
}

row! { DeclaredLane: id, method, patterns, formatters, holds }

impl DeclaredLane {
    fn is(&self, subscription: &Subscription) -> bool {
        self.patterns == subscription.patterns
            && self.formatters == subscription.formatters
            && self.holds == subscription.holds
    }
}

/// The lanes of a space's subscriptions, by method.
type DeclaredLanes = HashMap<String, DeclaredLane>;

fn list_declared(tx: &mut Tx<'_>, space: SpaceId) -> Result<DeclaredLanes, StoreError> {
    let lanes: Vec<DeclaredLane> = tx.list(
        "SELECT l.id, l.method, l.patterns, l.formatters, l.holds
         FROM lane_declarations d JOIN lanes l ON l.id = d.lane_id WHERE d.space_id = ?1",
        values![space],
    )?;
    let by_method = lanes.into_iter().map(|lane| (lane.method.clone(), lane));
    Ok(by_method.collect())
}

fn find_unchanged(declared: &DeclaredLanes, subscription: &Subscription) -> Option<LaneId> {
    let lane = declared.get(subscription.method.as_str())?;
    lane.is(subscription).then_some(lane.id)
}

/// The lanes of the subscriptions, if the space declares exactly these. Then [`declare`] would change
/// nothing.
pub fn find_declared(
    tx: &mut Tx<'_>,
    space: SpaceId,
    subscriptions: &[Subscription],
) -> Result<Option<Vec<LaneId>>, StoreError> {
    let declared = list_declared(tx, space)?;
    if declared.len() != subscriptions.len() {
        return Ok(None);
    }
    let lanes = subscriptions.iter();
    Ok(lanes
        .map(|subscription| find_unchanged(&declared, subscription))
        .collect())
}

/// Declares the subscriptions of a space. They replace the earlier declarations of the space. A
/// subscription is removed if this space was the last to declare it.
pub fn declare(
    tx: &mut Tx<'_>,
    owner: UserId,
    space: SpaceId,
    subscriptions: &[Subscription],
) -> Result<DeclarationOutcome, StoreError> {
    let mut declared = list_declared(tx, space)?;
    let mut lanes = Vec::with_capacity(subscriptions.len());
    for subscription in subscriptions {
        lanes.push(match find_unchanged(&declared, subscription) {
            Some(lane) => lane,
            None => declare_one(tx, owner, space, subscription)?,
        });
        declared.remove(subscription.method.as_str());
    }
    let mut ended: Vec<_> = declared.into_values().map(|lane| lane.id).collect();
    ended.sort_unstable();
    let mut removed = Vec::new();
    for lane in ended {
        removed.extend(withdraw(tx, lane, space)?);
    }
    Ok(DeclarationOutcome { lanes, removed })
}

fn declare_one(
    tx: &mut Tx<'_>,
    owner: UserId,
    space: SpaceId,
    subscription: &Subscription,
) -> Result<LaneId, StoreError> {
    let lane = upsert(tx, owner, subscription)?;
    patterns::replace(tx, lane, &owner.to_string(), &subscription.patterns)?;
    if !subscription.holds {
        // Stopped spaces keep their declarations only in lanes with `event_overflow = "hold"`.
        tx.execute(
            "DELETE FROM lane_declarations WHERE lane_id = ?1 AND space_id IN (
                 SELECT id FROM spaces WHERE state = 'stopped')",
            values![lane],
        )?;
    }
    tx.execute(
        "INSERT INTO lane_declarations (lane_id, space_id, server_id)
         VALUES (?1, ?2, (SELECT node_id FROM spaces WHERE id = ?2))
         ON CONFLICT (lane_id, space_id) DO NOTHING",
        values![lane, space],
    )?;
    set_server(tx, "id = ?1", values![lane])?;
    Ok(lane)
}

/// The value of `server_id` of a lane whose spaces are linked to several servers.
pub(super) const SEVERAL: &str = "several";

/// Records at some lanes which server their spaces are linked to.
fn set_server(tx: &mut Tx<'_>, lanes: &str, values: &[Value]) -> Result<(), StoreError> {
    let server = format!(
        "(SELECT CASE WHEN MIN(d.server_id) <> MAX(d.server_id) THEN '{SEVERAL}'
              ELSE MIN(d.server_id) END
          FROM lane_declarations d WHERE d.lane_id = lanes.id)"
    );
    tx.execute(
        &format!(
            "UPDATE lanes SET server_id = {server}
             WHERE {lanes} AND COALESCE(server_id, '') <> COALESCE({server}, '')"
        ),
        values,
    )
}

/// Records at the subscriptions of a space to which server the space is linked, after this has
/// changed.
pub(crate) fn follow_link(tx: &mut Tx<'_>, space: SpaceId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lane_declarations SET server_id = (SELECT node_id FROM spaces WHERE id = ?1)
         WHERE space_id = ?1",
        values![space],
    )?;
    let lanes = "id IN (SELECT lane_id FROM lane_declarations WHERE space_id = ?1)";
    set_server(tx, lanes, values![space])
}

row! { SubscriptionTotals: subscriptions, bytes }

/// The stored subscriptions of an owner. Reads one entry of an index for each.
pub fn totals_of(tx: &mut Tx<'_>, owner: UserId) -> Result<SubscriptionTotals, StoreError> {
    tx.get(
        "SELECT COUNT(*) AS subscriptions,
                CAST(COALESCE(SUM(pattern_bytes), 0) AS BIGINT) AS bytes
         FROM lanes WHERE owner_id = ?1 AND sink_id IS NULL",
        values![owner],
    )
}

/// Which declarations of a space are withdrawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Withdrawal {
    All,
    /// All except those with `event_overflow = "hold"`, because the space may start again.
    ExceptHolding,
}

/// Withdraws declarations of a space. Returns the subscriptions that were removed.
pub fn withdraw_space(
    tx: &mut Tx<'_>,
    space: SpaceId,
    withdrawal: Withdrawal,
) -> Result<Vec<RemovedSubscription>, StoreError> {
    let mut removed = Vec::new();
    let declared: Vec<LaneId> = match withdrawal {
        Withdrawal::All => declared_by(tx, space)?,
        Withdrawal::ExceptHolding => tx.list(
            "SELECT d.lane_id FROM lane_declarations d JOIN lanes l ON l.id = d.lane_id
             WHERE d.space_id = ?1 AND l.holds = 0 ORDER BY d.lane_id",
            values![space],
        )?,
    };
    for lane in declared {
        removed.extend(withdraw(tx, lane, space)?);
    }
    Ok(removed)
}

/// Spaces with subscriptions.
pub fn list_declaring_spaces(tx: &mut Tx<'_>) -> Result<Vec<SpaceId>, StoreError> {
    tx.list(
        "SELECT DISTINCT space_id FROM lane_declarations ORDER BY space_id",
        &[],
    )
}

/// Whether a space has subscriptions.
pub fn declares(tx: &mut Tx<'_>, space: SpaceId) -> Result<bool, StoreError> {
    Ok(!declared_by(tx, space)?.is_empty())
}

fn declared_by(tx: &mut Tx<'_>, space: SpaceId) -> Result<Vec<LaneId>, StoreError> {
    tx.list(
        "SELECT lane_id FROM lane_declarations WHERE space_id = ?1 ORDER BY lane_id",
        values![space],
    )
}

fn upsert(
    tx: &mut Tx<'_>,
    owner: UserId,
    subscription: &Subscription,
) -> Result<LaneId, StoreError> {
    tx.get(
        "INSERT INTO lanes (id, delivery_kind, owner_key, owner_id, sink_id, method, patterns,
             formatters, active, tail, depth, next_at, failures, starts, lease_until, fence, dropped,
             holds)
         VALUES (?1, 'method', ?2, ?2, NULL, ?3, ?4, ?5, 1, 0, 0, 0, 0, 0, 0, 0, 0, ?6)
         ON CONFLICT (owner_id, method) DO UPDATE SET patterns = excluded.patterns,
             holds = excluded.holds, formatters = excluded.formatters
         RETURNING id",
        values![
            LaneId(Uuid::now_v7()),
            owner,
            subscription.method.as_str(),
            &subscription.patterns,
            &subscription.formatters,
            subscription.holds
        ],
    )
}

/// Withdraws one declaration, and removes the lane if that was its last declaration.
fn withdraw(
    tx: &mut Tx<'_>,
    lane: LaneId,
    space: SpaceId,
) -> Result<Option<RemovedSubscription>, StoreError> {
    tx.execute(
        "DELETE FROM lane_declarations WHERE lane_id = ?1 AND space_id = ?2",
        values![lane, space],
    )?;
    let is_declared = tx.exists(
        "SELECT lane_id FROM lane_declarations WHERE lane_id = ?1 LIMIT 1",
        values![lane],
    )?;
    if is_declared {
        set_server(tx, "id = ?1", values![lane])?;
        return Ok(None);
    }
    let removed = tx.find(
        "SELECT owner_id, method, depth, dropped FROM lanes WHERE id = ?1",
        values![lane],
    )?;
    removal::remove(tx, lane)?;
    Ok(removed)
}
