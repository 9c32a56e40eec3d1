//! Counts the calls of each minute of the last hour, for `GET /api/stats`.

mod ring;

use std::{sync::Arc, time::Duration};

use parking_lot::RwLock;
use svc_core::{Timestamp, UserId};
use svc_protocol::api::CallMinute;

use self::ring::Ring;
use super::CallOutcome;
use crate::random_key::RandomKeyMap;

/// Calls of the last hour, per user and in total. Recording a call takes a look-up and a few atomic
/// additions.
#[derive(Default)]
pub struct CallStats {
    all: Ring,
    /// A user's first call creates a ring. After an hour without calls, `forget_idle` removes it.
    users: RwLock<RandomKeyMap<UserId, Arc<Ring>>>,
}

impl CallStats {
    /// Records an answered call.
    pub fn record(&self, user: UserId, outcome: CallOutcome, took: Duration) {
        let minute = minute_of(svc_clock::now());
        let failed = outcome != CallOutcome::Ok;
        self.all.record(minute, failed, took);
        if let Some(ring) = self.users.read().get(&user) {
            return ring.record(minute, failed, took);
        }
        let ring = self.users.write().entry(user).or_default().clone();
        ring.record(minute, failed, took);
    }

    /// The calls in each minute of the last hour, of one user or of all users. The current minute
    /// is the last one.
    pub fn minutes(&self, user: Option<UserId>, now: Timestamp) -> Vec<CallMinute> {
        let minute = minute_of(now);
        match user {
            None => self.all.minutes(minute),
            Some(user) => {
                let ring = self.users.read().get(&user).cloned();
                ring.unwrap_or_default().minutes(minute)
            }
        }
    }

    /// Removes users without calls in the last hour.
    pub fn forget_idle(&self, now: Timestamp) {
        let minute = minute_of(now);
        self.users.write().retain(|_, ring| !ring.is_idle(minute));
    }
}

const MINUTE_MS: i64 = 60_000;

pub(super) fn minute_of(at: Timestamp) -> i64 {
    at.0.div_euclid(MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_sees_their_own_calls_and_is_forgotten_after_an_hour() {
        let stats = CallStats::default();
        let ann = UserId(uuid::Uuid::from_u128(1));
        let bob = UserId(uuid::Uuid::from_u128(2));
        stats.record(ann, CallOutcome::Ok, Duration::from_millis(1));
        stats.record(ann, CallOutcome::MethodError, Duration::from_millis(1));
        stats.record(bob, CallOutcome::NotFound, Duration::from_millis(1));
        let now = svc_clock::now();
        let sums = |user| {
            let minutes = stats.minutes(user, now);
            assert_eq!(minutes.len(), ring::MINUTES);
            minutes.iter().fold((0, 0), |(calls, errors), minute| {
                (calls + minute.calls, errors + minute.errors)
            })
        };
        assert_eq!(sums(Some(ann)), (2, 1));
        assert_eq!(sums(Some(bob)), (1, 1));
        assert_eq!(sums(None), (3, 2));
        stats.forget_idle(now);
        assert_eq!(stats.users.read().len(), 2);
        stats.forget_idle(now.plus(Duration::from_secs(61 * 60)));
        assert!(stats.users.read().is_empty());
    }
}
