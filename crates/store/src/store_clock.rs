//! The clock of the embedded database, for leases and waits.
//!
//! If the system clock is set forward or back, stored times would be wrong by as much: a retry
//! would come hours late or at once. Therefore [`StoreClock`] ignores the change until the writer
//! has moved the times for which lanes and deliveries wait by the same amount, in one transaction.
//! Small corrections are followed at once.

use std::time::Duration;

use parking_lot::Mutex;
use svc_clock::Clock;
use svc_core::{Timestamp, timestamp::millis};

use crate::{connection::Connection, error::StoreError, lanes, meta, sql::in_transaction};

/// The smallest change of the system clock for which stored times are moved. Smaller changes are
/// corrections, which this clock follows at once.
const JUMP_MIN: Duration = Duration::from_secs(2);
/// The key in the table `meta` under which a recent time of this clock is stored. If this time is
/// in the future after a restart, the system clock was set back.
pub(super) const CLOCK_SEEN: &str = "clock_seen";
/// The minimum time between two writes of [`CLOCK_SEEN`], unless the system clock was set.
const SEEN_EVERY: Duration = Duration::from_secs(60);

pub(super) struct StoreClock {
    system: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// This clock, minus the time since the start of the machine; in milliseconds.
    offset: Option<i64>,
    /// When [`CLOCK_SEEN`] was stored last.
    seen_at: Option<Duration>,
}

impl StoreClock {
    pub(super) fn new(system: Clock) -> Self {
        let clock = Self {
            system,
            state: Mutex::default(),
        };
        clock.now();
        clock
    }

    pub(super) fn now(&self) -> Timestamp {
        let Some(elapsed) = self.system.elapsed() else {
            return self.system.now();
        };
        let (system, elapsed) = (self.system.now(), millis(elapsed));
        let mut state = self.state.lock();
        let offset = state.offset.get_or_insert(system.0 - elapsed);
        let jump = system.0 - (elapsed + *offset);
        if jump.unsigned_abs() < JUMP_MIN.as_millis() as u64 {
            *offset = system.0 - elapsed;
        }
        Timestamp(elapsed + *offset)
    }

    /// By how many milliseconds the system clock was set, if it was.
    fn find_jump(&self) -> Option<i64> {
        let own = self.now();
        self.system.elapsed()?;
        let jump = self.system.now().0 - own.0;
        (jump.unsigned_abs() >= JUMP_MIN.as_millis() as u64).then_some(jump)
    }

    /// The writer calls this before each transaction that writes. Follows a change of the system
    /// clock, and stores [`CLOCK_SEEN`] about once a minute.
    pub(super) fn follow(&self, connection: &dyn Connection) -> Result<(), StoreError> {
        let Some(elapsed) = self.system.elapsed() else {
            return Ok(());
        };
        let jump = self.find_jump();
        let seen_at = self.state.lock().seen_at;
        let is_seen = seen_at.is_some_and(|at| elapsed.saturating_sub(at) < SEEN_EVERY);
        if jump.is_none() && is_seen {
            return Ok(());
        }
        let now = Timestamp(self.now().0 + jump.unwrap_or_default());
        in_transaction(connection, |tx| {
            if let Some(jump) = jump {
                lanes::shift_times(tx, jump)?;
            }
            meta::set(tx, CLOCK_SEEN, &now.0.to_string())
        })?;
        let mut state = self.state.lock();
        state.seen_at = Some(elapsed);
        if let Some(jump) = jump {
            state.offset = state.offset.map(|offset| offset + jump);
            tracing::warn!(target: crate::LOG_TARGET, seconds = jump / 1_000, "the system clock was set; the times of waiting deliveries were moved by the same amount");
        }
        Ok(())
    }

    /// At the start: if the stored times are from a clock that was ahead, moves them back.
    pub(super) fn follow_restart(&self, connection: &dyn Connection) -> Result<(), StoreError> {
        if self.system.elapsed().is_none() {
            return Ok(());
        }
        let now = self.now();
        let mut moved = None;
        in_transaction(connection, |tx| {
            let seen = meta::find(tx, CLOCK_SEEN)?.and_then(|text| text.parse::<i64>().ok());
            let ahead = seen.unwrap_or_default() - now.0;
            if ahead < JUMP_MIN.as_millis() as i64 {
                return Ok(());
            }
            moved = Some(ahead);
            lanes::shift_times(tx, -ahead)?;
            meta::set(tx, CLOCK_SEEN, &now.0.to_string())
        })?;
        if let Some(ahead) = moved {
            tracing::warn!(target: crate::LOG_TARGET, seconds = ahead / 1_000, "the system clock was set back since the last start; the times of waiting deliveries were moved by the same amount");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use super::*;
    use crate::{Store, StoreOptions, sql::values};

    const HOUR: i64 = 3_600_000;

    /// A clock that a test sets, and the time that really passes.
    #[derive(Clone, Default)]
    struct Times {
        system: Arc<AtomicI64>,
        elapsed: Arc<AtomicI64>,
    }

    impl Times {
        fn pass(&self, millis: i64) {
            self.system.fetch_add(millis, Ordering::Relaxed);
            self.elapsed.fetch_add(millis, Ordering::Relaxed);
        }

        fn set_by(&self, millis: i64) {
            self.system.fetch_add(millis, Ordering::Relaxed);
        }

        fn clock(&self) -> StoreClock {
            let (system, elapsed) = (self.system.clone(), self.elapsed.clone());
            let read = move || Timestamp(system.load(Ordering::Relaxed));
            let passed =
                move || Duration::from_millis(elapsed.load(Ordering::Relaxed).unsigned_abs());
            StoreClock::new(Clock::from_fn(read).with_elapsed(passed))
        }
    }

    #[test]
    fn time_goes_on_although_the_system_clock_is_set() {
        let times = Times::default();
        times.pass(1_000 * HOUR);
        let clock = times.clock();
        for jump in [3 * HOUR, -7 * HOUR, 0] {
            times.set_by(jump);
            let before = clock.now();
            times.pass(500);
            assert_eq!(clock.now(), Timestamp(before.0 + 500), "{jump}");
        }
        assert_eq!(clock.find_jump(), Some(-4 * HOUR));
    }

    /// The time at which the only lane is due, relative to the system clock.
    async fn due_in(store: &Store, times: &Times) -> i64 {
        let due = store.read(|tx| tx.get::<i64>("SELECT next_at FROM lanes", &[]));
        due.await.expect("a lane") - times.system.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn a_lane_keeps_its_wait_when_the_clock_is_set_and_over_a_restart() {
        let times = Times::default();
        times.pass(1_000 * HOUR);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = || {
            let (system, elapsed) = (times.system.clone(), times.elapsed.clone());
            let read = move || Timestamp(system.load(Ordering::Relaxed));
            let passed =
                move || Duration::from_millis(elapsed.load(Ordering::Relaxed).unsigned_abs());
            let options = StoreOptions {
                clock: Clock::from_fn(read).with_elapsed(passed),
                ..StoreOptions::default()
            };
            Store::open_with(folder.path(), options).expect("opens")
        };
        let store = open();
        let adding = store.write(|tx| {
            let due = tx.now()?.plus(Duration::from_secs(60));
            tx.execute(
                "INSERT INTO lanes (id, delivery_kind, owner_key, owner_id, method, patterns, formatters,
                     active, tail, depth, next_at, failures, starts, lease_until, fence, dropped)
                 VALUES ('l', 'method', 'o', 'o', 'm', '[]', '[]', 1, 1, 1, ?1, 0, 0, 0, 0, 0)",
                values![due],
            )
        });
        adding.await.expect("added");
        for jump in [3 * HOUR, -8 * HOUR] {
            times.set_by(jump);
            // The store follows a change of the system clock before the next write.
            let any = store.write(|tx| meta::set(tx, "any", "1"));
            any.await.expect("written");
            assert_eq!(due_in(&store, &times).await, 60_000, "{jump}");
        }
        times.pass(10_000);
        store.close().await;
        times.set_by(-4 * HOUR);
        let store = open();
        // The stored time is from ten seconds before the close, so these ten seconds do not count
        // as waited.
        assert_eq!(due_in(&store, &times).await, 60_000);
        store.close().await;
        // While no server runs, a clock that is set forward looks like a long pause.
        times.set_by(4 * HOUR);
        assert!(due_in(&open(), &times).await < 0);
    }

    #[test]
    fn small_corrections_are_followed() {
        let times = Times::default();
        times.pass(1_000 * HOUR);
        let clock = times.clock();
        for correction in [-900, 1_500, -30] {
            times.set_by(correction);
            assert_eq!(clock.now().0, times.system.load(Ordering::Relaxed));
            assert_eq!(clock.find_jump(), None);
        }
    }
}
