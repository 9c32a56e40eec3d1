//! Delays between attempts to link. They are short in the first minute of failures, because a
//! server that closed its links is usually restarting. Afterwards they are longer.

use std::time::Duration;

use tokio::time::Instant;

use crate::{backoff::Delays, policy::Policy};

/// The delays before the next attempts. Create a new value after a link has been up for
/// `Policy::reconnect_reset`.
pub struct ReconnectDelays {
    soon: Delays,
    soon_for: Duration,
    later: Delays,
    /// The time of the first failed attempt.
    failing_since: Option<Instant>,
}

impl ReconnectDelays {
    pub fn new(policy: &Policy) -> Self {
        Self {
            soon: policy.reconnect_soon.delays(),
            soon_for: policy.reconnect_soon_for,
            later: policy.reconnect.delays(),
            failing_since: None,
        }
    }

    /// The delay after an attempt that failed at `now`, before jitter.
    pub fn next_delay(&mut self, now: Instant) -> Duration {
        let since = *self.failing_since.get_or_insert(now);
        if now.duration_since(since) < self.soon_for {
            self.soon.next_delay()
        } else {
            self.later.next_delay()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_of_the_first_minute_are_at_most_a_second_apart() {
        let mut delays = ReconnectDelays::new(&Policy::default());
        let start = Instant::now();
        let mut millis_at = |seconds| {
            let now = start + Duration::from_secs(seconds);
            delays.next_delay(now).as_millis()
        };
        let soon = [0, 1, 2, 3, 4, 5, 30, 59].map(&mut millis_at);
        assert_eq!(soon, [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
        let later = [60, 62, 66, 74, 3_600].map(&mut millis_at);
        assert_eq!(later, [2_000, 4_000, 8_000, 10_000, 10_000]);
    }
}
