//! Metrics of events: attempts as they are made, queues as they stand when somebody asks.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use svc_core::Timestamp;
use svc_store::lanes::{Backlog, Totals};

use crate::events::{hub::EventCounters, lanes::Sent};

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
    pub fn attempted(&self, receiver: &str, owner: &str, sent: &Sent) {
        let outcome = match sent {
            Sent::Delivered(_) => "delivered",
            Sent::Failed(_) => "failed",
            Sent::Dead(_) => "unrenderable",
            // Nobody attempted it.
            Sent::Paused | Sent::Withheld(_) => return,
        };
        let label = AttemptLabel {
            receiver: receiver.to_owned(),
            owner: owner.to_owned(),
            outcome,
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
