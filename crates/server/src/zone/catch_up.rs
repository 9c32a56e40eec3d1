//! Lets requests wait until this server has read the commits that other servers made earlier.
//!
//! A look is one read of the log of changes (`follow`), or of new events (`streams`). Regular looks
//! happen at intervals; an early look happens because a request waits for it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

/// Longest wait of a request for a look.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// The number of early looks allowed in a burst, and the number per second after that.
const EARLY_BURST: f64 = 8.0;
const EARLY_PER_SECOND: f64 = 4.0;

/// Counts looks. All waiting requests share the next look. Any client can request a look, even with
/// an invented credential, so the number of early looks is limited. Further requests wait for the
/// next regular look.
#[derive(Debug, Default)]
pub struct CatchUp {
    early: Mutex<EarlyLooks>,
    begun: AtomicU64,
    /// The number of the last finished look, and of the last look that read every change.
    done: watch::Sender<(u64, u64)>,
    requested: Notify,
}

impl CatchUp {
    /// Waits for a look that begins after this call. Returns whether such a look read every change
    /// in time.
    pub async fn now(&self) -> bool {
        let next = self.begun.load(Ordering::Acquire) + 1;
        let mut done = self.done.subscribe();
        if self.early.lock().take(next, Instant::now()) {
            self.requested.notify_one();
        }
        let looked = timeout(WAIT_MAX, done.wait_for(|&(done, _)| done >= next)).await;
        looked.is_ok_and(|looked| looked.is_ok_and(|looked| looked.1 >= next))
    }

    /// Waits for a request. Called by the task that makes the looks.
    pub(super) async fn requested(&self) {
        self.requested.notified().await;
    }

    /// Begins a look and returns its number.
    pub(super) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Ends the look with this number. `all` means that the look read every change.
    pub(super) fn done(&self, number: u64, all: bool) {
        self.done.send_modify(|(done, found)| {
            *done = number;
            if all {
                *found = number;
            }
        });
    }
}

/// A token bucket for early looks.
#[derive(Debug)]
struct EarlyLooks {
    left: f64,
    counted_at: Option<Instant>,
    /// The number of the last requested look. Another request for the same look takes no token.
    requested: u64,
}

impl Default for EarlyLooks {
    fn default() -> Self {
        Self {
            left: EARLY_BURST,
            counted_at: None,
            requested: 0,
        }
    }
}

impl EarlyLooks {
    /// Returns true if the look with this number was not requested yet and may be made early. The
    /// caller then requests the look.
    fn take(&mut self, number: u64, now: Instant) -> bool {
        if number <= self.requested {
            return false;
        }
        let elapsed = self.counted_at.map_or(0.0, |at| (now - at).as_secs_f64());
        self.counted_at = Some(now);
        self.left = (self.left + elapsed * EARLY_PER_SECOND).min(EARLY_BURST);
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        self.requested = number;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_requests_causes_few_early_looks() {
        let mut early = EarlyLooks::default();
        let start = Instant::now();
        // A thousand requests a second for ten seconds, each for a different look.
        let looks = (0..10_000_u32).filter(|&n| {
            let now = start + Duration::from_millis(n.into());
            early.take(u64::from(n) + 1, now)
        });
        let looks = looks.count();
        assert!((40..=50).contains(&looks), "{looks}");
    }

    #[test]
    fn requests_that_wait_for_the_same_look_request_it_once() {
        let mut early = EarlyLooks::default();
        let now = Instant::now();
        assert!(early.take(1, now));
        assert!((0..100).all(|_| !early.take(1, now)));
        assert!(early.take(2, now));
    }
}
