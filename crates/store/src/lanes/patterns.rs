//! The index of the patterns of lanes. It finds the lanes that an event may match, without reading
//! other lanes of the same owner.
//!
//! Each lane has a few keys: patterns of which one matches every event that the lane matches. The
//! keys of an owner have few different lengths, so a search looks up the first characters of the
//! type of an event once for each of these lengths.

use svc_core::{LaneId, pattern::Pattern};

use crate::{
    conditions::{Conditions, padded},
    error::StoreError,
    sql::{Query, Tx, values},
};

/// The maximum number of keys of a lane.
const KEYS_MAX: usize = 10;
/// The value of `chars` for an exact type.
const EXACT: i64 = -1;

/// An owner (an id, or `global`), and the type of an event that its lanes may match.
pub(crate) type OwnedType = (String, String);

/// The keys of a lane with these patterns: the patterns, or their common prefix if there are many.
fn keys(patterns: &[Pattern]) -> Vec<Pattern> {
    match patterns {
        [first, others @ ..] if patterns.len() > KEYS_MAX => {
            let common = others.iter().fold(text_of(first), |common, pattern| {
                let same = common.bytes().zip(text_of(pattern).bytes());
                // Patterns are ASCII.
                &common[..same.take_while(|(a, b)| a == b).count()]
            });
            vec![Pattern::Prefix(common.to_owned())]
        }
        _ => patterns.to_vec(),
    }
}

/// Whether a search for events of this type finds a lane with these patterns.
pub fn finds(patterns: &[Pattern], event_type: &str) -> bool {
    let matches = |pattern: &Pattern| pattern.matches(event_type);
    patterns.iter().any(matches) || patterns.len() > KEYS_MAX && keys(patterns).iter().any(matches)
}

fn text_of(pattern: &Pattern) -> &str {
    match pattern {
        Pattern::Prefix(text) | Pattern::Exact(text) => text,
    }
}

/// Writes the keys of a lane.
pub(super) fn replace(
    tx: &mut Tx<'_>,
    lane: LaneId,
    owner_key: &str,
    patterns: &[Pattern],
) -> Result<(), StoreError> {
    tx.send(
        "DELETE FROM lane_patterns WHERE lane_id = ?1",
        values![lane],
    )?;
    for key in keys(patterns) {
        let chars = match &key {
            Pattern::Prefix(text) => i64::try_from(text.len()).unwrap_or(i64::MAX),
            Pattern::Exact(_) => EXACT,
        };
        tx.send(
            "INSERT INTO lane_patterns (lane_id, owner_key, chars, text) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (lane_id, chars, text) DO NOTHING",
            values![lane, owner_key, chars, text_of(&key)],
        )?;
    }
    Ok(())
}

/// A statement that selects `columns` of the lanes that one of these events may match, and for which
/// `condition` holds, in the order of their ids.
pub(crate) fn select(wanted: &[OwnedType], columns: &str, condition: &str) -> Query {
    let mut conditions = Conditions::default();
    let pairs: Vec<_> = padded(wanted)
        .into_iter()
        .map(|(owner_key, event_type)| {
            let owner_key = conditions.placeholder(owner_key);
            format!("({owner_key}, {})", conditions.placeholder(event_type))
        })
        .collect();
    let least = "SELECT MIN(p.chars) FROM lane_patterns p WHERE p.owner_key";
    let sql = format!(
        "WITH RECURSIVE wanted (owner_key, type) AS (VALUES {}),
         lengths (owner_key, chars) AS (
             SELECT o.owner_key, ({least} = o.owner_key)
             FROM (SELECT DISTINCT owner_key FROM wanted) AS o
             UNION ALL
             SELECT l.owner_key, ({least} = l.owner_key AND p.chars > l.chars)
             FROM lengths l WHERE l.chars IS NOT NULL),
         keys (owner_key, chars, text) AS (
             SELECT DISTINCT w.owner_key, l.chars, CASE WHEN l.chars = {EXACT} THEN w.type
                 ELSE substr(w.type, 1, CAST(l.chars AS INTEGER)) END
             FROM wanted w JOIN lengths l ON l.owner_key = w.owner_key
             WHERE l.chars <= length(w.type))
         SELECT {columns} FROM lanes WHERE id IN (
             SELECT p.lane_id FROM keys k CROSS JOIN lane_patterns p
             WHERE p.owner_key = k.owner_key AND p.chars = k.chars AND p.text = k.text)
         AND {condition} ORDER BY id",
        pairs.join(", ")
    );
    Query {
        sql,
        values: conditions.values,
    }
}

#[cfg(test)]
mod tests;
