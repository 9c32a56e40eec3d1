//! Metrics of scripts that run on the server.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

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

impl Default for ScriptMetrics {
    fn default() -> Self {
        Self {
            runs: Family::default(),
            seconds: Histogram::new([
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
            ]),
            running: Gauge::default(),
        }
    }
}

impl ScriptMetrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "script_runs",
            "Scripts run on the server, by kind and outcome",
            self.runs.clone(),
        );
        registry.register(
            "script_run_seconds",
            "Time of a script's run",
            self.seconds.clone(),
        );
        registry.register(
            "script_runs_in_flight",
            "Scripts running on the server",
            self.running.clone(),
        );
    }

    /// Counts one run.
    pub fn count_run(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.runs.get_or_create(&RunLabel { kind, outcome }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts a script as running until the result is dropped.
    pub fn running(&self) -> RunningScript {
        self.running.inc();
        RunningScript(self.running.clone())
    }
}

pub struct RunningScript(Gauge);

impl Drop for RunningScript {
    fn drop(&mut self) {
        self.0.dec();
    }
}
