//! Records what the receivers and the emitters of a simulation see. Also checks the promises that
//! can be checked during the simulation: deliveries arrive in order, none is skipped, and a lane
//! has at most one delivery in flight.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::EventId;
use svc_simulation::Trace;
use tokio::time::Instant;

use super::server::ServerRun;

/// Within this time after a freeze, a server notices that it has lost a lane.
const NOTICED_WITHIN: Duration = Duration::from_secs(1);

/// An event whose emit was acknowledged.
#[derive(Clone, Debug)]
pub struct Acknowledged {
    pub event: EventId,
    /// How many lanes queued or held the event.
    pub lanes: usize,
    /// Events of one emitter are emitted one after the other.
    pub emitter: u64,
}

/// An unfinished request to a receiver.
struct Flight {
    id: u64,
    lane: usize,
    n: u64,
    by: Arc<ServerRun>,
    began: Instant,
}

pub struct Journal {
    pub trace: Arc<Trace>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    flights: Vec<Flight>,
    next_flight: u64,
    /// For each lane, the highest number of a delivery that arrived.
    highest: HashMap<usize, u64>,
    /// The number of requests with each event.
    arrivals: HashMap<EventId, usize>,
    /// Deliveries that a receiver has accepted, by lane and number.
    accepted: HashSet<(usize, u64)>,
    acknowledged: Vec<Acknowledged>,
}

impl Journal {
    pub fn new() -> Self {
        Self {
            trace: Arc::new(Trace::begin()),
            entries: Mutex::default(),
        }
    }

    pub fn note(&self, text: &str) {
        self.trace.note(text);
    }

    pub fn break_promise(&self, text: String) {
        self.trace.break_promise(text);
    }

    /// A request for delivery `n` arrives at the receiver of a lane. Returns the number of the
    /// request, for [`end`](Self::end).
    pub fn begin(&self, (lane, n): (usize, u64), event: EventId, by: &Arc<ServerRun>) -> u64 {
        self.note(&format!("{by} sends delivery {n} of lane {lane}"));
        let highest = self.entries.lock().highest.get(&lane).copied();
        let highest = highest.unwrap_or_default();
        if n > highest + 1 {
            self.break_promise(format!(
                "order: delivery {n} of lane {lane} arrives after {highest}"
            ));
        }
        for other in self.overlaps(lane, by) {
            self.break_promise(format!(
                "one in flight: {by} sends delivery {n} of lane {lane} beside {other}"
            ));
        }
        let mut entries = self.entries.lock();
        entries.highest.insert(lane, highest.max(n));
        *entries.arrivals.entry(event).or_default() += 1;
        let id = entries.next_flight;
        entries.next_flight += 1;
        entries.flights.push(Flight {
            id,
            lane,
            n,
            by: by.clone(),
            began: Instant::now(),
        });
        id
    }

    /// Deliveries of a lane that are still in flight when `by` sends another one. A frozen server
    /// notices only after the freeze that its lease has ended. Deliveries that it sends before it
    /// notices do not count.
    fn overlaps(&self, lane: usize, by: &Arc<ServerRun>) -> Vec<String> {
        let is_excused = |run: &ServerRun, began: Instant| {
            let since = began.checked_sub(NOTICED_WITHIN).unwrap_or(began);
            run.was_unaware_since(since)
        };
        let entries = self.entries.lock();
        let others = entries.flights.iter().filter(|other| other.lane == lane);
        others
            .filter(|other| match Arc::ptr_eq(&other.by, by) {
                true => true,
                false => {
                    other.by.is_alive()
                        && !is_excused(&other.by, other.began)
                        && !is_excused(by, Instant::now())
                }
            })
            .map(|other| format!("delivery {} of {}", other.n, other.by))
            .collect()
    }

    pub fn end(&self, flight: u64) {
        let mut entries = self.entries.lock();
        entries.flights.retain(|other| other.id != flight);
    }

    /// The receiver has accepted a delivery.
    pub fn accept(&self, lane: usize, n: u64) {
        self.entries.lock().accepted.insert((lane, n));
    }

    pub fn is_accepted(&self, lane: usize, n: u64) -> bool {
        self.entries.lock().accepted.contains(&(lane, n))
    }

    /// How often an event was sent to any receiver.
    pub fn arrivals(&self, event: EventId) -> usize {
        let entries = self.entries.lock();
        entries.arrivals.get(&event).copied().unwrap_or_default()
    }

    pub fn acknowledge(&self, acknowledged: Acknowledged) {
        self.note(&format!(
            "event {} is acknowledged for {} lanes",
            acknowledged.event, acknowledged.lanes
        ));
        self.entries.lock().acknowledged.push(acknowledged);
    }

    pub fn acknowledged(&self) -> Vec<Acknowledged> {
        self.entries.lock().acknowledged.clone()
    }
}
