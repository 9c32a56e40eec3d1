//! Limits the requests of a user per second: a token bucket per user.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use svc_core::UserId;

use crate::random_key::RandomKeyMap;

/// Number of buckets at which full ones are removed. A full bucket is the same as a new one.
const BUCKETS_MAX: usize = 10_000;

pub struct RateLimit {
    /// `None`: no limit.
    per_second: Option<u32>,
    buckets: Mutex<RandomKeyMap<UserId, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// The limit is exceeded; retry after this time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OverLimit {
    pub retry_after: Duration,
}

impl RateLimit {
    pub fn new(per_second: Option<u32>) -> Self {
        Self {
            per_second,
            buckets: Mutex::default(),
        }
    }

    /// Takes `calls` tokens from the user's bucket, or none. A bucket holds the tokens of one
    /// second. A larger batch passes if the bucket is full; the level is then negative until the
    /// batch is paid for.
    pub fn take(&self, user: UserId, calls: usize, now: Instant) -> Result<(), OverLimit> {
        let Some(per_second) = self.per_second.map(f64::from) else {
            return Ok(());
        };
        let mut buckets = self.buckets.lock();
        if buckets.len() >= BUCKETS_MAX {
            buckets.retain(|_, bucket| bucket.level(per_second, now) < per_second);
        }
        let bucket = buckets.entry(user).or_insert(Bucket {
            tokens: per_second,
            filled: now,
        });
        bucket.tokens = bucket.level(per_second, now);
        bucket.filled = now;
        let wanted = (calls as f64).min(per_second);
        if bucket.tokens < wanted {
            let wait = (wanted - bucket.tokens) / per_second;
            return Err(OverLimit {
                retry_after: Duration::from_secs_f64(wait),
            });
        }
        bucket.tokens -= calls as f64;
        Ok(())
    }

    /// Takes more tokens from the user's bucket, for a cost that is known only afterwards. The level
    /// may become negative.
    pub fn charge(&self, user: UserId, more: usize, now: Instant) {
        let Some(per_second) = self.per_second.map(f64::from) else {
            return;
        };
        if let Some(bucket) = self.buckets.lock().get_mut(&user) {
            bucket.tokens = bucket.level(per_second, now) - more as f64;
            bucket.filled = now;
        }
    }
}

impl Bucket {
    fn level(&self, per_second: f64, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() * per_second;
        (self.tokens + gained).min(per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_reduces_the_tokens_of_later_calls() {
        let (limit, user, now) = (RateLimit::new(Some(10)), UserId::NIL, Instant::now());
        assert!(limit.take(user, 1, now).is_ok());
        limit.charge(user, 29, now);
        let over = limit.take(user, 1, now).expect_err("empty");
        assert!(over.retry_after >= Duration::from_secs(2), "{over:?}");
        assert!(limit.take(user, 1, now + Duration::from_secs(3)).is_ok());
    }

    #[test]
    fn without_a_limit_everything_passes() {
        let limit = RateLimit::new(None);
        assert!((0..10_000).all(|_| limit.take(UserId::NIL, 1_000, Instant::now()).is_ok()));
    }

    #[test]
    fn a_bucket_holds_one_second_and_refills() {
        let (limit, user, start) = (RateLimit::new(Some(10)), UserId::NIL, Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        assert!((0..10).all(|_| limit.take(user, 1, at(0)).is_ok()));
        let over = limit.take(user, 1, at(0)).expect_err("the bucket is empty");
        assert_eq!(over.retry_after, Duration::from_millis(100));
        assert!(limit.take(user, 1, at(100)).is_ok());
        // Another user has a separate bucket.
        assert!(limit.take(UserId(uuid::Uuid::max()), 1, at(0)).is_ok());
    }

    #[test]
    fn a_large_batch_passes_once_and_is_paid_for() {
        let (limit, user, start) = (RateLimit::new(Some(10)), UserId::NIL, Instant::now());
        assert!(limit.take(user, 100, start).is_ok());
        assert!(limit.take(user, 1, start + Duration::from_secs(9)).is_err());
        assert!(limit.take(user, 1, start + Duration::from_secs(10)).is_ok());
    }
}
