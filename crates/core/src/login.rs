//! How long a login must wait after failed logins.
//!
//! Failures delay logins and never lock an account: a user with the right password waits only a
//! short time. The wait is counted for one account at one address. Failures at other addresses or
//! for other accounts cause no wait. Many such failures only reduce the number of free attempts.

use std::time::Duration;

use crate::Timestamp;

/// The settings of the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginDelay {
    /// Free attempts: attempts without a wait, for one account at one address.
    pub free: u32,
    /// The longest wait between two attempts for one account at one address.
    pub wait_max: Duration,
    /// After this many failures at one address, or for one account, only one attempt is free.
    pub suspicious: u32,
    /// Time after the last failure at which the count returns to zero.
    pub forget_after: Duration,
}

/// A count of failed attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failures {
    pub count: u32,
    pub last: Timestamp,
}

impl Failures {
    pub const NONE: Self = Self {
        count: 0,
        last: Timestamp(i64::MIN),
    };
}

impl LoginDelay {
    /// The failures that still count at `now`.
    pub fn current(&self, failures: Failures, now: Timestamp) -> Failures {
        if failures.count == 0 || failures.last.plus(self.forget_after) <= now {
            Failures::NONE
        } else {
            failures
        }
    }

    /// Counts one more failure.
    pub fn count(&self, failures: Failures, now: Timestamp) -> Failures {
        Failures {
            count: self.current(failures, now).count.saturating_add(1),
            last: now,
        }
    }

    /// How long the next attempt must wait; `None` if it may be made now. `own` counts the failures
    /// for the account at the address, `at_address` those for any account at the address,
    /// `for_account` those for the account at any address.
    pub fn wait(
        &self,
        own: Failures,
        at_address: Failures,
        for_account: Failures,
        now: Timestamp,
    ) -> Option<Duration> {
        let own = self.current(own, now);
        let is_suspicious = |failures| self.current(failures, now).count >= self.suspicious;
        let free = match is_suspicious(at_address) || is_suspicious(for_account) {
            true => self.free.min(1),
            false => self.free,
        };
        let doublings = own.count.checked_sub(free)?;
        if own.count == 0 {
            return None;
        }
        let seconds = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let wait = Duration::from_secs(seconds).min(self.wait_max);
        let until = own.last.plus(wait);
        (until > now).then(|| until.since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: LoginDelay = LoginDelay {
        free: 5,
        wait_max: Duration::from_secs(60),
        suspicious: 50,
        forget_after: Duration::from_secs(900),
    };
    const AT: Timestamp = Timestamp(1_000_000);

    fn failed(count: u32) -> Failures {
        Failures { count, last: AT }
    }

    fn after(seconds: u64) -> Timestamp {
        AT.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn s5_the_delay_grows_with_the_failures_of_one_account_at_one_address() {
        for (own, at_address, for_account, elapsed, expected) in [
            (0, 0, 0, 0, None),
            (4, 4, 4, 0, None),
            (5, 5, 5, 0, Some(1)),
            (5, 5, 5, 1, None),
            (6, 6, 6, 0, Some(2)),
            (7, 7, 7, 1, Some(3)),
            (10, 10, 10, 0, Some(32)),
            (11, 11, 11, 0, Some(60)),
            (1_000, 49, 49, 0, Some(60)),
            (1_000, 49, 49, 60, None),
            // After many failures elsewhere, one attempt is still free.
            (0, 1_000, 1_000, 0, None),
            (1, 50, 0, 0, Some(1)),
            (1, 0, 50, 0, Some(1)),
            (2, 50, 50, 0, Some(2)),
            // All failures are forgotten.
            (1_000, 1_000, 1_000, 900, None),
        ] {
            let waits = RULE.wait(
                failed(own),
                failed(at_address),
                failed(for_account),
                after(elapsed),
            );
            let expected = expected.map(Duration::from_secs);
            assert_eq!(
                waits, expected,
                "{own} {at_address} {for_account} after {elapsed} s"
            );
        }
    }

    #[test]
    fn s5_failures_are_forgotten_some_time_after_the_last_one() {
        let once = RULE.count(Failures::NONE, AT);
        assert_eq!(once, failed(1));
        assert_eq!(RULE.count(once, after(899)).count, 2);
        assert_eq!(RULE.count(once, after(900)).count, 1);
    }
}
