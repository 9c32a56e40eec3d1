//! Metrics of events: attempts as they are made, queues as they stand when somebody asks.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use svc_core::Timestamp;
use svc_store::lanes::{Backlog, Totals};

/// A sink's name, or that of a subscribed method; names are an owner's own business, so the owner
/// (an id, or `global`) stands beside it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ReceiverLabel {
    receiver: String,
    owner: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct AttemptLabel {
    receiver: String,
    owner: String,
    outcome: &'static str,
}

/// What happened since the start, for metrics. Drops are counted durably, in the lanes.
#[derive(Debug, Default)]
pub struct EventCounters {
    pub emitted: AtomicU64,
    /// Attempts that delivered.
    pub delivered: AtomicU64,
    /// Attempts that failed, the last ones of dead deliveries included.
    pub failed: AtomicU64,
    /// Deliveries given up.
    pub dead: AtomicU64,
    /// Deliveries put off without an attempt.
    pub paused: AtomicU64,
}

impl EventCounters {
    pub fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// How an attempt at a delivery ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptOutcome {
    Delivered,
    Failed,
    Unrenderable,
}

impl AttemptOutcome {
    fn label(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Unrenderable => "unrenderable",
        }
    }
}

#[derive(Default)]
pub struct EventMetrics {
    attempts: Family<AttemptLabel, Counter>,
    emitted: Counter,
    dead: Counter,
    dropped: Counter,
    queued: Gauge,
    queue_depth: Family<ReceiverLabel, Gauge>,
    lag_seconds: Family<ReceiverLabel, Gauge<f64, AtomicU64>>,
}

impl EventMetrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("events_emitted", "Events committed", self.emitted.clone());
        registry.register(
            "event_attempts",
            "Attempts at deliveries by receiver and outcome",
            self.attempts.clone(),
        );
        registry.register(
            "event_deliveries_dead",
            "Deliveries given up",
            self.dead.clone(),
        );
        registry.register(
            "event_drops",
            "Events dropped because a queue was full",
            self.dropped.clone(),
        );
        registry.register("event_queued", "Deliveries waiting", self.queued.clone());
        registry.register(
            "event_queue_depth",
            "Deliveries waiting, by receiver; those with none are left out",
            self.queue_depth.clone(),
        );
        registry.register(
            "event_lag_seconds",
            "Age of the oldest waiting delivery, by receiver",
            self.lag_seconds.clone(),
        );
    }

    /// Counts one attempt.
    pub fn attempted(&self, receiver: &str, owner: &str, outcome: AttemptOutcome) {
        let label = AttemptLabel {
            receiver: receiver.to_owned(),
            owner: owner.to_owned(),
            outcome: outcome.label(),
        };
        self.attempts.get_or_create(&label).inc();
    }

    /// Takes in what is counted elsewhere.
    pub fn update(
        &self,
        counters: &EventCounters,
        totals: Totals,
        backlog: &[Backlog],
        now: Timestamp,
    ) {
        raise(&self.emitted, &counters.emitted);
        raise(&self.dead, &counters.dead);
        self.dropped
            .inc_by(totals.dropped.saturating_sub(self.dropped.get()));
        self.queued
            .set(i64::try_from(totals.queued).unwrap_or(i64::MAX));
        self.queue_depth.clear();
        self.lag_seconds.clear();
        for lane in backlog {
            let label = ReceiverLabel {
                receiver: lane.name.clone(),
                owner: lane.owner.clone(),
            };
            self.queue_depth
                .get_or_create(&label)
                .inc_by(lane.depth.into());
            let lag = now.since(lane.oldest).as_secs_f64();
            self.lag_seconds.get_or_create(&label).set(lag);
        }
    }
}

/// Brings a counter up to what was counted elsewhere.
fn raise(counter: &Counter, counted: &AtomicU64) {
    let counted = counted.load(Ordering::Relaxed);
    counter.inc_by(counted.saturating_sub(counter.get()));
}
