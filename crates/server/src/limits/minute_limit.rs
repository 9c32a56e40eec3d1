//! Limits the actions of one user per minute: test deliveries (they may go to any address), test
//! runs of scripts (each occupies a worker) and log lines.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::UserId;

const WINDOW: Duration = Duration::from_secs(60);

/// The limit is exceeded; retry after this time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverMinuteLimit {
    pub per_minute: usize,
    pub retry_after: Duration,
}

/// At most `per_minute` actions of one user within a minute.
pub struct MinuteLimit {
    per_minute: usize,
    taken: Mutex<HashMap<UserId, VecDeque<Instant>>>,
}

impl MinuteLimit {
    pub fn new(per_minute: usize) -> Self {
        Self {
            per_minute,
            taken: Mutex::default(),
        }
    }

    pub fn take(&self, user: UserId, now: Instant) -> Result<(), OverMinuteLimit> {
        let mut users = self.taken.lock();
        users.retain(|_, taken| {
            taken.retain(|&at| now.saturating_duration_since(at) < WINDOW);
            !taken.is_empty()
        });
        let taken = users.entry(user).or_default();
        if taken.len() >= self.per_minute {
            let oldest = taken.front().copied().unwrap_or(now);
            return Err(OverMinuteLimit {
                per_minute: self.per_minute,
                retry_after: WINDOW.saturating_sub(now.saturating_duration_since(oldest)),
            });
        }
        taken.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_actions_of_a_user_per_minute_are_limited() {
        let (limit, start) = (MinuteLimit::new(2), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(limit.take(UserId::NIL, at(0)).is_ok());
        assert!(limit.take(UserId::NIL, at(30)).is_ok());
        let over = limit.take(UserId::NIL, at(40)).expect_err("a third");
        assert_eq!(over.retry_after, Duration::from_secs(20));
        assert!(limit.take(UserId(uuid::Uuid::max()), at(40)).is_ok());
        assert!(limit.take(UserId::NIL, at(61)).is_ok());
    }
}
