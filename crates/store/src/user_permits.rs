//! Limits on concurrent work, for each user and in total. Further work waits.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::StoreError;

/// When the table has this many users, those without a permit are removed.
const USERS_MAX: usize = 1_000;

pub struct UserPermits {
    per_user: usize,
    total: Arc<Semaphore>,
    users: Mutex<HashMap<UserId, Arc<Semaphore>>>,
}

/// Holds a permit until it is dropped.
pub struct UserPermit {
    _total: OwnedSemaphorePermit,
    _of_user: OwnedSemaphorePermit,
}

impl UserPermits {
    /// At most `per_user` permits of one user, and `total` of all users.
    pub fn new(per_user: usize, total: usize) -> Self {
        Self {
            per_user,
            total: Arc::new(Semaphore::new(total)),
            users: Mutex::default(),
        }
    }

    /// Waits for one of the user's own permits, and then for one of the permits that all users
    /// share. So at most `per_user` requests of one user wait for a shared permit.
    pub async fn enter(&self, user: UserId) -> Result<UserPermit, StoreError> {
        let of_user = acquire(self.semaphore_of(user)).await?;
        let total = acquire(self.total.clone()).await?;
        Ok(UserPermit {
            _total: total,
            _of_user: of_user,
        })
    }

    fn semaphore_of(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock();
        if users.len() >= USERS_MAX {
            users.retain(|_, permits| Arc::strong_count(permits) > 1);
        }
        let new = || Arc::new(Semaphore::new(self.per_user));
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
    async fn a_user_has_at_most_their_own_permits_and_delays_no_other_user() {
        let permits = UserPermits::new(2, 8);
        let (ann, ben) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let first = permits.enter(ann).await.expect("open");
        let _second = permits.enter(ann).await.expect("open");
        assert!(timeout(SOON, permits.enter(ann)).await.is_err());
        assert!(timeout(SOON, permits.enter(ben)).await.is_ok());
        drop(first);
        assert!(timeout(SOON, permits.enter(ann)).await.is_ok());
    }

    #[tokio::test]
    async fn all_users_together_have_at_most_the_total() {
        let permits = UserPermits::new(2, 8);
        let mut held = Vec::new();
        for n in 0..8 {
            let user = UserId(Uuid::from_u128(n));
            held.push(permits.enter(user).await.expect("open"));
        }
        let late = UserId(Uuid::from_u128(99));
        assert!(timeout(SOON, permits.enter(late)).await.is_err());
        held.pop();
        assert!(timeout(SOON, permits.enter(late)).await.is_ok());
    }
}
