//! Due lanes: lists owners with due lanes, and claims the lanes of one owner.
//!
//! The statements of [`first_due`] and [`claim`] are for one owner and one kind. They read the
//! index `lanes_due_by_owner` from the owner's first due lane, or `lanes_due_by_server` from the
//! first due lane of a method whose spaces are linked to this server. So their cost does not depend
//! on the number of lanes of any owner. An exception are methods whose spaces are linked to several
//! servers: a statement may have to skip those that this server is not among.

use std::collections::BTreeMap;

use svc_core::{ServerId, Timestamp};

use super::{DeliveryKind, LaneLease, declarations::SEVERAL};
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

/// Conditions for lanes of a kind that this server (`?1`) may claim, one for each part of an index.
/// The server may claim the lane of a method only if a space that declares the method is linked to
/// this server. Each condition uses `?1` and `?3`, because PostgreSQL requires that every parameter
/// is used.
fn claimable(kind: DeliveryKind) -> Vec<String> {
    let lanes = "waiting = 1 AND active = 1";
    match kind {
        DeliveryKind::Webhook | DeliveryKind::Script => {
            vec![format!("{lanes} AND delivery_kind = ?3 AND ?1 <> ''")]
        }
        DeliveryKind::Method => vec![
            format!("{lanes} AND ?3 = 'method' AND server_id = ?1"),
            format!(
                "{lanes} AND ?3 = 'method' AND server_id = '{SEVERAL}'
                 AND EXISTS (SELECT 1 FROM lane_declarations d
                     WHERE d.lane_id = lanes.id AND d.server_id = ?1)"
            ),
        ],
    }
}

/// The ranges of an index with the lanes of one owner: free lanes, and lanes whose lease has expired.
/// Each is a condition and an order.
fn ranges(lanes: &str, owner: &str) -> [(String, &'static str); 2] {
    [(FREE, "next_at"), (EXPIRED, "lease_until")]
        .map(|(held, order)| (format!("{lanes} AND owner_key = {owner} AND {held}"), order))
}

/// Selects the time at which the first of these lanes of an owner is due. Reads one lane from each
/// range.
fn first_due_of_owner(claimable: &[String], owner: &str) -> String {
    let ranges = claimable.iter().flat_map(|lanes| ranges(lanes, owner));
    let firsts = ranges.map(|(lanes, order)| {
        format!(
            "SELECT next_at FROM (SELECT next_at FROM lanes WHERE {lanes}
                 ORDER BY {order} LIMIT 1) AS first"
        )
    });
    let firsts = Vec::from_iter(firsts).join(" UNION ALL ");
    format!("SELECT MIN(next_at) FROM ({firsts}) AS firsts")
}

fn owners_sql(claimable: &str) -> String {
    format!(
        "WITH RECURSIVE owners (owner_key) AS (
             SELECT MIN(owner_key) FROM lanes WHERE {claimable}
             UNION ALL
             SELECT (SELECT MIN(owner_key) FROM lanes
                 WHERE {claimable} AND lanes.owner_key > owners.owner_key)
             FROM owners WHERE owners.owner_key IS NOT NULL)
         SELECT owner_key, ({}) AS at FROM owners WHERE owner_key IS NOT NULL",
        first_due_of_owner(&[claimable.to_owned()], "owners.owner_key")
    )
}

/// Every owner with waiting deliveries that this server may claim, by kind. Costs a few look-ups
/// for each owner with a queue that is not empty.
pub fn list_due_owners(
    tx: &mut Tx<'_>,
    server: ServerId,
    now: Timestamp,
) -> Result<Vec<DueOwner>, StoreError> {
    let (mut kinds, mut queries) = (Vec::new(), Vec::new());
    for kind in DeliveryKind::ALL {
        for lanes in claimable(kind) {
            kinds.push(kind);
            queries.push(Query {
                sql: owners_sql(&lanes),
                values: values![server, now, kind].to_vec(),
            });
        }
    }
    let mut first = BTreeMap::new();
    for (kind, rows) in kinds.into_iter().zip(tx.query_all(&queries)?) {
        for row in &rows {
            let (owner_key, at) = <(String, Option<Timestamp>)>::read(row)?;
            if let Some(at) = at {
                let (_, first) = first.entry((kind.index(), owner_key)).or_insert((kind, at));
                *first = at.min(*first);
            }
        }
    }
    let owners = first.into_iter();
    Ok(owners
        .map(|((_, owner_key), (kind, at))| DueOwner {
            kind,
            owner_key,
            at,
        })
        .collect())
}

fn first_due_sql(kind: DeliveryKind) -> String {
    format!(
        "SELECT ({}) AS at",
        first_due_of_owner(&claimable(kind), "?4")
    )
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
    let claimable = claimable(kind);
    let ranges = claimable.iter().flat_map(|lanes| ranges(lanes, "?4"));
    let due = ranges.map(|(lanes, order)| {
        format!(
            "SELECT id, lease_until, next_at FROM (SELECT id, lease_until, next_at FROM lanes
                 WHERE {lanes} AND next_at <= ?2 ORDER BY {order} LIMIT ?6) AS due"
        )
    });
    format!(
        "UPDATE lanes SET lease_owner = ?1, lease_until = ?5, fence = fence + 1 WHERE id IN (
             SELECT id FROM ({}) AS all_ranges
             ORDER BY CASE WHEN lease_until > 0 THEN 0 ELSE 1 END, lease_until, next_at LIMIT ?6)
         RETURNING id, fence",
        Vec::from_iter(due).join(" UNION ALL ")
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

#[cfg(test)]
mod tests;
