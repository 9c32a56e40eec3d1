//! Metrics of scripts that run on the server.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use super::{GaugeGuard, add};

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RunLabel {
    kind: &'static str,
    outcome: &'static str,
}

pub struct ScriptMetrics {
    runs: Family<RunLabel, Counter>,
    seconds: Histogram,
    running: Gauge,
}

impl ScriptMetrics {
    pub fn new(registry: &mut Registry) -> Self {
        let what = "Runs of scripts on the server, by kind and outcome";
        let runs = add(registry, "script_runs", what);
        let seconds = Histogram::new([
            0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
        ]);
        let what = "Time of a script's run";
        registry.register("script_run_seconds", what, seconds.clone());
        let what = "Scripts running on the server";
        Self {
            runs,
            seconds,
            running: add(registry, "script_runs_in_flight", what),
        }
    }

    pub fn count_run(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.runs.get_or_create(&RunLabel { kind, outcome }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts a script as running until the result is dropped.
    pub fn running(&self) -> GaugeGuard {
        GaugeGuard::new(&self.running)
    }
}
