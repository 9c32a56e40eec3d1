//! Retention: what is past its time goes, in batches small enough to hold nobody up.

use std::time::Duration;

use svc_core::Timestamp;
use tokio::time::sleep;

use crate::{
    clock,
    store::{Store, StoreError, deliveries, events, idempotency},
};

/// Rows removed in one transaction.
const BATCH: u32 = 500;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// How long events and finished deliveries are kept.
    pub keep: Duration,
    /// Deliveries kept per lane.
    pub per_lane: u32,
    /// How often to look.
    pub every: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(7 * 24 * 60 * 60),
            per_lane: 10_000,
            every: Duration::from_secs(10 * 60),
        }
    }
}

/// How much went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub deliveries: usize,
    pub events: usize,
    pub idempotency_keys: usize,
}

/// Removes everything past its time. What waits for delivery stays, however old.
pub async fn prune(
    store: &Store,
    retention: Retention,
    now: Timestamp,
) -> Result<Pruned, StoreError> {
    let before = now.minus(retention.keep);
    let mut pruned = Pruned::default();
    loop {
        let batch = store.write(move |tx| {
            let old = deliveries::prune(tx, before, BATCH)?;
            let beyond = deliveries::prune_beyond(tx, retention.per_lane, BATCH)?;
            Ok(Pruned {
                deliveries: old + beyond,
                events: events::prune(tx, before, BATCH)?,
                idempotency_keys: idempotency::prune(tx, now, BATCH)?,
            })
        });
        let batch = batch.await?;
        if batch == Pruned::default() {
            return Ok(pruned);
        }
        pruned.deliveries += batch.deliveries;
        pruned.events += batch.events;
        pruned.idempotency_keys += batch.idempotency_keys;
    }
}

/// Prunes now and then, for as long as it is polled.
pub(super) async fn run(store: Store, retention: Retention) {
    loop {
        sleep(retention.every).await;
        match prune(&store, retention, clock::now()).await {
            Ok(pruned) if pruned == Pruned::default() => {}
            Ok(pruned) => tracing::info!(
                deliveries = pruned.deliveries,
                events = pruned.events,
                "events past their retention were removed"
            ),
            Err(StoreError::Closed) => return,
            Err(error) => tracing::error!(%error, "old events could not be removed"),
        }
    }
}
