//! Retention: removes old events, finished deliveries and idempotency keys, in small steps with
//! pauses, so that other writers do not wait. Events that wait for delivery are never removed.
//! Events that a lane has not checked yet are kept longer, and their removal is audited. In a zone,
//! a server begins a run only if no other server has begun one shortly before.

use std::{num::NonZeroU32, time::Duration};

use svc_core::{EventId, Timestamp};
use svc_store::{
    Store, StoreError, Tx, deliveries,
    events::{self, LostEvents, usage},
    idempotency, meta,
};
use tokio::time::{Instant, sleep};

use crate::events::{audit::audit_lost, emit::StorageLimits};

/// The maximum number of rows that one step removes.
const BATCH: u32 = 200;
/// The maximum number of idempotency keys of one user that one step removes. The keys are small.
const KEYS_BATCH: u32 = 2_000;
/// A key in the table `meta`. Its value is the time when a server of the zone last began to remove
/// rows.
const BEGAN: &str = "retention_began";
/// The maximum number of steps in which one run makes room for one owner.
const ROOM_STEPS_MAX: u32 = 20;
/// Events that a lane has not checked yet are kept this many times as long as other events.
const HELD_FACTOR: u32 = 4;
/// Limit of the idempotency keys kept for one user.
const KEYS_PER_USER: NonZeroU32 = NonZeroU32::new(100_000).expect("not zero");

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// How long events and finished deliveries are kept.
    pub keep: Duration,
    /// Finished deliveries are removed if their lane has this many newer deliveries.
    pub per_lane: u32,
    /// Time between two runs.
    pub every: Duration,
    /// Time between two searches for removed lanes.
    pub removal_every: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(7 * 24 * 60 * 60),
            per_lane: 10_000,
            every: Duration::from_secs(10 * 60),
            removal_every: Duration::from_secs(1),
        }
    }
}

/// How many rows were removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub deliveries: usize,
    pub events: usize,
    pub idempotency_keys: usize,
}

/// Runs one step. Then pauses for as long as the step took, so that other writers get at least half
/// of the database's time.
pub(super) async fn step<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let began = Instant::now();
    let done = store.write(work).await?;
    sleep(began.elapsed()).await;
    Ok(done)
}

/// Removes everything past its retention. Events that wait for delivery are kept at any age.
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
    pruned.deliveries += repeat(store, move |tx| deliveries::prune(tx, before, BATCH)).await?;
    let keep = retention.per_lane;
    pruned.deliveries += repeat(store, move |tx| deliveries::prune_beyond(tx, keep, BATCH)).await?;
    pruned.idempotency_keys = repeat(store, move |tx| idempotency::prune(tx, now, BATCH)).await?;
    pruned.idempotency_keys += prune_keys(store, KEYS_PER_USER).await?;
    Ok(pruned)
}

/// Repeats a step until it removes nothing. Returns the number of removed rows.
async fn repeat(
    store: &Store,
    remove: impl Fn(&mut Tx<'_>) -> Result<usize, StoreError> + Copy + Send + 'static,
) -> Result<usize, StoreError> {
    let mut removed = 0;
    loop {
        match step(store, remove).await? {
            0 => return Ok(removed),
            rows => removed += rows,
        }
    }
}

/// Removes old events. Looks at each event only once per run, so that events that must be kept do
/// not slow down every step.
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
        let batch = step(store, move |tx| events::prune(tx, position, span, BATCH)).await?;
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

/// Removes the oldest idempotency keys of users with more than `keep` keys, even if these keys have
/// not expired. A user who emits 1,000 events a second, the default rate limit, would create 86
/// million keys before the first one expires.
async fn prune_keys(store: &Store, keep: NonZeroU32) -> Result<usize, StoreError> {
    let over = store
        .read_table(move |tx| idempotency::list_over(tx, keep))
        .await?;
    let mut pruned = 0;
    for (user, before) in over {
        let remove = move |tx: &mut Tx<'_>| idempotency::prune_before(tx, user, before, KEYS_BATCH);
        pruned += repeat(store, remove).await?;
    }
    Ok(pruned)
}

/// Brings owners back to their quota of event bytes. System events and the attempts of deliveries are
/// stored without a check of the quota, so an owner may exceed it without emitting anything.
async fn make_room(store: &Store, storage: StorageLimits) -> Result<(), StoreError> {
    let over = store.read_table(move |tx| usage::list_over(tx, &storage.quotas));
    for (owner, limit) in over.await? {
        let limits = usage::Limits {
            owner: limit,
            server: storage.server_bytes,
        };
        for _ in 0..ROOM_STEPS_MAX {
            let newest = EventId(uuid::Uuid::max());
            let room = step(store, move |tx| {
                let room = usage::make_room(tx, owner, newest, limits)?;
                audit_lost(tx, &room.lost, "the owner's quota `event_bytes` is used up")?;
                Ok(room)
            });
            if room.await?.fits {
                break;
            }
        }
    }
    Ok(())
}

/// Begins a run, unless a server of the zone has begun one within the time `every`. The value `key` in
/// the table `meta` has the time.
pub(super) async fn may_begin(
    store: &Store,
    key: &'static str,
    every: Duration,
) -> Result<bool, StoreError> {
    let beginning = store.write(move |tx| {
        let now = tx.now()?;
        let began = meta::find(tx, key)?.and_then(|text| text.parse().ok());
        let began = Timestamp(began.unwrap_or_default());
        // A time in the future is from a clock that was wrong.
        let is_due = began.plus(every) <= now || began > now;
        if is_due {
            meta::set(tx, key, &now.0.to_string())?;
        }
        Ok(is_due)
    });
    beginning.await
}

async fn prune_and_make_room(
    store: &Store,
    retention: Retention,
    storage: StorageLimits,
) -> Result<Pruned, StoreError> {
    let pruned = prune(store, retention, svc_clock::now()).await?;
    make_room(store, storage).await?;
    Ok(pruned)
}

/// Prunes every [`Retention::every`], unless another server has begun to prune shortly before. Runs
/// until the store is closed or the engine drops this future.
pub(super) async fn run(store: Store, retention: Retention, storage: StorageLimits) {
    loop {
        sleep(retention.every).await;
        let pruned = match may_begin(&store, BEGAN, retention.every / 2).await {
            Ok(true) => prune_and_make_room(&store, retention, storage).await,
            Ok(false) => continue,
            Err(error) => Err(error),
        };
        match pruned {
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
    async fn one_server_of_a_zone_prunes_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let hour = Duration::from_secs(3_600);
        assert_eq!(may_begin(&store, BEGAN, hour).await, Ok(true));
        assert_eq!(may_begin(&store, BEGAN, hour).await, Ok(false));
        assert_eq!(may_begin(&store, BEGAN, Duration::ZERO).await, Ok(true));
        let wrong = store.write(|tx| meta::set(tx, BEGAN, &i64::MAX.to_string()));
        wrong.await.expect("committed");
        assert_eq!(may_begin(&store, BEGAN, hour).await, Ok(true));
    }

    #[tokio::test]
    async fn expired_rows_are_removed_again_and_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let retention = Retention {
            every: Duration::from_millis(1),
            ..Retention::default()
        };
        let running = tokio::spawn(run(store.clone(), retention, StorageLimits::default()));
        let user = UserId(Uuid::from_u128(1));
        let expired = idempotency::Use {
            body_hash: Hash::default(),
            emitted: EmittedEvent {
                event_id: EventId(Uuid::from_u128(3)),
                event_type: "custom.x".to_owned(),
            },
            expires_at: Timestamp(1),
        };
        for _ in 0..3 {
            let used = expired.clone();
            let put = store.write(move |tx| idempotency::put(tx, user, "k", &used));
            put.await.expect("committed");
            let deadline = Instant::now() + Duration::from_secs(60);
            loop {
                let found = store.read(move |tx| idempotency::find(tx, user, "k", Timestamp(0)));
                if found.await.expect("read").is_none() {
                    break;
                }
                assert!(Instant::now() < deadline, "the key is not removed");
                sleep(Duration::from_millis(1)).await;
            }
        }
        running.abort();
    }

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
