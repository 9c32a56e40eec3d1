//! Counts small bodies with atomic operations only. Most bodies are small, and a lock that all users
//! share would cost each call time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Account;

/// The accounts share this many counters.
const COUNTERS: usize = 64;
/// Larger bodies do not use the allowance.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// A number of bytes that small bodies may use. If the counter of an account is used up, its further
/// bodies are counted exactly, so no user can take the share of another user.
pub struct Allowance {
    counter_max: usize,
    counters: [AtomicUsize; COUNTERS],
}

impl Allowance {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            counter_max: bytes_max / COUNTERS,
            counters: [const { AtomicUsize::new(0) }; COUNTERS],
        }
    }

    /// Takes bytes for one body; false if the body is large or the counter is used up.
    pub fn take(&self, account: Account, bytes: usize) -> bool {
        if bytes > BODY_BYTES_MAX.min(self.counter_max) {
            return false;
        }
        let counter = self.counter(account);
        let before = counter.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= self.counter_max;
        if !fits {
            counter.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    /// Returns bytes that were taken.
    pub fn release(&self, account: Account, bytes: usize) {
        self.counter(account).fetch_sub(bytes, Ordering::Relaxed);
    }

    /// All bytes that are taken now.
    pub fn total(&self) -> usize {
        let counters = self.counters.iter();
        counters
            .map(|counter| counter.load(Ordering::Relaxed))
            .sum()
    }

    fn counter(&self, account: Account) -> &AtomicUsize {
        let number = match account {
            // The lower half of an id is random.
            Account::User(user) | Account::Sessions(user) => user.0.as_u128() as usize,
            Account::Connection(id) => id,
        };
        &self.counters[number % COUNTERS]
    }
}
