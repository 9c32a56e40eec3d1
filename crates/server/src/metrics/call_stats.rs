//! Counts the calls of each user, and the calls of all users, that are not in the stored statistics
//! yet. A call adds to the counters of its caller. Once per minute, the new counts are taken and
//! stored.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use parking_lot::RwLock;
use svc_core::{
    UserId,
    activity_stats::{ALL_USERS, MethodCount, MethodCounts},
    latency::{STEPS, step_of},
};

use super::CallOutcome;
use crate::random_key::RandomKeyMap;

/// Recording a call takes a look-up and at most four atomic additions.
#[derive(Default)]
pub struct CallStats {
    all: Counters,
    /// A user's first call creates the counters. After a minute without calls, `take_unwritten`
    /// removes them.
    users: RwLock<RandomKeyMap<UserId, Box<Counters>>>,
}

impl CallStats {
    /// Records an answered call.
    pub fn record(&self, user: UserId, outcome: CallOutcome, took: Duration) {
        let is_error = outcome != CallOutcome::Ok;
        self.all.record(is_error, took);
        if let Some(counters) = self.users.read().get(&user) {
            return counters.record(is_error, took);
        }
        let mut users = self.users.write();
        users.entry(user).or_default().record(is_error, took);
    }

    /// Takes the calls that are not in the stored statistics yet: those of each user, and under
    /// [`ALL_USERS`] those of all users.
    pub fn take_unwritten(&self) -> Vec<(UserId, MethodCounts)> {
        let mut taken: Vec<_> = self
            .all
            .take()
            .map(|count| (ALL_USERS, count))
            .into_iter()
            .collect();
        let mut idle = Vec::new();
        for (user, counters) in self.users.read().iter() {
            match counters.take() {
                Some(count) => taken.push((*user, count)),
                None => idle.push(*user),
            }
        }
        self.forget(&idle);
        let pack = |(user, count)| (user, MethodCounts::of_several(count));
        taken.into_iter().map(pack).collect()
    }

    /// Adds calls that `take_unwritten` returned, because they could not be written.
    pub fn put_back(&self, counts: &[(UserId, MethodCounts)]) {
        for (user, counts) in counts {
            for (_, count) in counts.iter() {
                match *user == ALL_USERS {
                    true => self.all.add(count),
                    false => self.users.write().entry(*user).or_default().add(count),
                }
            }
        }
    }

    /// The calls of a user, or of [`ALL_USERS`], that are not in the stored statistics yet.
    pub fn find_unwritten(&self, user: UserId) -> MethodCount {
        if user == ALL_USERS {
            return self.all.read();
        }
        let users = self.users.read();
        users
            .get(&user)
            .map(|counters| counters.read())
            .unwrap_or_default()
    }

    /// Removes the counters of users without new calls.
    fn forget(&self, idle: &[UserId]) {
        if idle.is_empty() {
            return;
        }
        let mut users = self.users.write();
        for user in idle {
            if users.get(user).is_some_and(|counters| counters.is_empty()) {
                users.remove(user);
            }
        }
    }
}

/// The calls since the counters were taken.
struct Counters {
    errors: AtomicU64,
    /// Calls by latency. Their sum is the number of calls.
    steps: [AtomicU64; STEPS],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            errors: AtomicU64::new(0),
            steps: [const { AtomicU64::new(0) }; STEPS],
        }
    }
}

impl Counters {
    fn record(&self, is_error: bool, took: Duration) {
        self.steps[step_of(took)].fetch_add(1, Relaxed);
        if is_error {
            self.errors.fetch_add(1, Relaxed);
        }
    }

    fn add(&self, count: &MethodCount) {
        self.errors.fetch_add(count.errors, Relaxed);
        for (counter, calls) in self.steps.iter().zip(&count.steps) {
            counter.fetch_add(*calls, Relaxed);
        }
    }

    /// Returns the counts and sets the counters to 0. Returns `None` without calls.
    fn take(&self) -> Option<MethodCount> {
        if self.is_empty() {
            return None;
        }
        Some(MethodCount {
            errors: self.errors.swap(0, Relaxed),
            steps: std::array::from_fn(|step| self.steps[step].swap(0, Relaxed)),
        })
    }

    fn read(&self) -> MethodCount {
        MethodCount {
            errors: self.errors.load(Relaxed),
            steps: std::array::from_fn(|step| self.steps[step].load(Relaxed)),
        }
    }

    fn is_empty(&self) -> bool {
        let counters = self.steps.iter().chain([&self.errors]);
        counters.into_iter().all(|count| count.load(Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn user(number: u128) -> UserId {
        UserId(uuid::Uuid::from_u128(number))
    }

    /// Calls and errors that are not written yet.
    fn unwritten(stats: &CallStats, user: UserId) -> (u64, u64) {
        let count = stats.find_unwritten(user);
        (count.calls(), count.errors)
    }

    fn recorded() -> CallStats {
        let stats = CallStats::default();
        stats.record(user(1), CallOutcome::Ok, MS);
        stats.record(user(1), CallOutcome::MethodError, 100 * MS);
        stats.record(user(2), CallOutcome::NotFound, MS);
        stats
    }

    #[test]
    fn each_user_and_all_users_have_their_calls() {
        let stats = recorded();
        assert_eq!(unwritten(&stats, user(1)), (2, 1));
        assert_eq!(unwritten(&stats, user(2)), (1, 1));
        assert_eq!(unwritten(&stats, user(3)), (0, 0));
        assert_eq!(unwritten(&stats, ALL_USERS), (3, 2));
        let slowest = stats.find_unwritten(user(1)).percentile_ms(0.95);
        assert!(slowest.expect("there were calls") > 90.0);
    }

    #[test]
    fn calls_are_taken_once_and_returned_if_they_were_not_written() {
        let stats = recorded();
        let taken = stats.take_unwritten();
        assert_eq!(taken.len(), 3, "two users, and all users");
        assert_eq!(unwritten(&stats, ALL_USERS), (0, 0));
        stats.record(user(1), CallOutcome::Ok, MS);
        stats.put_back(&taken);
        assert_eq!(unwritten(&stats, user(1)), (3, 1));
        assert_eq!(unwritten(&stats, user(2)), (1, 1));
        assert_eq!(unwritten(&stats, ALL_USERS), (4, 2));
    }

    #[test]
    fn a_user_without_new_calls_has_no_counters() {
        let stats = recorded();
        stats.take_unwritten();
        assert_eq!(stats.users.read().len(), 2);
        stats.record(user(2), CallOutcome::Ok, MS);
        let taken = stats.take_unwritten();
        assert_eq!(taken.len(), 2, "one user, and all users");
        assert_eq!(stats.users.read().len(), 1);
        assert!(stats.take_unwritten().is_empty());
        assert!(stats.users.read().is_empty());
    }
}
