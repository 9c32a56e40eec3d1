//! [`Hub`]: told of every commit that made an event or queued something.
//!
//! It wakes the engine, feeds streams and counts. All of it is a hint: an event that the hub never
//! hears of is delivered all the same, because the engine looks by itself.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use svc_core::{LaneId, event::Event};
use tokio::sync::{Notify, broadcast};

/// Events a slow stream may lag behind before it misses some.
const STREAM_BUFFER: usize = 1_024;

/// Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Shared>);

struct Shared {
    wake: Notify,
    /// Lanes that need not wait any longer.
    due: Mutex<HashSet<LaneId>>,
    events: broadcast::Sender<Arc<Event>>,
    counters: EventCounters,
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
    /// Deliveries that nobody could take just then.
    pub paused: AtomicU64,
}

impl EventCounters {
    pub(super) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Hub {
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            wake: Notify::new(),
            due: Mutex::default(),
            events: broadcast::Sender::new(STREAM_BUFFER),
            counters: EventCounters::default(),
        }))
    }

    /// These events are durable: streams see them, and the engine looks for what they queued.
    pub fn committed(&self, events: &[Arc<Event>]) {
        if events.is_empty() {
            return;
        }
        EventCounters::add(&self.0.counters.emitted, events.len());
        for event in events {
            // Nobody listening is no failure.
            let _ = self.0.events.send(event.clone());
        }
        self.wake();
    }

    /// Something may be due.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// A lane that was paused may go on at once. A wait between attempts is not cut short.
    pub fn wake_lane(&self, lane: LaneId) {
        self.0.due.lock().insert(lane);
        self.wake();
    }

    /// Events from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.0.events.subscribe()
    }

    pub fn counters(&self) -> &EventCounters {
        &self.0.counters
    }

    /// Until somebody wakes; for the engine alone.
    pub(super) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    pub(super) fn take_due(&self) -> HashSet<LaneId> {
        std::mem::take(&mut self.0.due.lock())
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}
