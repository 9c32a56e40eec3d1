//! Feeds: requests to send past events to the receiver of a lane again. The events of a feed are
//! queued little by little, as the queue of the lane empties.

use serde::{Deserialize, Serialize};
use svc_core::{LaneId, Timestamp};
use svc_protocol::api::{FeedKind, FeedProgress};

use crate::{
    error::StoreError,
    record::row,
    sql::{FromRow, Row, Tx, values},
    value::as_json,
};

/// Which past events a feed sends. The meaning of [`Feed::position`] differs for each kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FeedSelection {
    /// The deliveries with these numbers. The position is how many of the numbers were handled.
    Deliveries { numbers: Vec<u64> },
    /// Dead deliveries that ended at `since` or later, up to the delivery with the number
    /// `until_n`. The position is the number of the last delivery that was handled.
    Dead { since: Timestamp, until_n: u64 },
    /// Stored events of a time span that match the patterns of the sink. The position is the id of
    /// the last event that was handled.
    Replay {
        since: Timestamp,
        until: Timestamp,
        only_undelivered: bool,
    },
}

as_json!(FeedSelection);

impl FeedSelection {
    fn kind(&self) -> FeedKind {
        match self {
            Self::Deliveries { .. } | Self::Dead { .. } => FeedKind::Resend,
            Self::Replay { .. } => FeedKind::Replay,
        }
    }
}

/// An unfinished feed of a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feed {
    pub n: u64,
    pub selection: FeedSelection,
    pub position: String,
}

row! { Feed: n, selection, position }

/// A feed that is about to begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFeed {
    pub selection: FeedSelection,
    pub position: String,
    /// The number of events that the request selected.
    pub total: u32,
    pub started_at: Timestamp,
}

impl FromRow for FeedProgress {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            kind: row.get::<FeedSelection>("selection")?.kind(),
            total: row.get("total")?,
            queued: row.get("queued")?,
            since: row.get("started_at")?,
        })
    }
}

/// Adds a feed after the other feeds of its lane.
pub fn add_feed(tx: &mut Tx<'_>, lane: LaneId, feed: &NewFeed) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO lane_feeds (lane_id, n, selection, position, total, started_at)
         VALUES (?1, (SELECT COALESCE(MAX(n), 0) + 1 FROM lane_feeds WHERE lane_id = ?1),
                 ?2, ?3, ?4, ?5)",
        values![
            lane,
            &feed.selection,
            &feed.position,
            feed.total,
            feed.started_at
        ],
    )?;
    tx.execute(
        "UPDATE lanes SET feeds = feeds + 1, refilling = 1 WHERE id = ?1",
        values![lane],
    )
}

/// The number of unfinished feeds of a lane.
pub fn count_feeds(tx: &mut Tx<'_>, lane: LaneId) -> Result<u32, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM lane_feeds WHERE lane_id = ?1",
        values![lane],
    )
}

/// The oldest feed of a lane.
pub fn find_feed(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<Feed>, StoreError> {
    tx.find(
        "SELECT n, selection, position FROM lane_feeds WHERE lane_id = ?1 ORDER BY n LIMIT 1",
        values![lane],
    )
}

/// The progress of the unfinished feeds of a lane, oldest first.
pub fn list_progress(tx: &mut Tx<'_>, lane: LaneId) -> Result<Vec<FeedProgress>, StoreError> {
    tx.list(
        "SELECT selection, total, queued, started_at FROM lane_feeds WHERE lane_id = ?1 ORDER BY n",
        values![lane],
    )
}

/// Records that a feed has queued `queued` more events, and where it continues.
pub fn move_feed(
    tx: &mut Tx<'_>,
    lane: LaneId,
    n: u64,
    (position, queued): (&str, usize),
) -> Result<(), StoreError> {
    tx.send(
        "UPDATE lane_feeds SET position = ?3, queued = queued + ?4 WHERE lane_id = ?1 AND n = ?2",
        values![lane, n, position, queued],
    )
}

pub fn end_feed(tx: &mut Tx<'_>, lane: LaneId, n: u64) -> Result<(), StoreError> {
    tx.send(
        "DELETE FROM lane_feeds WHERE lane_id = ?1 AND n = ?2",
        values![lane, n],
    )?;
    tx.send(
        "UPDATE lanes SET feeds = feeds - 1,
             refilling = CASE WHEN feeds <= 1 AND refill_from IS NULL THEN 0 ELSE 1 END
         WHERE id = ?1 AND feeds > 0",
        values![lane],
    )
}
