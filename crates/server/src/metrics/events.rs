//! Metrics of events. Attempts are counted when they are made, queues are read when the metrics are
//! requested.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use svc_core::Timestamp;
use svc_store::lanes::{Backlog, Totals};

use super::add;

/// The name of a sink or of a subscribed method. Names are unique per owner only, so the label
/// includes the owner (an id, or `global`).
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

/// Counters since the start of the server. Drops are stored in the lanes instead.
#[derive(Debug, Default)]
pub struct EventCounters {
    pub emitted: AtomicU64,
    /// Deliveries whose attempts all failed.
    pub dead: AtomicU64,
}

impl EventCounters {
    pub fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
}

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
    pub fn new(registry: &mut Registry) -> Self {
        let attempts = "Attempts at deliveries by receiver and outcome";
        let dropped = "Events dropped because a queue was full";
        let depth = "Deliveries waiting, by receiver; receivers without any are omitted";
        let lag = "Age of the oldest waiting delivery, by receiver";
        Self {
            emitted: add(registry, "events_emitted", "Events committed"),
            attempts: add(registry, "event_attempts", attempts),
            dead: add(registry, "event_deliveries_dead", "Deliveries given up"),
            dropped: add(registry, "event_drops", dropped),
            queued: add(registry, "event_queued", "Deliveries waiting"),
            queue_depth: add(registry, "event_queue_depth", depth),
            lag_seconds: add(registry, "event_lag_seconds", lag),
        }
    }

    pub fn attempted(&self, receiver: String, owner: String, outcome: &'static str) {
        let label = AttemptLabel {
            receiver,
            owner,
            outcome,
        };
        self.attempts.get_or_create(&label).inc();
    }

    /// Updates the metrics from the counters and the lanes.
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

/// Sets a counter to a value that was counted elsewhere. Counters can only be increased.
fn raise(counter: &Counter, counted: &AtomicU64) {
    let counted = counted.load(Ordering::Relaxed);
    counter.inc_by(counted.saturating_sub(counter.get()));
}
