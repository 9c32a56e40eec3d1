//! Metrics of events. Events and attempts are counted when they happen. Queues and drops are read
//! from the lanes when the metrics are requested, for all requests of a second together.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};
use svc_core::Timestamp;
use svc_store::lanes::{Backlog, Totals};

use super::{add, receivers::ReceiverMetrics};

/// Counters since the start of the server. Drops are stored in the lanes instead.
#[derive(Debug, Default)]
pub struct EventCounters {
    pub emitted: AtomicU64,
    /// Deliveries that were given up.
    pub dead: AtomicU64,
}

impl EventCounters {
    pub fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
}

pub struct EventMetrics {
    pub receivers: Arc<ReceiverMetrics>,
    emitted: Counter,
    dead: Counter,
    dropped: Counter,
    queued: Gauge,
}

impl EventMetrics {
    pub fn new(registry: &mut Registry, receivers: usize) -> Self {
        let dropped = "Events dropped because a queue was full";
        let receivers = Arc::new(ReceiverMetrics::new(receivers));
        registry.register_collector(Box::new(Arc::clone(&receivers)));
        Self {
            receivers,
            emitted: add(registry, "events_emitted", "Events committed"),
            dead: add(registry, "event_deliveries_dead", "Deliveries given up"),
            dropped: add(registry, "event_drops", dropped),
            queued: add(registry, "event_queued", "Deliveries waiting"),
        }
    }

    pub fn update(&self, counters: &EventCounters) {
        raise(&self.emitted, &counters.emitted);
        raise(&self.dead, &counters.dead);
    }

    pub fn set_lanes(&self, totals: Totals, backlog: &[Backlog], now: Timestamp) {
        self.dropped
            .inc_by(totals.dropped.saturating_sub(self.dropped.get()));
        self.queued
            .set(i64::try_from(totals.queued).unwrap_or(i64::MAX));
        self.receivers.set_backlog(backlog, now);
    }
}

/// Sets a counter to a value that was counted elsewhere. Counters can only be increased.
fn raise(counter: &Counter, counted: &AtomicU64) {
    let counted = counted.load(Ordering::Relaxed);
    counter.inc_by(counted.saturating_sub(counter.get()));
}
