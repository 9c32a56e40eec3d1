//! The delivery engine: delivers the events in lanes to their receivers, in order, and retries
//! (spec 6.5). A lane has one delivery in flight, or several with different keys.
//!
//! Parts: [`Engine`] finds due lanes and claims them. `schedule` decides which owner's lanes get
//! the delivery slots. One `worker` per claimed lane delivers until the lane is empty or must wait.
//! `turn` holds the transactions that begin deliveries and record their results. A [`Deliver`]
//! makes the attempts. `refill` queues stored events in lanes that have fallen behind, and in
//! lanes with a feed: a resend or replay in progress. `removal` removes the deliveries of removed
//! lanes.
//!
//! Invariants: no task exists for a lane with nothing due. No owner occupies all slots of a kind,
//! if the kind has at least two slots. Apart from the regular scans, an owner who may not take a
//! slot causes no work until a slot is released. At most [`window_of`] deliveries of a lane are
//! sent without a recorded result, so a crash repeats at most these. A worker records results with
//! the fence of its claim; if the lane has another fence, the results are discarded.

mod claim;
mod engine;
mod ready;
mod refill;
mod removal;
mod retention;
mod run;
mod schedule;
mod turn;
mod worker;
mod write;

#[cfg(test)]
mod tests;

use std::{future::Future, sync::Arc, time::Duration};

use svc_core::{
    LaneId, Timestamp, UserId,
    event::Event,
    lane::{LEASE, RetryPolicy},
};
use svc_protocol::api::{Attempt, Exchange, SinkType};
use svc_store::sinks::SinkRow;

use super::emit::StorageLimits;

pub use self::{
    engine::Engine,
    retention::{Pruned, Retention, prune},
    schedule::Slots,
};

/// One attempt to make.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    pub lane: LaneId,
    /// The delivery's number in its lane.
    pub n: u64,
    /// The first attempt is 1.
    pub attempt: u32,
    pub event: Event,
    pub destination: Destination,
    /// The attempt is not made before this time. Used only for sinks that are ordered by a key.
    pub retry_at: Timestamp,
    /// Deliveries with the same key are made one after the other. If a sink is not ordered by a
    /// key, all its deliveries have the same key.
    pub key: String,
}

/// The receiver of an attempt.
#[derive(Clone, PartialEq, Debug)]
pub enum Destination {
    Sink(Arc<SinkRow>),
    Method {
        owner_id: UserId,
        /// The canonical name.
        method: String,
        /// Names of json-rpc sinks, in the order in which they are looked up (spec 6.4).
        formatters: Vec<String>,
    },
}

/// How many deliveries of a lane may be sent without a recorded result, including those in flight.
/// Only webhooks may have more than one: a receiver can recognise a repeated event by its id, but a
/// script or a method would repeat its effects.
fn window_of(sink: Option<&SinkRow>) -> usize {
    match sink {
        Some(sink) if sink.is_keyed() => {
            sink.policy.max_repeats.max(sink.policy.in_flight) as usize
        }
        Some(sink) if sink.kind == SinkType::Webhook => sink.policy.max_repeats as usize,
        _ => 1,
    }
}

/// How many deliveries of a lane may be in flight at the same time.
fn in_flight_max(sink: Option<&SinkRow>) -> usize {
    let keyed = sink.filter(|sink| sink.is_keyed());
    keyed.map_or(1, |sink| sink.policy.in_flight as usize)
}

#[derive(Clone, PartialEq, Debug)]
pub enum AttemptResult {
    Delivered(AttemptDetail),
    Failed(AttemptDetail),
    /// A retry cannot succeed, for example because the template does not render.
    Dead(AttemptDetail),
    /// A stored text of the sink cannot be read. The sink is paused until the text is corrected.
    Unreadable(AttemptDetail),
    /// The receiver is not available now. No attempt is spent. The next attempt begins after a
    /// wake-up or after [`LanePolicy::pause`].
    Paused,
    /// Delivery is not allowed, for this reason. No attempt is spent. The next attempt begins after
    /// [`LanePolicy::withhold`].
    Withheld(String),
}

impl AttemptResult {
    /// The label of the metrics; `None` if no attempt was made.
    pub fn outcome(&self) -> Option<&'static str> {
        match self {
            Self::Delivered(_) => Some("delivered"),
            Self::Failed(_) => Some("failed"),
            Self::Dead(_) | Self::Unreadable(_) => Some("unrenderable"),
            Self::Paused | Self::Withheld(_) => None,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct AttemptDetail {
    /// The HTTP status, if there was an HTTP answer.
    pub status: Option<u16>,
    pub ms: u64,
    pub error: Option<String>,
    /// The start of the answer, or the output of the script.
    pub output: Option<String>,
    /// The `Retry-After` of the answer.
    pub retry_after: Option<Duration>,
    /// The exchange with the receiver, if the sink keeps exchanges.
    pub exchange: Option<Box<Exchange>>,
}

impl AttemptDetail {
    /// An attempt that failed before anything was sent.
    pub fn error(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::default()
        }
    }

    pub fn into_attempt(self, at: Timestamp) -> Attempt {
        Attempt {
            at,
            status: self.status,
            ms: self.ms,
            error: self.error,
            output: self.output,
            output_omitted: false,
            exchange: self.exchange,
        }
    }
}

/// An attempt without an error has delivered the event.
impl From<AttemptDetail> for AttemptResult {
    fn from(detail: AttemptDetail) -> Self {
        match detail.error {
            None => Self::Delivered(detail),
            Some(_) => Self::Failed(detail),
        }
    }
}

/// Whether the filter of a sink is true for an event, or why it cannot be evaluated.
pub type FilterResult = Result<bool, String>;

/// Makes attempts.
pub trait Deliver: Send + Sync + 'static {
    fn deliver(&self, job: Job) -> impl Future<Output = AttemptResult> + Send;

    /// The keys of events for a sink that is ordered by a key, in the order of the events. Fails if
    /// the stored expression cannot be read.
    fn keys(
        &self,
        sink: &SinkRow,
        events: Vec<Event>,
    ) -> impl Future<Output = Result<Vec<String>, String>> + Send;

    /// Evaluates the filter of a sink for events, in their order. The evaluation counts towards the
    /// share of `user` in the threads. Returns fewer results than events if the evaluation takes
    /// long, and an error if no event was evaluated.
    fn filter(
        &self,
        user: UserId,
        filter: String,
        events: Vec<Event>,
    ) -> impl Future<Output = Result<Vec<FilterResult>, String>> + Send;
}

/// Times and limits of the delivery engine.
#[derive(Clone, Debug)]
pub struct LanePolicy {
    pub retry: RetryPolicy,
    /// How long a claim is valid without renewal. Workers renew after a third of this time.
    pub lease: Duration,
    /// How long a lane waits after [`AttemptResult::Paused`]; longer if many lanes of its owner are
    /// paused.
    pub pause: Duration,
    /// How long a lane waits after [`AttemptResult::Withheld`].
    pub withhold: Duration,
    /// The longest time between two scans for due lanes, unless a scan itself takes long.
    pub poll: Duration,
    /// Limits of the deliveries that run at the same time.
    pub slots: Slots,
    /// How long deliveries in flight may continue when the server stops.
    pub drain: Duration,
    pub retention: Retention,
    /// Limits of the texts of attempts that are stored for an owner.
    pub storage: StorageLimits,
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
            storage: StorageLimits::default(),
        }
    }
}
