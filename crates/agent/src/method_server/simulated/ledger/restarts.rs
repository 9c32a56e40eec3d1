//! Checks the delays between the starts of a method server's programs.

use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;

/// A program that ran for about this long is restarted at once. See `Policy::restart_reset`.
const RESET: Duration = Duration::from_secs(60);
/// The agent measures the time that a program ran less exactly than this simulation.
const RESET_DOUBT: Duration = Duration::from_secs(2);
/// The agent reads the rest of the output before it starts the next program.
const LATE_MAX: Duration = Duration::from_secs(1);

/// The starts of the programs of one registration.
#[derive(Default)]
pub struct Restarts {
    started: Option<Instant>,
    ended: Option<Instant>,
    /// Restarts since the last program that ran for a long time. `None` if it is in doubt whether
    /// a program ran long enough.
    count: Option<u32>,
}

impl Restarts {
    /// A program starts, or fails to start. Returns what is wrong with the delay.
    pub fn start(&mut self, backoff: Backoff) -> Result<(), String> {
        let now = Instant::now();
        let (Some(started), Some(ended)) = (self.started.replace(now), self.ended.take()) else {
            self.count = Some(0);
            return Ok(());
        };
        let ran = ended - started;
        if ran >= RESET + RESET_DOUBT {
            self.count = Some(0);
        } else if ran >= RESET.saturating_sub(RESET_DOUBT) {
            self.count = None;
        }
        let Some(count) = self.count else {
            return Ok(());
        };
        self.count = Some(count + 1);
        let delay = match count {
            0 => Duration::ZERO,
            _ => (backoff.first * 2_u32.saturating_pow(count - 1)).min(backoff.max),
        };
        let waited = now - ended;
        if waited < delay {
            return Err(format!("restarts after {waited:?}, before {delay:?}"));
        }
        if waited > delay + LATE_MAX {
            return Err(format!("restarts after {waited:?}, {delay:?} was due"));
        }
        Ok(())
    }

    pub fn end(&mut self) {
        self.ended = Some(Instant::now());
    }
}
