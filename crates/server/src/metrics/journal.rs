//! Metrics of the call journal.

use prometheus_client::{metrics::counter::Counter, registry::Registry};

use super::add;

pub struct JournalMetrics {
    dropped: Counter,
    dropped_payloads: Counter,
}

impl JournalMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            dropped: add(
                registry,
                "journal_dropped",
                "Calls that are missing in the call journal",
            ),
            dropped_payloads: add(
                registry,
                "journal_payloads_dropped",
                "Recorded calls whose params and answer are missing, because too many bytes of params and answers came in one second",
            ),
        }
    }

    pub fn count_dropped(&self, rows: u64) {
        self.dropped.inc_by(rows);
    }

    pub fn count_dropped_payload(&self) {
        self.dropped_payloads.inc();
    }
}
