//! Numbers of events. They follow the order of commits, because write transactions run one at a
//! time and assign the numbers of their events. A lane (the queue of a sink or of a subscribed
//! method) that gets its events from the stored events reads them in the order of their numbers.

use svc_core::{EventId, Timestamp, UserId};

use crate::{
    conditions::Conditions,
    error::StoreError,
    record::row,
    sql::{Tx, values},
};

/// An event without its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberedEvent {
    pub seq: u64,
    pub id: EventId,
    pub r#type: String,
    pub ts: Timestamp,
    pub owner_id: UserId,
    pub data_bytes: u64,
}

row! { NumberedEvent: seq, id, r#type as "type", ts, owner_id, data_bytes }

/// The number of the newest event as an SQL expression. In a transaction that inserts events, the
/// number is right only after [`set_newest`].
pub(crate) const NEWEST: &str = "COALESCE((SELECT newest FROM event_numbers WHERE id = 1), 0)";

/// Records the number of the newest event.
pub(crate) fn set_newest(tx: &mut Tx<'_>, newest: u64) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO event_numbers (id, newest) VALUES (1, ?1)
         ON CONFLICT (id) DO UPDATE SET newest = excluded.newest",
        values![newest],
    )
}

/// The number of the newest event; 0 if there never was an event. Events that are stored later get
/// higher numbers, so later statements of the transaction see all events up to this number.
pub fn newest_number(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    tx.get(&format!("SELECT {NEWEST}"), &[])
}

/// At most `limit` events from the number `from` on, in the order of their numbers: of one owner,
/// or of all owners.
pub fn list_numbered(
    tx: &mut Tx<'_>,
    owner: Option<UserId>,
    from: u64,
    limit: usize,
) -> Result<Vec<NumberedEvent>, StoreError> {
    let mut conditions = Conditions::new("seq >= ?", from);
    conditions.add_some("owner_id = ?", owner);
    let limit = conditions.placeholder(limit);
    tx.list(
        &format!(
            "SELECT seq, id, type, ts, owner_id, octet_length(data) AS data_bytes FROM events
             WHERE {} ORDER BY seq LIMIT {limit}",
            conditions.sql
        ),
        &conditions.values,
    )
}
