//! Limits test deliveries and test runs of scripts per user: a test delivery goes to any address,
//! and a run occupies a worker.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::UserId;

const WINDOW: Duration = Duration::from_secs(60);

/// The limit is exceeded; retry after this time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestLimitExceeded {
    pub per_minute: usize,
    pub retry_after: Duration,
}

/// At most `per_minute` tests of one user within a minute.
pub struct TestLimit {
    per_minute: usize,
    sent: Mutex<HashMap<UserId, VecDeque<Instant>>>,
}

impl TestLimit {
    pub fn new(per_minute: usize) -> Self {
        Self {
            per_minute,
            sent: Mutex::default(),
        }
    }

    pub fn take(&self, user: UserId, now: Instant) -> Result<(), TestLimitExceeded> {
        let mut users = self.sent.lock();
        users.retain(|_, sent| {
            sent.retain(|&at| now.saturating_duration_since(at) < WINDOW);
            !sent.is_empty()
        });
        let sent = users.entry(user).or_default();
        if sent.len() >= self.per_minute {
            let oldest = sent.front().copied().unwrap_or(now);
            return Err(TestLimitExceeded {
                per_minute: self.per_minute,
                retry_after: WINDOW.saturating_sub(now.saturating_duration_since(oldest)),
            });
        }
        sent.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_so_many_tests_a_minute() {
        let (limit, start) = (TestLimit::new(2), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(limit.take(UserId::NIL, at(0)).is_ok());
        assert!(limit.take(UserId::NIL, at(30)).is_ok());
        let over = limit.take(UserId::NIL, at(40)).expect_err("a third");
        assert_eq!(over.retry_after, Duration::from_secs(20));
        assert!(limit.take(UserId(uuid::Uuid::max()), at(40)).is_ok());
        assert!(limit.take(UserId::NIL, at(61)).is_ok());
    }
}
