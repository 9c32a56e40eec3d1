//! Counters of the last sixty minutes. The entry of a minute is reused an hour later; the first
//! call of the new minute resets it. A call that ends during the reset may not be counted, which is
//! acceptable for a chart.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicI64, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use svc_core::{
    Timestamp,
    latency::{STEPS, StepCounts, percentile_ms, step_of},
};
use svc_protocol::api::CallMinute;

use super::MINUTE_MS;

pub const MINUTES: usize = 60;

/// Sixty minutes. The memory of an entry is allocated by its first call.
pub struct Ring {
    minutes: [OnceLock<Box<Minute>>; MINUTES],
    last: AtomicI64,
}

struct Minute {
    /// Minutes since 1970.
    number: AtomicI64,
    errors: AtomicU32,
    /// Calls by latency. Their sum is the number of calls.
    steps: [AtomicU32; STEPS],
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            minutes: [const { OnceLock::new() }; MINUTES],
            last: AtomicI64::new(0),
        }
    }
}

impl Ring {
    pub fn record(&self, number: i64, failed: bool, took: Duration) {
        if self.last.load(Relaxed) != number {
            self.last.store(number, Relaxed);
        }
        let minute = self.minutes[index(number)].get_or_init(|| Box::new(Minute::new(number)));
        minute.reset_to(number);
        minute.steps[step_of(took)].fetch_add(1, Relaxed);
        if failed {
            minute.errors.fetch_add(1, Relaxed);
        }
    }

    /// The hour that ends with this minute.
    pub fn minutes(&self, last: i64) -> Vec<CallMinute> {
        let first = last - (MINUTES as i64 - 1);
        (first..=last).map(|number| self.minute(number)).collect()
    }

    /// Whether the last call is an hour or more away from this minute. The difference is absolute,
    /// because the clock may have been ahead.
    pub fn is_idle(&self, number: i64) -> bool {
        self.last.load(Relaxed).abs_diff(number) >= MINUTES as u64
    }

    fn minute(&self, number: i64) -> CallMinute {
        let found = self.minutes[index(number)].get();
        let found = found.filter(|minute| minute.number.load(Relaxed) == number);
        let counts: StepCounts = match found {
            Some(minute) => std::array::from_fn(|step| minute.steps[step].load(Relaxed).into()),
            None => [0; STEPS],
        };
        CallMinute {
            minute: Timestamp(number * MINUTE_MS),
            calls: counts.iter().sum(),
            errors: found.map_or(0, |minute| minute.errors.load(Relaxed).into()),
            p50_ms: percentile_ms(&counts, 0.5),
            p95_ms: percentile_ms(&counts, 0.95),
        }
    }
}

impl Minute {
    fn new(number: i64) -> Self {
        Self {
            number: AtomicI64::new(number),
            errors: AtomicU32::new(0),
            steps: [const { AtomicU32::new(0) }; STEPS],
        }
    }

    /// Resets an entry of another hour: an earlier one, or a later one if the clock was ahead.
    fn reset_to(&self, number: i64) {
        let held = self.number.load(Relaxed);
        if held == number {
            return;
        }
        let is_first = self.number.compare_exchange(held, number, Relaxed, Relaxed);
        if is_first.is_ok() {
            self.errors.store(0, Relaxed);
            self.steps.iter().for_each(|count| count.store(0, Relaxed));
        }
    }
}

fn index(number: i64) -> usize {
    usize::try_from(number.rem_euclid(MINUTES as i64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(number: u64) -> Duration {
        Duration::from_micros(number)
    }

    #[test]
    fn a_minute_has_its_calls_errors_and_percentiles() {
        let ring = Ring::default();
        for number in 1..=1_000 {
            ring.record(7, number % 10 == 0, micros(number * 100));
        }
        let minute = ring.minute(7);
        assert_eq!((minute.calls, minute.errors), (1_000, 100));
        let median = minute.p50_ms.expect("there were calls");
        assert!((median - 50.0).abs() < 2.5, "{median}");
        assert!(minute.p95_ms > minute.p50_ms);
    }

    #[test]
    fn an_entry_is_empty_an_hour_later() {
        let ring = Ring::default();
        ring.record(100, true, micros(500));
        assert_eq!(ring.minutes(100).last().map(|minute| minute.calls), Some(1));
        assert_eq!(
            ring.minutes(159).first().map(|minute| minute.calls),
            Some(1)
        );
        assert_eq!(ring.minutes(160).last().map(|minute| minute.calls), Some(0));
        ring.record(160, false, micros(500));
        let last = ring.minute(160);
        assert_eq!((last.calls, last.errors), (1, 0));
        assert!(!ring.is_idle(219) && ring.is_idle(220));
    }

    #[test]
    fn counts_are_correct_after_the_clock_was_ahead() {
        let ring = Ring::default();
        for ahead in [160, 100 + 60 * 24 * 365] {
            ring.record(ahead, true, micros(500));
            assert!(ring.is_idle(100));
            ring.record(100, false, micros(500));
            let minute = ring.minute(100);
            assert_eq!((minute.calls, minute.errors), (1, 0), "after {ahead}");
            assert!(!ring.is_idle(100));
        }
    }
}
