//! Stops a script at its limits of time and memory, where it stands.
//!
//! The engine has such limits too, and no script catches them. But it looks once more when a run
//! has ended, and what that finds takes the place of the exception that knew the line. So ours
//! are a little lower: an ordinary exception with a traceback, after which the run has failed
//! whatever the script catches.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use monty_types::{BASELINE_MEMORY, ExcType, LIVE_MEMORY, MontyException};

use crate::{Abilities, ErrorKind, Setting};

/// How much later than ours the engine's limit of time is: for a script that goes on.
pub const TIME_MARGIN: Duration = Duration::from_millis(100);
/// How much higher than ours the engine's limit of memory is: more than grows between two looks.
pub const MEMORY_MARGIN: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub struct Watch {
    until: Option<Instant>,
    memory_bytes: Option<usize>,
    /// Whether waiting for the host takes of the time.
    counts_waiting: bool,
    reached: Option<ErrorKind>,
}

impl Watch {
    pub fn new(setting: &Setting, until: Option<Instant>) -> Self {
        Self {
            until,
            memory_bytes: setting.limits.memory_bytes,
            counts_waiting: setting.abilities == Abilities::None,
            reached: None,
        }
    }

    /// Time that is left, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        Some(self.until?.saturating_duration_since(Instant::now()))
    }

    /// The limit that was reached: the run has failed.
    pub fn reached(&self) -> Option<&ErrorKind> {
        self.reached.as_ref()
    }

    /// Asks the host.
    pub fn wait<T>(&mut self, ask: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let answer = ask();
        if !self.counts_waiting {
            self.until = self.until.map(|until| until + began.elapsed());
        }
        answer
    }

    /// Called every few hundred steps of a script, and does little.
    pub fn look(&mut self) -> Result<(), MontyException> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.reached = Some(ErrorKind::TimeLimit);
            return Err(MontyException::new(ExcType::TimeoutError, None));
        }
        if self.memory_bytes.is_some_and(|most| memory_used() > most) {
            self.reached = Some(ErrorKind::MemoryLimit);
            return Err(MontyException::new(ExcType::MemoryError, None));
        }
        Ok(())
    }
}

/// As the engine counts it.
fn memory_used() -> usize {
    let live = LIVE_MEMORY.load(Ordering::Relaxed);
    live.saturating_sub(BASELINE_MEMORY.load(Ordering::Relaxed))
}
