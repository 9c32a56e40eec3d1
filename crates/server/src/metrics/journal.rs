//! Metrics of the call journal.

use prometheus_client::{metrics::counter::Counter, registry::Registry};

use super::add;

pub struct JournalMetrics {
    dropped: Counter,
}

impl JournalMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            dropped: add(
                registry,
                "journal_dropped",
                "Calls that are missing in the call journal",
            ),
        }
    }

    pub fn count_dropped(&self, rows: u64) {
        self.dropped.inc_by(rows);
    }
}
