//! Limits how often each space may do something that costs a write: a burst, then one per interval.
//!
//! The state is kept by the id of the space, so that a space that reconnects, or stops and starts
//! again, has no new burst.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::SpaceId;

/// With fewer spaces in the table, none is removed.
const SPACES_MIN: usize = 1_024;

/// A token bucket for each space.
pub struct SpacePace {
    burst: u32,
    interval: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the whole burst of a space will be available again.
    full_at: HashMap<SpaceId, Instant>,
    /// The number of spaces at which the next take removes those with a whole burst.
    clean_at: usize,
}

impl SpacePace {
    /// Each space may act `burst` times at once, and then once per `interval`.
    pub fn new(burst: u32, interval: Duration) -> Self {
        Self {
            burst,
            interval,
            state: Mutex::default(),
        }
    }

    /// Takes one action of the space. The error is the wait until the next action is allowed; a
    /// refused action takes nothing.
    pub fn take(&self, space: SpaceId, now: Instant) -> Result<(), Duration> {
        let mut state = self.state.lock();
        if state.full_at.len() >= state.clean_at.max(SPACES_MIN) {
            state.full_at.retain(|_, full_at| *full_at > now);
            state.clean_at = 2 * state.full_at.len();
        }
        let full_at = state.full_at.entry(space).or_insert(now);
        let used = full_at.saturating_duration_since(now) + self.interval;
        let wait = used.saturating_sub(self.interval * self.burst);
        if !wait.is_zero() {
            return Err(wait);
        }
        *full_at = now + used;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const BURST: u32 = 10;
    const INTERVAL: Duration = Duration::from_secs(2);

    fn space(n: usize) -> SpaceId {
        SpaceId(Uuid::from_u128(n as u128))
    }

    #[test]
    fn after_a_burst_a_space_acts_once_per_interval() {
        let (pace, start) = (SpacePace::new(BURST, INTERVAL), Instant::now());
        for n in 0..BURST {
            assert_eq!(pace.take(space(1), start), Ok(()), "{n}");
        }
        assert_eq!(pace.take(space(1), start), Err(INTERVAL));
        // A refused action takes nothing.
        let half = start + INTERVAL / 2;
        assert_eq!(pace.take(space(1), half), Err(INTERVAL / 2));
        assert_eq!(pace.take(space(1), start + INTERVAL), Ok(()));
        assert_eq!(pace.take(space(1), start + INTERVAL), Err(INTERVAL));
        assert_eq!(pace.take(space(2), start), Ok(()), "another space");
        // After a pause the whole burst is available again.
        let later = start + 1_000 * INTERVAL;
        assert!((0..BURST).all(|_| pace.take(space(1), later).is_ok()));
        assert!(pace.take(space(1), later).is_err());
    }

    #[test]
    fn spaces_with_a_whole_burst_are_forgotten() {
        let (pace, start) = (SpacePace::new(BURST, INTERVAL), Instant::now());
        // Each space comes once, and its burst is whole again when the next thousand come.
        for n in 0..100 * SPACES_MIN {
            let at = start + INTERVAL * u32::try_from(2 * n / SPACES_MIN).expect("small");
            assert_eq!(pace.take(space(n), at), Ok(()));
        }
        assert!(pace.state.lock().full_at.len() <= 2 * SPACES_MIN);
    }
}
