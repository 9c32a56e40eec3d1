//! Lanes: one durable queue per sink and per method subscription. A lane is first in, first out,
//! with one delivery at a time (spec 6.5), unless the policy of its sink says otherwise.

use std::time::Duration;

use crate::Timestamp;

/// The maximum number of events in a lane, the event in flight included (spec 6.5).
pub const QUEUE_CAPACITY: u32 = 100;
/// A lane with `overflow = "hold"` that has fallen behind reads more stored events when its queue
/// has shrunk to this length. The events of a replay or resend that takes several steps fill the
/// queue only up to this length.
pub const REFILL_DEPTH: u32 = QUEUE_CAPACITY / 2;
/// The number of attempts of one delivery, unless the sink's policy sets another (spec 6.5).
pub const ATTEMPTS_MAX: u32 = 3;
/// A delivery is given up after this many attempts that a crash of the server interrupted.
/// Otherwise a delivery that crashes the server could crash it again and again.
pub const STARTS_MAX: u32 = 10;
/// How long a server holds a lane without renewing the lease. Servers renew the lease after a third
/// of this time.
pub const LEASE: Duration = Duration::from_secs(30);

/// The maximum number of bytes of payloads that a lane reads ahead. At least one event is read.
pub const READ_AHEAD_BYTES: usize = 1024 * 1024;

/// How many deliveries the rate of a sink allows now. Deliveries that were allowed in the last
/// second but not made are still allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendRate {
    /// When the next delivery would be due if deliveries came at exactly the rate of the sink.
    pub until: Timestamp,
    now: Timestamp,
    /// Milliseconds between deliveries.
    interval: i64,
}

/// How long a delivery that was allowed but not made remains allowed, in milliseconds.
const RATE_BURST: i64 = 1_000;

impl SendRate {
    /// `until` is the value of [`until`](Self::until) after the last delivery; 0 before the first.
    pub fn new(per_minute: u32, until: Timestamp, now: Timestamp) -> Self {
        Self {
            until: until.max(now),
            now,
            interval: i64::from(60_000_u32.div_ceil(per_minute.max(1))),
        }
    }

    /// Deliveries that may begin now.
    pub fn allowed(&self) -> usize {
        let unused = self.now.0 + RATE_BURST - self.until.0;
        match unused {
            ..0 => 0,
            unused => usize::try_from(1 + unused / self.interval).unwrap_or(usize::MAX),
        }
    }

    /// When the next delivery is allowed.
    pub fn next_at(&self) -> Timestamp {
        Timestamp(self.until.0 - RATE_BURST).max(self.now)
    }

    /// Counts deliveries that begin now.
    pub fn take(&mut self, deliveries: usize) {
        let deliveries = i64::try_from(deliveries).unwrap_or(i64::MAX);
        self.until.0 = self
            .until
            .0
            .saturating_add(deliveries.saturating_mul(self.interval));
    }
}

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

/// The facts that decide whether a person must look at a sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SinkHealth {
    pub active: bool,
    /// Whether the service paused the sink.
    pub paused: bool,
    /// Whether a waiting delivery has failed.
    pub retrying: bool,
    /// Whether dropped events were not replayed, or dead deliveries were not sent again.
    pub undelivered: bool,
    /// When the newest finished delivery ended, if it is dead.
    pub died_at: Option<Timestamp>,
    /// When the oldest unfinished request to send past events again was made.
    pub resending_since: Option<Timestamp>,
}

impl SinkHealth {
    /// Whether a person must look at the sink. While past events are sent again, only failures
    /// since the request count. The `sink.failing` event has another rule:
    /// [`DeliveryPolicy::is_failing`](crate::delivery_policy::DeliveryPolicy::is_failing).
    pub fn needs_attention(self) -> bool {
        let fails = match self.resending_since {
            None => self.undelivered || self.died_at.is_some(),
            Some(since) => self.died_at.is_some_and(|died_at| died_at > since),
        };
        self.paused || self.active && (self.retrying || fails)
    }
}

/// Waits between attempts, unless the policy of a sink has its own (spec 6.5).
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

impl RetryPolicy {
    /// `failures` counts the failed attempts of this delivery, the latest included.
    pub fn wait(self, failures: u32) -> Duration {
        match failures {
            0 | 1 => self.after_first,
            _ => self.after_second,
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
    fn a_sink_needs_attention_if_it_is_paused_or_does_not_deliver() {
        let well = SinkHealth {
            active: true,
            ..SinkHealth::default()
        };
        let undelivered = SinkHealth {
            undelivered: true,
            ..well
        };
        let dead = SinkHealth {
            died_at: Some(Timestamp(10)),
            ..undelivered
        };
        let resending = |since, health| SinkHealth {
            resending_since: Some(Timestamp(since)),
            ..health
        };
        let retrying = SinkHealth {
            retrying: true,
            ..well
        };
        let inactive = |health| SinkHealth {
            active: false,
            ..health
        };
        let paused = SinkHealth {
            paused: true,
            ..inactive(well)
        };
        for (health, needs) in [
            (well, false),
            (undelivered, true),
            (dead, true),
            (retrying, true),
            (paused, true),
            (inactive(dead), false),
            (inactive(retrying), false),
            (resending(5, undelivered), false),
            (resending(5, dead), true),
            (resending(10, dead), false),
            (resending(5, retrying), true),
        ] {
            assert_eq!(health.needs_attention(), needs, "{health:?}");
        }
    }

    #[test]
    fn a_rate_allows_a_burst_of_one_second_and_then_its_average() {
        let mut rate = SendRate::new(600, Timestamp(0), Timestamp(5_000));
        assert_eq!(rate.allowed(), 11);
        rate.take(11);
        assert_eq!(rate.allowed(), 0);
        assert_eq!(rate.next_at(), Timestamp(5_100));
        let later = SendRate::new(600, rate.until, Timestamp(5_100));
        assert_eq!(later.allowed(), 1);
        // A slow rate allows one delivery now. The next delivery may be early by up to one second.
        let mut slow = SendRate::new(6, Timestamp(0), Timestamp(0));
        assert_eq!(slow.allowed(), 1);
        slow.take(1);
        assert_eq!(slow.next_at(), Timestamp(9_000));
    }

    #[test]
    fn s6_5_limits_have_their_documented_values() {
        assert_eq!((QUEUE_CAPACITY, REFILL_DEPTH), (100, 50));
        assert_eq!((ATTEMPTS_MAX, STARTS_MAX), (3, 10));
        assert_eq!(LEASE, Duration::from_secs(30));
        assert_eq!(READ_AHEAD_BYTES, 1_048_576);
    }

    #[test]
    fn s6_5_the_wait_is_five_seconds_after_the_first_failure_and_then_fifteen() {
        let waits = [1, 2, 3].map(|failures| RetryPolicy::default().wait(failures).as_secs());
        assert_eq!(waits, [5, 15, 15]);
    }
}
