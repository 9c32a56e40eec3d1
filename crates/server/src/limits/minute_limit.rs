//! Limits the actions of one user per minute:
//!
//! - trials, through [`TrialLimits`](super::TrialLimits);
//! - registrations of a user's spaces, through [`RegistrationLimit`](super::RegistrationLimit);
//! - codes of devices, because a user could guess them.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::UserId;

use super::CountUse;

const WINDOW: Duration = Duration::from_secs(60);
/// The wait if all actions of the user were at other servers. Their times are not reported.
const ELSEWHERE_RETRY: Duration = Duration::from_secs(5);

/// The limit is exceeded; retry after this time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverMinuteLimit {
    pub per_minute: usize,
    pub retry_after: Duration,
}

/// At most `per_minute` actions of one user within a minute. Actions at other servers of the zone
/// count too, if their counts are passed to [`Self::follow`].
pub struct MinuteLimit {
    per_minute: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: HashMap<UserId, VecDeque<Instant>>,
    /// Actions of the last minute at other servers.
    elsewhere: HashMap<UserId, usize>,
}

impl MinuteLimit {
    pub fn new(per_minute: usize) -> Self {
        Self {
            per_minute,
            state: Mutex::default(),
        }
    }

    pub fn take(&self, user: UserId, now: Instant) -> Result<(), OverMinuteLimit> {
        let mut state = self.state.lock();
        state.forget_old(now);
        let elsewhere = state.elsewhere.get(&user).copied().unwrap_or_default();
        let here = state.taken.get(&user).map_or(0, VecDeque::len);
        if here + elsewhere >= self.per_minute {
            let oldest = state.taken.get(&user).and_then(VecDeque::front);
            let wait = oldest.map_or(ELSEWHERE_RETRY, |&oldest| {
                WINDOW.saturating_sub(now.saturating_duration_since(oldest))
            });
            return Err(OverMinuteLimit {
                per_minute: self.per_minute,
                retry_after: wait,
            });
        }
        state.taken.entry(user).or_default().push_back(now);
        Ok(())
    }

    /// The number of actions of each user in the last minute at this server. Lists only the users
    /// with the highest numbers.
    pub fn report(&self, now: Instant) -> Vec<CountUse> {
        let mut state = self.state.lock();
        state.forget_old(now);
        let counts = state.taken.iter().map(|(user, taken)| (*user, taken.len()));
        CountUse::busiest(counts)
    }

    /// Replaces the counts of the actions at other servers.
    pub fn follow(&self, elsewhere: HashMap<UserId, usize>) {
        self.state.lock().elsewhere = elsewhere;
    }
}

impl State {
    fn forget_old(&mut self, now: Instant) {
        self.taken.retain(|_, taken| {
            taken.retain(|&at| now.saturating_duration_since(at) < WINDOW);
            !taken.is_empty()
        });
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

    #[test]
    fn actions_at_other_servers_count() {
        let (limit, now) = (MinuteLimit::new(2), Instant::now());
        assert!(limit.take(UserId::NIL, now).is_ok());
        let reported = limit.report(now);
        assert_eq!((reported[0].user, reported[0].count), (UserId::NIL, 1));
        limit.follow(HashMap::from([(UserId::NIL, 1)]));
        assert!(limit.take(UserId::NIL, now).is_err());
        limit.follow(HashMap::new());
        assert!(limit.take(UserId::NIL, now).is_ok());
    }
}
