//! Retention: removes old events, finished deliveries and idempotency keys, in small batches so
//! that other writers do not wait. Events that wait for delivery are never removed. Events that a
//! lane has not checked yet are kept longer, and their removal is audited.

use std::{num::NonZeroU32, time::Duration};

use svc_core::{EventId, Timestamp};
use svc_store::{
    Store, StoreError, deliveries,
    events::{self, LostEvents},
    idempotency,
};
use tokio::time::sleep;

use crate::events::audit::audit_lost;

/// Rows removed in one transaction.
const BATCH: u32 = 500;
/// Idempotency keys removed in one transaction; they are small.
const KEYS_BATCH: u32 = 5_000;
/// Events that a lane has not checked yet are kept this many times longer than other events.
const HELD_FACTOR: u32 = 4;
/// Limit of the idempotency keys kept for one user.
const KEYS_PER_USER: NonZeroU32 = NonZeroU32::new(100_000).expect("not zero");

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// How long events and finished deliveries are kept.
    pub keep: Duration,
    /// Limit of the deliveries kept per lane.
    pub per_lane: u32,
    /// Time between two runs.
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

/// Rows that were removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub deliveries: usize,
    pub events: usize,
    pub idempotency_keys: usize,
}

/// Removes everything past its retention. Events that wait for delivery stay, whatever their age.
pub async fn prune(
    store: &Store,
    retention: Retention,
    now: Timestamp,
) -> Result<Pruned, StoreError> {
    let before = now.minus(retention.keep);
    let mut pruned = Pruned {
        events: prune_events(store, retention, now).await?,
        ..Pruned::default()
    };
    loop {
        let batch = store.write(move |tx| {
            let old = deliveries::prune(tx, before, BATCH)?;
            let beyond = deliveries::prune_beyond(tx, retention.per_lane, BATCH)?;
            Ok(Pruned {
                deliveries: old + beyond,
                events: 0,
                idempotency_keys: idempotency::prune(tx, now, BATCH)?,
            })
        });
        let batch = batch.await?;
        if batch == Pruned::default() {
            pruned.idempotency_keys += prune_keys(store, KEYS_PER_USER).await?;
            return Ok(pruned);
        }
        pruned.deliveries += batch.deliveries;
        pruned.idempotency_keys += batch.idempotency_keys;
    }
}

/// Removes old events. Looks at each event only once per run, so that events that must be kept do
/// not slow down every batch.
async fn prune_events(
    store: &Store,
    retention: Retention,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let span = (
        now.minus(retention.keep),
        now.minus(retention.keep.saturating_mul(HELD_FACTOR)),
    );
    let (mut removed, mut lost) = (0, Vec::new());
    let mut after = Some(EventId::NIL);
    while let Some(position) = after {
        let batch = store.write(move |tx| events::prune(tx, position, span, BATCH));
        let batch = batch.await?;
        removed += batch.events;
        after = batch.next;
        LostEvents::merge(&mut lost, batch.lost);
    }
    if !lost.is_empty() {
        let why = "they are older than the retention allows";
        let auditing = store.write(move |tx| audit_lost(tx, &lost, why));
        auditing.await?;
    }
    Ok(removed)
}

/// Removes the oldest idempotency keys of users with more than `keep` keys, even if these have not
/// expired. A user who emits at the rate limit would create 86 million keys within the lifetime of
/// one.
async fn prune_keys(store: &Store, keep: NonZeroU32) -> Result<usize, StoreError> {
    let over = store
        .read(move |tx| idempotency::list_over(tx, keep))
        .await?;
    let mut pruned = 0;
    for (user, before) in over {
        loop {
            let batch = store
                .write(move |tx| idempotency::prune_before(tx, user, before, KEYS_BATCH))
                .await?;
            if batch == 0 {
                break;
            }
            pruned += batch;
        }
    }
    Ok(pruned)
}

/// Prunes every [`Retention::every`] until the store is closed.
pub(super) async fn run(store: Store, retention: Retention) {
    loop {
        sleep(retention.every).await;
        match prune(&store, retention, svc_clock::now()).await {
            Ok(pruned) if pruned == Pruned::default() => {}
            Ok(pruned) => tracing::info!(
                deliveries = pruned.deliveries,
                events = pruned.events,
                idempotency_keys = pruned.idempotency_keys,
                "events past their retention were removed"
            ),
            Err(StoreError::Closed) => return,
            Err(error) => tracing::error!(%error, "cannot remove events past their retention"),
        }
    }
}

#[cfg(test)]
mod tests {
    use svc_core::{EventId, UserId};
    use svc_protocol::api::EmittedEvent;
    use svc_store::Hash;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn only_the_newest_idempotency_keys_of_a_user_are_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let (ann, bob) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let at = |millis: i64| Timestamp(1_700_000_000_000 + millis);
        let used = move |n| idempotency::Use {
            body_hash: Hash::default(),
            emitted: EmittedEvent {
                event_id: EventId(Uuid::from_u128(3)),
                event_type: "custom.x".to_owned(),
            },
            expires_at: at(n),
        };
        let filled = store.write(move |tx| {
            for n in 0..30 {
                idempotency::put(tx, ann, &format!("k{n}"), &used(n))?;
            }
            for n in 0..10 {
                idempotency::put(tx, bob, &format!("k{n}"), &used(n))?;
            }
            Ok(())
        });
        filled.await.expect("filled");
        let keep = NonZeroU32::new(10).expect("not zero");
        assert_eq!(prune_keys(&store, keep).await, Ok(20));
        assert_eq!(prune_keys(&store, keep).await, Ok(0));
        let kept = store.read(move |tx| {
            [(ann, "k19"), (ann, "k20"), (ann, "k29"), (bob, "k0")]
                .into_iter()
                .map(|(user, key)| Ok(idempotency::find(tx, user, key, at(-1))?.is_some()))
                .collect::<Result<Vec<_>, _>>()
        });
        assert_eq!(kept.await, Ok(vec![false, true, true, true]));
    }
}
