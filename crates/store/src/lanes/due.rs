//! Due lanes: lists owners with due lanes, and claims the lanes of one owner.
//!
//! The statements of [`first_due`] and [`claim`] are for one owner and one kind. They read the
//! index `lanes_due_by_owner` from the owner's first due lane, so their cost does not depend on the
//! number of lanes of any owner. Lanes of methods are an exception: a statement may have to skip
//! lanes of the same owner whose spaces are not linked to this server.

use svc_core::{ServerId, Timestamp};

use super::{DeliveryKind, LaneLease};
use crate::{
    error::StoreError,
    sql::{FromRow, Query, Row, Tx, values},
};

/// An owner with waiting deliveries of a kind, and the time when the first lane is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueOwner {
    pub kind: DeliveryKind,
    pub owner_key: String,
    pub at: Timestamp,
}

/// Lanes that no server holds.
const FREE: &str = "lease_until = 0";
/// Lanes whose lease has expired. `?2` is the current time.
const EXPIRED: &str = "lease_until > 0 AND lease_until <= ?2";

/// The condition for lanes of a kind that this server (`?1`) may claim. The server may claim the
/// lane of a method only if a space that declares the method is linked to this server.
fn claim_condition(kind: DeliveryKind) -> &'static str {
    match kind {
        // Always true: PostgreSQL requires that every parameter is used.
        DeliveryKind::Webhook | DeliveryKind::Script => " AND ?1 <> ''",
        DeliveryKind::Method => {
            " AND EXISTS (SELECT 1 FROM lane_declarations d JOIN spaces s ON s.id = d.space_id
                 WHERE d.lane_id = lanes.id AND s.node_id = ?1)"
        }
    }
}

/// Selects the time at which the first lane of an owner is due. Reads one lane from each of the two
/// ranges of the index: free lanes, and lanes whose lease has expired.
fn first_due_of_owner(kind: DeliveryKind, owner: &str) -> String {
    let first = |held: &str, order: &str| {
        format!(
            "SELECT next_at FROM (SELECT next_at FROM lanes WHERE waiting = 1 AND active = 1
                 AND delivery_kind = ?3 AND owner_key = {owner} AND {held}{}
                 ORDER BY {order} LIMIT 1) AS first",
            claim_condition(kind)
        )
    };
    format!(
        "SELECT MIN(next_at) FROM ({} UNION ALL {}) AS firsts",
        first(FREE, "next_at"),
        first(EXPIRED, "lease_until")
    )
}

fn owners_sql(kind: DeliveryKind) -> String {
    let waiting = "lanes WHERE waiting = 1 AND active = 1 AND delivery_kind = ?3";
    format!(
        "WITH RECURSIVE owners (owner_key) AS (
             SELECT MIN(owner_key) FROM {waiting}
             UNION ALL
             SELECT (SELECT MIN(owner_key) FROM {waiting} AND lanes.owner_key > owners.owner_key)
             FROM owners WHERE owners.owner_key IS NOT NULL)
         SELECT owner_key, ({}) AS at FROM owners WHERE owner_key IS NOT NULL",
        first_due_of_owner(kind, "owners.owner_key")
    )
}

/// Every owner with waiting deliveries that this server may claim, by kind. Costs a few look-ups
/// for each owner with a queue that is not empty.
pub fn list_due_owners(
    tx: &mut Tx<'_>,
    server: ServerId,
    now: Timestamp,
) -> Result<Vec<DueOwner>, StoreError> {
    let queries = DeliveryKind::ALL.map(|kind| Query {
        sql: owners_sql(kind),
        values: values![server, now, kind].to_vec(),
    });
    let mut owners = Vec::new();
    for (kind, rows) in DeliveryKind::ALL.into_iter().zip(tx.query_all(&queries)?) {
        for row in &rows {
            let (owner_key, at) = <(String, Option<Timestamp>)>::read(row)?;
            owners.extend(at.map(|at| DueOwner {
                kind,
                owner_key,
                at,
            }));
        }
    }
    Ok(owners)
}

fn first_due_sql(kind: DeliveryKind) -> String {
    format!("SELECT ({}) AS at", first_due_of_owner(kind, "?4"))
}

/// A claim of due lanes of one owner and one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim<'a> {
    pub kind: DeliveryKind,
    pub owner_key: &'a str,
    /// The maximum number of lanes.
    pub limit: usize,
}

impl Claim<'_> {
    fn select_first_due(&self, server: ServerId, now: Timestamp) -> Query {
        Query {
            sql: first_due_sql(self.kind),
            values: values![server, now, self.kind, self.owner_key].to_vec(),
        }
    }

    fn update(&self, server: ServerId, (now, until): (Timestamp, Timestamp)) -> Query {
        Query {
            sql: claim_sql(self.kind),
            values: values![server, now, self.kind, self.owner_key, until, self.limit].to_vec(),
        }
    }
}

/// For each claim, the time at which the first lane that this server may claim is due.
pub fn first_due(
    tx: &mut Tx<'_>,
    server: ServerId,
    claims: &[Claim<'_>],
    now: Timestamp,
) -> Result<Vec<Option<Timestamp>>, StoreError> {
    let queries: Vec<_> = claims
        .iter()
        .map(|claim| claim.select_first_due(server, now))
        .collect();
    let first = tx.query_all(&queries)?;
    first.iter().map(|rows| read_first_due(rows)).collect()
}

fn read_first_due(rows: &[Row]) -> Result<Option<Timestamp>, StoreError> {
    rows.first().map_or(Ok(None), Option::read)
}

fn claim_sql(kind: DeliveryKind) -> String {
    let due = |held: &str, order: &str| {
        format!(
            "SELECT id FROM (SELECT id FROM lanes WHERE waiting = 1 AND active = 1
                 AND delivery_kind = ?3 AND owner_key = ?4 AND {held} AND next_at <= ?2{}
                 ORDER BY {order} LIMIT ?6) AS due",
            claim_condition(kind)
        )
    };
    format!(
        "UPDATE lanes SET lease_owner = ?1, lease_until = ?5, fence = fence + 1 WHERE id IN (
             SELECT id FROM ({} UNION ALL {}) AS both_ranges LIMIT ?6) RETURNING id, fence",
        due(EXPIRED, "lease_until"),
        due(FREE, "next_at")
    )
}

/// The lanes that were claimed, and when the next lane of the owner is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claimed {
    pub leases: Vec<LaneLease>,
    pub next_due: Option<Timestamp>,
}

/// Claims due lanes that this server may claim: first lanes whose lease has expired, beginning with
/// the longest expired, then free lanes, beginning with the longest due. `span` is the current time
/// and the end of the leases.
pub fn claim(
    tx: &mut Tx<'_>,
    server: ServerId,
    claims: &[Claim<'_>],
    span: (Timestamp, Timestamp),
) -> Result<Vec<Claimed>, StoreError> {
    let mut queries = Vec::new();
    for claim in claims {
        queries.push(claim.update(server, span));
        queries.push(claim.select_first_due(server, span.0));
    }
    let answers = tx.query_all(&queries)?;
    answers
        .chunks(2)
        .map(|answer| {
            Ok(Claimed {
                leases: answer[0]
                    .iter()
                    .map(LaneLease::read)
                    .collect::<Result<_, _>>()?,
                next_due: read_first_due(&answer[1])?,
            })
        })
        .collect()
}

/// Sets the kind of lanes that a server of an earlier version created.
pub fn correct_kinds(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET delivery_kind = 'method'
         WHERE kind = 'method' AND delivery_kind <> 'method'",
        &[],
    )?;
    tx.execute(
        "UPDATE lanes SET delivery_kind = 'script' WHERE delivery_kind = 'webhook' AND sink_id IN (
             SELECT id FROM event_sinks WHERE type = 'script')",
        &[],
    )
}

#[cfg(test)]
mod tests;
