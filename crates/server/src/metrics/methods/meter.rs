//! The counters of one method. Recording a call takes at most three atomic additions.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::{
    activity_stats::MethodCount,
    latency::{STEPS, step_of},
};

use crate::metrics::{CallOutcome, latency_series::LatencySeries};

const OUTCOMES: usize = CallOutcome::ALL.len();

#[derive(Debug)]
pub struct MethodMeter {
    outcomes: [AtomicU64; OUTCOMES],
    micros: AtomicU64,
    steps: [AtomicU64; STEPS],
    /// The counters of running calls, one for each space that shares this meter.
    in_flight: Mutex<Vec<Weak<AtomicU32>>>,
}

/// The values of the counters at one time, or their growth between two times.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    pub outcomes: [u64; OUTCOMES],
    pub latency: LatencySeries,
}

impl Default for MethodMeter {
    fn default() -> Self {
        Self {
            outcomes: [const { AtomicU64::new(0) }; OUTCOMES],
            micros: AtomicU64::new(0),
            steps: [const { AtomicU64::new(0) }; STEPS],
            in_flight: Mutex::default(),
        }
    }
}

impl MethodMeter {
    /// Records a call that ended. Only a call whose caller got an answer has a latency. The answer
    /// may be an error of the server, such as a timeout.
    pub fn record(&self, outcome: CallOutcome, took: Duration) {
        self.outcomes[outcome as usize].fetch_add(1, Relaxed);
        if outcome.is_answer() {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.micros.fetch_add(micros, Relaxed);
            self.steps[step_of(took)].fetch_add(1, Relaxed);
        }
    }

    /// Adds the counter of a provider, unless it is there already.
    pub(super) fn add_in_flight(&self, counter: &Arc<AtomicU32>) {
        let mut counters = self.in_flight.lock();
        counters.retain(|known| known.strong_count() > 0);
        let counter = Arc::downgrade(counter);
        if !counters.iter().any(|known| known.ptr_eq(&counter)) {
            counters.push(counter);
        }
    }

    pub(super) fn in_flight(&self) -> u64 {
        let counters = self.in_flight.lock();
        let running = counters.iter().filter_map(Weak::upgrade);
        running.map(|count| u64::from(count.load(Relaxed))).sum()
    }

    /// Returns the growth since `collected`, and sets `collected` to the current values. Returns
    /// `None` if nothing was added.
    pub(super) fn take_new(&self, collected: &mut Sample) -> Option<Sample> {
        let now = self.sample();
        if now == *collected {
            return None;
        }
        let new = now.minus(collected);
        *collected = now;
        Some(new)
    }

    /// Returns the growth since `collected`.
    pub(super) fn find_new(&self, collected: &Sample) -> Sample {
        self.sample().minus(collected)
    }

    fn sample(&self) -> Sample {
        Sample {
            outcomes: std::array::from_fn(|outcome| self.outcomes[outcome].load(Relaxed)),
            latency: LatencySeries {
                micros: self.micros.load(Relaxed),
                steps: std::array::from_fn(|step| self.steps[step].load(Relaxed)),
            },
        }
    }
}

impl Sample {
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, count) in self.outcomes.iter_mut().zip(&other.outcomes) {
            *sum += count;
        }
        self.latency.add(&other.latency);
    }

    /// The answered calls, for the stored statistics. The counters are not read at the same
    /// instant, so the errors are the sum of their own counters, and not the calls minus the
    /// successes.
    pub(super) fn answered(&self) -> MethodCount {
        let errors = CallOutcome::ALL
            .iter()
            .filter(|outcome| outcome.is_answer() && **outcome != CallOutcome::Ok)
            .map(|outcome| self.outcomes[*outcome as usize]);
        MethodCount {
            errors: errors.sum(),
            steps: self.latency.steps,
        }
    }

    fn minus(&self, earlier: &Self) -> Self {
        let (now, before) = (&self.latency, &earlier.latency);
        Self {
            outcomes: std::array::from_fn(|at| self.outcomes[at] - earlier.outcomes[at]),
            latency: LatencySeries {
                micros: now.micros.wrapping_sub(before.micros),
                steps: std::array::from_fn(|step| now.steps[step] - before.steps[step]),
            },
        }
    }
}
