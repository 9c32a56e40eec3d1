//! Limits on concurrent reads of long lists, for each user and in total. Further reads wait.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::StoreError;

/// The maximum number of concurrent reads of one user.
const READS_PER_USER_MAX: usize = 2;
/// The maximum number of concurrent reads of all users.
const READS_MAX: usize = 8;
/// When the table has this many users, those without a read are removed.
const USERS_MAX: usize = 1_000;

pub(super) struct ListReads {
    total: Arc<Semaphore>,
    users: Mutex<HashMap<UserId, Arc<Semaphore>>>,
}

/// A permit to read one list, until dropped.
pub(super) struct ListPermit {
    _total: OwnedSemaphorePermit,
    _of_user: OwnedSemaphorePermit,
}

impl Default for ListReads {
    fn default() -> Self {
        Self {
            total: Arc::new(Semaphore::new(READS_MAX)),
            users: Mutex::default(),
        }
    }
}

impl ListReads {
    /// Waits for a permit: first within the limit of the user, then within that of all users. So
    /// one user never has more than [`READS_PER_USER_MAX`] reads that wait for the limit of all
    /// users.
    pub(super) async fn enter(&self, user: UserId) -> Result<ListPermit, StoreError> {
        let of_user = acquire(self.semaphore_of(user)).await?;
        let total = acquire(self.total.clone()).await?;
        Ok(ListPermit {
            _total: total,
            _of_user: of_user,
        })
    }

    fn semaphore_of(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock();
        if users.len() >= USERS_MAX {
            users.retain(|_, lists| Arc::strong_count(lists) > 1);
        }
        let new = || Arc::new(Semaphore::new(READS_PER_USER_MAX));
        users.entry(user).or_insert_with(new).clone()
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, StoreError> {
    let acquired = semaphore.acquire_owned().await;
    acquired.map_err(|_| StoreError::Closed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;
    use uuid::Uuid;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_user_reads_two_lists_at_a_time_and_delays_no_other_user() {
        let reads = ListReads::default();
        let (ann, ben) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let first = reads.enter(ann).await.expect("open");
        let _second = reads.enter(ann).await.expect("open");
        assert!(timeout(SOON, reads.enter(ann)).await.is_err());
        assert!(timeout(SOON, reads.enter(ben)).await.is_ok());
        drop(first);
        assert!(timeout(SOON, reads.enter(ann)).await.is_ok());
    }

    #[tokio::test]
    async fn all_users_together_read_eight_lists_at_a_time() {
        let reads = ListReads::default();
        let mut held = Vec::new();
        for n in 0..READS_MAX as u128 {
            let user = UserId(Uuid::from_u128(n));
            held.push(reads.enter(user).await.expect("open"));
        }
        let late = UserId(Uuid::from_u128(99));
        assert!(timeout(SOON, reads.enter(late)).await.is_err());
        held.pop();
        assert!(timeout(SOON, reads.enter(late)).await.is_ok());
    }
}
