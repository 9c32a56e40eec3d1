//! Checks the delays between attempts to link.

use std::time::Duration;

use tokio::time::Instant;

use crate::{backoff::Backoff, policy::Policy};

/// The delays in the simulation are exact, except for the resolution of timers.
const RESOLUTION: Duration = Duration::from_millis(2);
/// A welcome reaches the agent within this time, unless the connection stalls.
const WELCOME_MAX: Duration = Duration::from_millis(100);

/// How an attempt ended.
pub struct AttemptEnd {
    /// When the server accepted the link.
    pub welcomed: Option<Instant>,
    pub was_disturbed: bool,
}

pub struct Attempts {
    policy: Policy,
    failing_since: Option<Instant>,
    soon: u32,
    later: u32,
    /// Whether it is in doubt if a link was up for long enough to start again with the first delay.
    is_doubtful: bool,
    /// The end of the last attempt, and the delay that follows it.
    ended: Option<(Instant, Duration)>,
}

impl Attempts {
    /// `policy`: the delays that attempts must keep.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            failing_since: None,
            soon: 0,
            later: 0,
            is_doubtful: false,
            ended: None,
        }
    }

    /// An attempt begins. Returns what is wrong with the delay.
    pub fn begin(&mut self) -> Result<(), String> {
        let Some((ended, delay)) = self.ended.take() else {
            return Ok(());
        };
        let waited = ended.elapsed();
        let (least, most) = match self.is_doubtful {
            true => (self.policy.reconnect_soon.first, self.policy.reconnect.max),
            false => (delay, delay),
        };
        if waited + RESOLUTION < least / 2 || waited > most + RESOLUTION {
            return Err(format!(
                "after {waited:?}, the delay is {least:?} to {most:?}"
            ));
        }
        Ok(())
    }

    pub fn end(&mut self, end: &AttemptEnd) {
        let now = Instant::now();
        let up_max = end.welcomed.map_or(Duration::ZERO, |since| now - since);
        if up_max >= self.policy.reconnect_reset {
            let is_certain =
                !end.was_disturbed && up_max >= self.policy.reconnect_reset + WELCOME_MAX;
            self.is_doubtful = !is_certain;
            self.failing_since = None;
            (self.soon, self.later) = (0, 0);
        }
        let since = *self.failing_since.get_or_insert(now);
        let delay = match now - since < self.policy.reconnect_soon_for {
            true => next(self.policy.reconnect_soon, &mut self.soon),
            false => next(self.policy.reconnect, &mut self.later),
        };
        self.ended = Some((now, delay));
    }
}

fn next(backoff: Backoff, count: &mut u32) -> Duration {
    let delay = backoff.first * 2_u32.saturating_pow(*count);
    *count += 1;
    delay.min(backoff.max)
}
