//! Limits how often a space may announce a change of its health.
//!
//! Each change writes to the database and emits an event. An agent that reports a thousand changes
//! a second would overload the database, so changes beyond the limit are postponed. Only the newest
//! report waits, so the last recorded health is correct, and every recorded change has its event.

use std::time::{Duration, Instant};

use svc_core::{Timestamp, space::Health};

/// Changes that a space may announce at once.
const BURST: u32 = 10;
/// After the burst, one change per interval.
const INTERVAL: Duration = Duration::from_secs(2);

/// The result of an agent's health check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HealthReport {
    pub current: Health,
    pub consecutive_failures: u32,
    pub checked_at: Timestamp,
}

/// A token bucket for one space. It is kept across links, so that reconnecting does not refill it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HealthPace {
    /// When the bucket will be full again; `None` or in the past while it is full.
    full_at: Option<Instant>,
}

impl HealthPace {
    /// Takes one change from the bucket. If the bucket is empty, the error is the time from which
    /// the next change is allowed.
    pub fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + INTERVAL;
        let ready_at = full_at - INTERVAL * BURST;
        if ready_at > now {
            return Err(ready_at);
        }
        self.full_at = Some(full_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_burst_one_change_passes_per_interval() {
        let (mut pace, start) = (HealthPace::default(), Instant::now() + 100 * INTERVAL);
        for n in 0..BURST {
            assert_eq!(pace.take(start), Ok(()), "{n}");
        }
        assert_eq!(pace.take(start), Err(start + INTERVAL));
        // A rejected change takes nothing from the bucket.
        assert_eq!(pace.take(start), Err(start + INTERVAL));
        assert_eq!(pace.take(start + INTERVAL), Ok(()));
        assert_eq!(pace.take(start + INTERVAL), Err(start + 2 * INTERVAL));
        // After a pause the whole burst is available again.
        let later = start + 1_000 * INTERVAL;
        assert!((0..BURST).all(|_| pace.take(later).is_ok()));
        assert!(pace.take(later).is_err());
    }
}
