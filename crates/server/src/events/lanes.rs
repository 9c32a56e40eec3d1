//! Delivery: takes what waits in lanes to its receivers, in order, one at a time per lane, and
//! tries again as spec 6.5 says.
//!
//! Cast: [`Engine`] looks for lanes that are due and claims them; `schedule` decides whose lanes
//! get the delivery slots; a worker per claimed lane delivers until the lane is empty or must wait;
//! `turn` holds the transactions that begin and
//! finish a delivery; whoever really sends is a [`Deliver`].
//!
//! Invariants: no task exists for a lane with nothing due. No owner occupies all slots of a kind, and
//! lanes that an owner may not claim now cost nothing.
//! Nothing is sent before its start is durable. Whoever finishes shows the fence of their claim;
//! if it is not the lane's any more, what they know is thrown away.

mod engine;
mod retention;
mod schedule;
mod turn;
mod worker;

#[cfg(test)]
mod tests;

use std::{future::Future, time::Duration};

use svc_core::{
    LaneId, UserId,
    event::Event,
    lane::{LEASE, RetryPolicy},
};

pub use self::{
    engine::Engine,
    retention::{Pruned, Retention, prune},
    schedule::Slots,
};
use crate::metrics::AttemptOutcome;

/// One attempt to be made.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    pub lane: LaneId,
    /// The delivery's number in its lane.
    pub n: u64,
    /// From 1.
    pub attempt: u32,
    pub event: Event,
    pub target: Target,
}

/// Whom it goes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    /// Boxed: it is by far the larger.
    Sink(Box<svc_store::sinks::SinkRow>),
    Method {
        owner_id: UserId,
        /// Its canonical name.
        method: String,
        /// Names of json-rpc sinks, in the order they are asked (spec 6.4).
        formatters: Vec<String>,
    },
}

/// What one attempt came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Sent {
    Delivered(AttemptDetail),
    Failed(AttemptDetail),
    /// Trying again cannot help: the template does not render.
    Dead(AttemptDetail),
    /// Nobody can take it now. No attempt is spent; it is tried again when woken or after a moment.
    Paused,
    /// It may not be attempted, for this reason, until somebody changes that. No attempt is spent;
    /// it is looked at again after a while.
    Withheld(String),
}

impl Sent {
    /// `None` when no attempt was made.
    pub fn outcome(&self) -> Option<AttemptOutcome> {
        match self {
            Self::Delivered(_) => Some(AttemptOutcome::Delivered),
            Self::Failed(_) => Some(AttemptOutcome::Failed),
            Self::Dead(_) => Some(AttemptOutcome::Unrenderable),
            Self::Paused | Self::Withheld(_) => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttemptDetail {
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    pub ms: u64,
    pub error: Option<String>,
    /// The beginning of the answer.
    pub output: Option<String>,
}

/// Makes attempts.
pub trait Deliver: Send + Sync + 'static {
    fn deliver(&self, job: Job) -> impl Future<Output = Sent> + Send;
}

/// Timings and sizes of delivery.
#[derive(Clone, Debug)]
pub struct LanePolicy {
    pub retry: RetryPolicy,
    /// How long a lane is held without a sign of life; renewed at a third of it.
    pub lease: Duration,
    /// How long a lane rests whose receiver cannot take anything.
    pub pause: Duration,
    /// How long a lane rests from which nothing may be delivered.
    pub withhold: Duration,
    /// How often to look when nobody wakes the engine.
    pub poll: Duration,
    /// Deliveries that run at the same time.
    pub slots: Slots,
    /// How long deliveries in flight may take to end when the server stops.
    pub drain: Duration,
    pub retention: Retention,
}

impl Default for LanePolicy {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            lease: LEASE,
            pause: Duration::from_secs(1),
            withhold: Duration::from_secs(5),
            poll: Duration::from_millis(500),
            slots: Slots::default(),
            drain: Duration::from_secs(5),
            retention: Retention::default(),
        }
    }
}
