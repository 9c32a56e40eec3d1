//! Limits on concurrent reads of long lists, for each user and in total. Further reads wait.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::StoreError;

/// Most concurrent reads of one user.
const PER_USER: usize = 2;
/// Most concurrent reads of all users.
const IN_ALL: usize = 8;
/// Users kept in the table before those without a read are removed.
const USERS_MAX: usize = 1_000;

pub(super) struct ListReads {
    in_all: Arc<Semaphore>,
    users: Mutex<HashMap<UserId, Arc<Semaphore>>>,
}

/// A permit to read one list, until dropped.
pub(super) struct ListPermit {
    _in_all: OwnedSemaphorePermit,
    _of_user: OwnedSemaphorePermit,
}

impl Default for ListReads {
    fn default() -> Self {
        Self {
            in_all: Arc::new(Semaphore::new(IN_ALL)),
            users: Mutex::default(),
        }
    }
}

impl ListReads {
    /// Waits for a permit: first within the limit of the user, then within that of all users. So one
    /// user has at most [`PER_USER`] reads in the common queue.
    pub(super) async fn enter(&self, user: UserId) -> Result<ListPermit, StoreError> {
        let of_user = acquire(self.of(user)).await?;
        let in_all = acquire(self.in_all.clone()).await?;
        Ok(ListPermit {
            _in_all: in_all,
            _of_user: of_user,
        })
    }

    fn of(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock();
        if users.len() >= USERS_MAX {
            users.retain(|_, lists| Arc::strong_count(lists) > 1);
        }
        let new = || Arc::new(Semaphore::new(PER_USER));
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
    async fn a_user_reads_two_lists_at_a_time_and_holds_up_no_other() {
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
    async fn all_users_together_read_eight() {
        let reads = ListReads::default();
        let mut held = Vec::new();
        for n in 0..IN_ALL as u128 {
            let user = UserId(Uuid::from_u128(n));
            held.push(reads.enter(user).await.expect("open"));
        }
        let late = UserId(Uuid::from_u128(99));
        assert!(timeout(SOON, reads.enter(late)).await.is_err());
        held.pop();
        assert!(timeout(SOON, reads.enter(late)).await.is_ok());
    }
}
