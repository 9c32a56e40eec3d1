//! Who runs next: every owner gets a turn, however many scripts one of them has.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places for scripts that run at once. An owner never holds or waits for the last one beside
/// their own, so that somebody else's script finds a place after at most one run.
pub struct Turns {
    places: Arc<Semaphore>,
    per_owner: usize,
    owners: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
pub struct Turn {
    _place: OwnedSemaphorePermit,
    _of_owner: OwnedSemaphorePermit,
}

impl Turns {
    pub fn new(places: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            per_owner: places.saturating_sub(1).max(1),
            owners: Mutex::default(),
        }
    }

    /// Waits for a place; first come, first served among owners.
    pub async fn take(&self, owner: UserId) -> Turn {
        let closed = "the semaphores of turns are never closed";
        let of_owner = self.of(owner).acquire_owned().await.expect(closed);
        let place = self.places.clone().acquire_owned().await.expect(closed);
        Turn {
            _place: place,
            _of_owner: of_owner,
        }
    }

    fn of(&self, owner: UserId) -> Arc<Semaphore> {
        let mut owners = self.owners.lock();
        if let Some(found) = owners.get(&owner).and_then(Weak::upgrade) {
            return found;
        }
        owners.retain(|_, semaphore| semaphore.strong_count() > 0);
        let made = Arc::new(Semaphore::new(self.per_owner));
        owners.insert(owner, Arc::downgrade(&made));
        made
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;
    use uuid::Uuid;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn one_owner_leaves_a_place_for_others() {
        let (ann, ben) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let turns = Turns::new(2);
        let first = turns.take(ann).await;
        assert!(timeout(SOON, turns.take(ann)).await.is_err());
        let other = timeout(SOON, turns.take(ben)).await.expect("a place");
        drop(first);
        let again = timeout(SOON, turns.take(ann)).await.expect("free again");
        drop((other, again));
        assert!(timeout(SOON, turns.take(ben)).await.is_ok());
        assert_eq!(turns.owners.lock().len(), 1, "those who left are forgotten");
    }
}
