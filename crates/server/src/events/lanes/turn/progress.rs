//! The result of a transaction on a lane.

use std::sync::Arc;

use svc_core::{EventId, Timestamp, event::Event};
use svc_store::lanes::{LaneLease, Receiver};

use super::Job;

/// The result of a transaction.
#[derive(Clone, Debug)]
pub struct LaneProgress {
    pub held: LaneLease,
    pub now: Timestamp,
    pub next: LaneNext,
    /// Whether a server crashed while the delivery at the head was in flight.
    pub is_after_crash: bool,
    pub dead: Vec<DeadDelivery>,
    /// The `sink.*` events that this transaction created.
    pub raised: Vec<Arc<Event>>,
    /// Whether the refiller can queue stored events: the lane has room, and it has fallen behind or
    /// a user has asked to send past events again.
    pub can_refill: bool,
}

impl LaneProgress {
    /// When a lane that was released at once is due again, if it must wait.
    pub fn released_until(&self) -> Option<Timestamp> {
        match self.next {
            LaneNext::Released { next_at } => Some(next_at).filter(|at| *at > self.now),
            LaneNext::Jobs { .. } | LaneNext::Drain => None,
        }
    }
}

#[derive(Clone, Debug)]
pub enum LaneNext {
    /// The lane was released. Its next delivery, if there is one, may begin at this time.
    Released { next_at: Timestamp },
    /// Further deliveries, in order. Empty if no further delivery can be read now.
    Jobs {
        jobs: Vec<Job>,
        /// Whether `jobs` replace the deliveries that the worker has read and not sent.
        replace: bool,
    },
    /// Nothing further may be sent. The lane is released when the deliveries in flight have ended.
    Drain,
}

/// A delivery that ended as dead, for the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadDelivery {
    /// The owner of the lane, or `global`.
    pub owner_key: String,
    pub receiver: Receiver,
    pub event_id: EventId,
    pub event_type: String,
    pub error: String,
}
