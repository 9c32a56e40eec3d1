//! The work and the time that one rendering may use.
//!
//! The engine's fuel counts instructions, and one instruction can compare two values of 256 KiB. So
//! each operation is charged here before it runs, by the size of its operands. The count of steps
//! does not depend on the machine. The clock is read whenever [`STEPS_PER_LOOK`] steps have passed,
//! so a rendering exceeds its time by at most these steps and one operation on one value.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;

/// The maximum processor time of one rendering. Elapsed time could stop a harmless template on a
/// busy machine, and then the delivery would fail permanently.
const TIME_MAX: Duration = Duration::from_millis(250);
/// The maximum number of steps of one rendering: values that were compared, written or skipped, and
/// pieces of text of [`TEXT_BYTES_PER_STEP`] bytes. An optimised server takes about 60 ns for a step.
pub(crate) const STEPS_MAX: u64 = 4_000_000;
const TEXT_BYTES_PER_STEP: u64 = 64;
const STEPS_PER_LOOK: u64 = 4_096;

#[derive(Debug, Error)]
#[error(
    "the rendering took more than {} ms or {STEPS_MAX} steps",
    TIME_MAX.as_millis()
)]
pub(crate) struct Exhausted;

/// Atomic only because values must be `Sync`.
#[derive(Debug)]
pub(crate) struct Budget {
    steps_left: AtomicU64,
    until: Duration,
}

impl Budget {
    /// Starts the budget of a rendering. The whole rendering must run on the current thread.
    pub(crate) fn start() -> Self {
        Self {
            steps_left: AtomicU64::new(STEPS_MAX),
            until: thread_time() + TIME_MAX,
        }
    }

    /// A budget that only counts steps, so that tests do not depend on the machine.
    #[cfg(test)]
    pub(crate) fn of_steps(steps: u64) -> Self {
        Self {
            steps_left: AtomicU64::new(steps),
            until: Duration::MAX,
        }
    }

    /// Charges for work before it is done.
    pub(crate) fn charge(&self, steps: u64) -> Result<(), Exhausted> {
        let before = self.steps_left.load(Ordering::Relaxed);
        let after = before.saturating_sub(steps);
        self.steps_left.store(after, Ordering::Relaxed);
        if after == 0 {
            return Err(Exhausted);
        }
        let is_time_to_look = before / STEPS_PER_LOOK != after / STEPS_PER_LOOK;
        match is_time_to_look && thread_time() > self.until {
            true => Err(Exhausted),
            false => Ok(()),
        }
    }

    /// Charges for an operation on a text of this length.
    pub(crate) fn charge_text(&self, bytes: usize) -> Result<(), Exhausted> {
        self.charge(1 + bytes as u64 / TEXT_BYTES_PER_STEP)
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds)
        + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}
