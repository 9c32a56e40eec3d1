//! A histogram of latencies, as a metric.

use std::fmt;

use prometheus_client::encoding::{MetricEncoder, NoLabelSet};
use svc_core::latency::{STEPS, StepCounts, begin_seconds};

/// The first bound of the buckets is the lower bound of this step: 256 µs.
const FIRST_BOUND: usize = 4;
/// The number of steps between two bounds. With two steps, all bounds in microseconds are powers of
/// two.
const STEPS_OF_BUCKET: usize = 2;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatencySeries {
    pub micros: u64,
    pub steps: StepCounts,
}

impl Default for LatencySeries {
    fn default() -> Self {
        Self {
            micros: 0,
            steps: [0; STEPS],
        }
    }
}

impl LatencySeries {
    pub fn add(&mut self, other: &Self) {
        self.micros = self.micros.wrapping_add(other.micros);
        for (sum, count) in self.steps.iter_mut().zip(&other.steps) {
            *sum += count;
        }
    }

    pub fn count(&self) -> u64 {
        self.steps.iter().sum()
    }

    pub fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let mut buckets = Vec::with_capacity(STEPS / STEPS_OF_BUCKET);
        let mut from = 0;
        for bound in (FIRST_BOUND..STEPS).step_by(STEPS_OF_BUCKET) {
            let calls = self.steps[from..bound].iter().sum();
            buckets.push((begin_seconds(bound), calls));
            from = bound;
        }
        buckets.push((f64::INFINITY, self.steps[from..].iter().sum()));
        let seconds = std::time::Duration::from_micros(self.micros).as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(seconds, self.count(), &buckets, None)
    }
}
