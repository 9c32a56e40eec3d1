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

/// What decides whether a lane takes and delivers events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneActivity {
    /// Whether its sink is active; always true for a method subscription.
    pub receiver_active: bool,
    pub owner_active: bool,
    /// Whether its sink is a global one.
    pub is_global: bool,
    /// Whether its sink runs a script, which acts for the owner.
    pub acts_for_owner: bool,
}

impl LaneActivity {
    /// A lane pauses while its owner is deactivated. A global sink belongs to the zone and
    /// continues, unless it acts for its owner.
    pub fn is_active(self) -> bool {
        self.receiver_active && (self.owner_active || self.is_global && !self.acts_for_owner)
    }
}

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
    fn a_lane_pauses_with_its_owner_unless_it_is_a_global_webhook() {
        let check = |is_global, acts_for_owner, with_owner, without_owner| {
            let active = |receiver_active, owner_active| {
                LaneActivity {
                    receiver_active,
                    owner_active,
                    is_global,
                    acts_for_owner,
                }
                .is_active()
            };
            assert_eq!(active(true, true), with_owner);
            assert_eq!(active(true, false), without_owner);
            assert!(!active(false, true) && !active(false, false));
        };
        check(false, false, true, false);
        check(false, true, true, false);
        check(true, false, true, true);
        check(true, true, true, false);
    }

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
