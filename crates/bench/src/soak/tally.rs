//! Counts what the load did, and prints the first errors.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The maximum number of errors that are printed.
const ERRORS_SHOWN: u64 = 20;

#[derive(Default)]
pub struct Tally {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: BTreeMap<&'static str, u64>,
    audited: u64,
    failed: u64,
}

impl Tally {
    /// Notes the result of one operation.
    pub fn note(&self, what: &'static str, result: &Result<(), String>) {
        let mut state = self.lock();
        match result {
            Ok(()) => *state.done.entry(what).or_default() += 1,
            Err(why) => {
                state.failed += 1;
                if state.failed <= ERRORS_SHOWN {
                    println!("unexpected: {what}: {why}");
                }
            }
        }
    }

    /// Adds to the number of audit log entries that the load has caused.
    pub fn add_audited(&self, entries: u64) {
        self.lock().audited += entries;
    }

    pub fn audited(&self) -> u64 {
        self.lock().audited
    }

    pub fn failed(&self) -> u64 {
        self.lock().failed
    }

    /// The number of successful operations of each kind.
    pub fn summary(&self) -> String {
        let state = self.lock();
        let done = state
            .done
            .iter()
            .map(|(what, count)| format!("{count} {what}"));
        done.collect::<Vec<_>>().join(", ")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
