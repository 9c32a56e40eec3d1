//! Counts small bodies with atomic operations only. Most bodies are small, and a lock that all users
//! share would cost each call time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Account;

/// The accounts share this many counters.
const COUNTERS: usize = 64;
/// Larger bodies do not use the allowance.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// Bytes that one body has taken.
#[derive(Clone, Copy)]
pub struct Taken {
    counter: u16,
    bytes: u16,
}

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

    /// Takes bytes for one body; `None` if the body is large or the counter is used up.
    pub fn take(&self, account: Account, bytes: usize) -> Option<Taken> {
        if bytes > BODY_BYTES_MAX.min(self.counter_max) {
            return None;
        }
        let counter = counter_of(account);
        let before = self.counters[counter].fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.counter_max {
            self.counters[counter].fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        // Both fit: see the constants.
        Some(Taken {
            counter: counter as u16,
            bytes: bytes as u16,
        })
    }

    /// Returns bytes that were taken.
    pub fn release(&self, taken: Taken) {
        let counter = &self.counters[usize::from(taken.counter)];
        counter.fetch_sub(usize::from(taken.bytes), Ordering::Relaxed);
    }

    /// All bytes that are taken now.
    pub fn total(&self) -> usize {
        let counters = self.counters.iter();
        counters
            .map(|counter| counter.load(Ordering::Relaxed))
            .sum()
    }
}

fn counter_of(account: Account) -> usize {
    let number = match account {
        // The lower half of an id is random.
        Account::User(user) | Account::Sessions(user) => user.0.as_u128() as usize,
        Account::Connection(id) => id,
    };
    number % COUNTERS
}
