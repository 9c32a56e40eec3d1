//! Metrics of the export of traces.

use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use super::{OutcomeLabel, add};

/// What happened to a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpanOutcome {
    Exported,
    /// The queue was full.
    Dropped,
    /// The receiver refused the span.
    Rejected,
    /// The receiver could not be reached for too long.
    Unreachable,
}

pub struct TraceMetrics {
    spans: [Counter; 4],
}

impl TraceMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let spans: Family<OutcomeLabel, Counter> = add(
            registry,
            "trace_spans",
            "Spans of recorded traces by outcome of their export",
        );
        let outcomes = ["exported", "dropped", "rejected", "unreachable"];
        Self {
            spans: outcomes.map(|outcome| spans.get_or_create(&OutcomeLabel { outcome }).clone()),
        }
    }

    pub fn count(&self, outcome: SpanOutcome, spans: u64) {
        self.spans[outcome as usize].inc_by(spans);
    }
}
