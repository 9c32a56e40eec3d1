//! Lanes: one durable queue per sink and per method subscription, strictly first in first out,
//! one delivery at a time (spec 6.5).

use std::time::Duration;

/// The maximum number of events in a lane, the event in flight included (spec 6.5).
pub const QUEUE_CAPACITY: u32 = 100;
/// A lane that has fallen behind looks at stored events again when no more events than this wait in
/// its queue. Also the part of the queue that past events may fill which a user sends again.
pub const REFILL_DEPTH: u32 = QUEUE_CAPACITY / 2;
/// The maximum number of attempts of one delivery (spec 6.5).
pub const ATTEMPTS_MAX: u32 = 3;
/// The maximum number of starts of one delivery, including those that a crash of the server ended.
/// A delivery that crashes the server must not do so forever.
pub const STARTS_MAX: u32 = 10;
/// How long a server holds a lane without renewing the lease. Servers renew after a third of it.
pub const LEASE: Duration = Duration::from_secs(30);

/// The facts that decide whether a lane accepts and delivers events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneActivity {
    /// Whether the lane's sink is active; always true for a method subscription.
    pub receiver_active: bool,
    pub owner_active: bool,
    /// Whether the lane's sink is global.
    pub is_global: bool,
    /// Whether the lane's sink runs a script, which acts for the owner.
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

/// The consequence of a failed attempt.
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
