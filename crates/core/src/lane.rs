//! Lanes: one durable queue per sink and per method subscription, strictly first in first out,
//! one delivery at a time (spec 6.5).

use std::time::Duration;

/// Events a lane may have waiting, the one in flight included (spec 6.5).
pub const QUEUE_CAPACITY: u32 = 100;
/// Attempts of one delivery (spec 6.5).
pub const ATTEMPTS_MAX: u32 = 3;
/// Starts of one delivery, with crashes of the server among them, before it is given up: a
/// delivery that kills the server must not do so for ever.
pub const STARTS_MAX: u32 = 10;
/// How long a server may hold a lane without a sign of life; renewed at a third of it.
pub const LEASE: Duration = Duration::from_secs(30);

/// Waits between attempts (spec 6.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    pub after_first: Duration,
    pub after_second: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            after_first: Duration::from_secs(5),
            after_second: Duration::from_secs(15),
        }
    }
}

/// What follows a failed attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterFailure {
    RetryIn(Duration),
    Dead,
}

impl RetryPolicy {
    /// `failures` counts the failed attempts of this delivery, the latest included.
    pub fn after(self, failures: u32) -> AfterFailure {
        match failures {
            0 | 1 => AfterFailure::RetryIn(self.after_first),
            2 => AfterFailure::RetryIn(self.after_second),
            _ => AfterFailure::Dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_5_s8_three_attempts_five_and_fifteen_seconds_apart() {
        let policy = RetryPolicy::default();
        assert_eq!(
            policy.after(1),
            AfterFailure::RetryIn(Duration::from_secs(5))
        );
        assert_eq!(
            policy.after(2),
            AfterFailure::RetryIn(Duration::from_secs(15))
        );
        assert_eq!(policy.after(ATTEMPTS_MAX), AfterFailure::Dead);
    }
}
