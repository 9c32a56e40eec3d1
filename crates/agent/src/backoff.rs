//! Growing delays between attempts.

use std::time::Duration;

/// Delays that double from `first` up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub max: Duration,
}

impl Backoff {
    pub const fn from_millis(first: u64, max: u64) -> Self {
        Self {
            first: Duration::from_millis(first),
            max: Duration::from_millis(max),
        }
    }

    pub fn delays(self) -> Delays {
        Delays {
            backoff: self,
            next: self.first,
        }
    }
}

/// The delays of one sequence of attempts.
#[derive(Clone, Debug)]
pub struct Delays {
    backoff: Backoff,
    next: Duration,
}

impl Delays {
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(self.backoff.max);
        delay
    }

    /// The next delay with [`jitter`]: agents that lost a server together must not all reconnect at
    /// the same time.
    pub fn next_jittered(&mut self) -> Duration {
        jitter(self.next_delay())
    }
}

/// A random time between half of `delay` and all of it.
pub fn jitter(delay: Duration) -> Duration {
    let random = random();
    delay / 2 + (delay / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// A random time from zero to `limit`.
pub fn random_within(limit: Duration) -> Duration {
    let random = random();
    limit.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

fn random() -> u32 {
    #[cfg(test)]
    if let Some(number) = seeded::next() {
        return number;
    }
    svc_crypto::random::u32().unwrap_or(u32::MAX)
}

/// Random times that depend on the seed of a simulation.
#[cfg(test)]
pub mod seeded {
    use std::cell::RefCell;

    use svc_simulation::Random;

    thread_local! {
        static RANDOM: RefCell<Option<Random>> = const { RefCell::new(None) };
    }

    /// From now on, random times of this thread depend on `random`.
    pub fn begin(random: Random) {
        RANDOM.set(Some(random));
    }

    pub fn next() -> Option<u32> {
        RANDOM.with_borrow_mut(|random| random.as_mut().map(|random| random.number() as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let mut delays = Backoff::from_millis(100, 350).delays();
        let millis: Vec<_> = (0..4).map(|_| delays.next_delay().as_millis()).collect();
        assert_eq!(millis, [100, 200, 350, 350]);
        let mut delays = Backoff::from_millis(100, 350).delays();
        let jittered = delays.next_jittered().as_millis();
        assert!((50..=100).contains(&jittered), "{jittered}");
    }
}
