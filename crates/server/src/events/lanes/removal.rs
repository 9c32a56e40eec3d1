//! Removes the deliveries of removed lanes (deleted sinks, ended subscriptions), in small steps with
//! pauses, so that other writers do not wait. In a zone, one server at a time does this. After a
//! restart, the next run continues.

use std::time::Duration;

use svc_store::{Store, StoreError, lanes, meta};
use tokio::time::{Instant, sleep};

use super::retention::{may_begin, step};

/// A key in the table `meta`: when a server of the zone began a run that has not ended.
const BEGAN: &str = "lane_removal_began";
/// The longest duration of a run. After this time, another server may begin a run.
const RUN_MAX: Duration = Duration::from_secs(10);

/// Looks for removed lanes every `every`. Runs until the store is closed or the engine drops this
/// future.
pub(super) async fn run(store: Store, every: Duration) {
    loop {
        sleep(every).await;
        match clear(&store).await {
            Err(StoreError::Closed) => return,
            Err(error) if !error.is_outage() => {
                tracing::error!(%error, "cannot remove the deliveries of removed lanes; retrying");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// Removes until nothing is left, or for [`RUN_MAX`], unless another server does so.
async fn clear(store: &Store) -> Result<(), StoreError> {
    if !store.read(lanes::any_removed).await? || !may_begin(store, BEGAN, RUN_MAX).await? {
        return Ok(());
    }
    let (began, mut owner) = (Instant::now(), String::new());
    while began.elapsed() < RUN_MAX {
        let after = owner;
        let cleared = step(store, move |tx| {
            let last = lanes::clear_removed(tx, &after)?;
            if last.is_none() {
                meta::delete(tx, BEGAN)?;
            }
            Ok(last)
        });
        match cleared.await? {
            Some(last) => owner = last,
            None => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use svc_core::{
        CanonicalName, EventId, SpaceId, Timestamp, UserId, lane::QUEUE_CAPACITY, pattern::Pattern,
        subscription::Subscription,
    };
    use svc_store::lanes::Withdrawal;
    use uuid::Uuid;

    use super::*;

    const ANN: UserId = UserId(Uuid::from_u128(1));
    const LAB: SpaceId = SpaceId(Uuid::from_u128(2));

    /// Removes three full lanes: more deliveries than one step removes.
    async fn remove_lanes(store: &Store) {
        let removing = store.write(|tx| {
            let subscriptions = ["a", "b", "c"].map(|method| Subscription {
                method: CanonicalName::parse(method).expect("valid"),
                patterns: Pattern::parse_list("custom.*").expect("valid"),
                formatters: Vec::new(),
                holds: false,
            });
            for lane in lanes::declare(tx, ANN, LAB, &subscriptions)?.lanes {
                for n in 0..QUEUE_CAPACITY {
                    let event = (EventId(Uuid::from_u128(n.into())), "custom.x");
                    lanes::enqueue(tx, lane, event, Timestamp(1)).map(drop)?;
                }
            }
            lanes::withdraw_space(tx, LAB, Withdrawal::All)
        });
        let removed = removing.await.expect("committed");
        let queued: Vec<_> = removed.iter().map(|lane| lane.queued).collect();
        assert_eq!(queued, [QUEUE_CAPACITY; 3]);
    }

    async fn any_removed(store: &Store) -> bool {
        store.read(lanes::any_removed).await.expect("read")
    }

    #[tokio::test]
    async fn one_server_of_a_zone_clears_removed_lanes_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        remove_lanes(&store).await;
        // Another server has begun.
        assert_eq!(may_begin(&store, BEGAN, RUN_MAX).await, Ok(true));
        clear(&store).await.expect("nothing to do");
        assert!(any_removed(&store).await);
        let ended = store.write(|tx| meta::delete(tx, BEGAN));
        ended.await.expect("committed");
        clear(&store).await.expect("cleared");
        assert!(!any_removed(&store).await);
        // The next run may begin at once.
        remove_lanes(&store).await;
        clear(&store).await.expect("cleared");
        assert!(!any_removed(&store).await);
    }

    #[tokio::test]
    async fn removed_lanes_are_cleared_again_and_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let running = tokio::spawn(run(store.clone(), Duration::from_millis(1)));
        for _ in 0..3 {
            remove_lanes(&store).await;
            let deadline = Instant::now() + Duration::from_secs(60);
            while any_removed(&store).await {
                assert!(Instant::now() < deadline, "the lane is not cleared");
                sleep(Duration::from_millis(1)).await;
            }
        }
        running.abort();
    }
}
