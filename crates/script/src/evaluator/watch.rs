//! Stops a script at its limits of time and memory, and reports the line that ran.
//!
//! The engine has such limits too, and no script can catch their errors. But the engine checks its
//! limits again at the end of a run. The error of this last check has no line, and it replaces the
//! exception that has the line. Therefore the limits of this module are a little lower. They raise
//! an ordinary exception with a traceback, and the run fails even if the script catches it.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use monty_types::{BASELINE_MEMORY, ExcType, LIVE_MEMORY, MontyException};

use crate::{Abilities, ErrorKind, Setting};

/// The engine's time limit is this much later than the limit of this module. The engine's limit
/// ends a script that catches the exception of this module and continues.
pub const TIME_MARGIN: Duration = Duration::from_millis(100);
/// The engine's memory limit is this much higher than the limit of this module. Between two checks
/// of this module, memory usually grows by less than this margin.
pub const MEMORY_MARGIN: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub struct Watch {
    until: Option<Instant>,
    memory_bytes: Option<usize>,
    /// Whether the time of waiting for the host counts.
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

    /// The remaining time, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        Some(self.until?.saturating_duration_since(Instant::now()))
    }

    /// The limit that was reached, if any. If a limit was reached, the run has failed.
    pub fn reached(&self) -> Option<&ErrorKind> {
        self.reached.as_ref()
    }

    /// Runs `ask`, a call to the host.
    pub fn wait<T>(&mut self, ask: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let answer = ask();
        if !self.counts_waiting {
            self.until = self.until.map(|until| until + began.elapsed());
        }
        answer
    }

    /// Checks the limits. Must be cheap, because it runs every few hundred steps of a script.
    pub fn check(&mut self) -> Result<(), MontyException> {
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

/// The memory of the script. `worker::gauge` updates the two counters.
fn memory_used() -> usize {
    let live = LIVE_MEMORY.load(Ordering::Relaxed);
    live.saturating_sub(BASELINE_MEMORY.load(Ordering::Relaxed))
}
