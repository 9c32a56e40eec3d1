//! Schedules: events at the times of a cron expression.
//!
//! Parts: `service` manages schedules, `runs` makes the runs that are due.
//!
//! Invariants: each run of a schedule has at most one event, in the whole zone and after crashes.
//! The transaction that writes the event also moves the schedule to the next run, and fails if the
//! schedule is no longer at this run. If the clock is set back, no run is repeated; only a user who
//! changes the schedule can cause a repetition. The owner's permission to emit is checked at each
//! run. While no schedule is active, no timer runs.

mod runs;
mod service;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use svc_clock::Clock;
use svc_core::Quotas;
use svc_pool::FairPool;
use svc_store::Store;
use tokio::sync::Notify;

use crate::{events::emit::Emitter, identity::Writer, metrics::Metrics};

/// The service behind `/api/schedules`, and the runs of all schedules.
pub struct Schedules {
    pub store: Store,
    pub writer: Writer,
    pub events: Arc<Emitter>,
    /// Searches for the runs of cron expressions that users give. A search for an expression that
    /// never runs may take a tenth of a second. Such an expression is refused, so the searches for
    /// stored schedules are short.
    pub compute: FairPool,
    pub metrics: Arc<Metrics>,
    pub clock: Clock,
    pub quotas: Quotas,
    /// Notified when a user changed a schedule on any server. Then [`Self::run`] reads them again.
    pub changed: Arc<Notify>,
}
