//! Metrics of sources and schedules.

use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use super::{OutcomeLabel, add};

pub struct SourceMetrics {
    requests: Family<OutcomeLabel, Counter>,
    runs: Family<OutcomeLabel, Counter>,
}

impl SourceMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            requests: add(
                registry,
                "source_requests",
                "Requests to sources by outcome",
            ),
            runs: add(
                registry,
                "schedule_runs",
                "Due runs of schedules by outcome",
            ),
        }
    }

    pub fn count_request(&self, outcome: &'static str) {
        self.requests.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub fn count_run(&self, outcome: &'static str) {
        self.runs.get_or_create(&OutcomeLabel { outcome }).inc();
    }
}
