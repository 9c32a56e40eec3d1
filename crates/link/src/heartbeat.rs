//! Detects a dead link: each heartbeat sends a ping, and a link without a frame for several
//! heartbeats is dead.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::MISSED_HEARTBEATS_MAX;

/// Whether a message has arrived since the last heartbeat. The reader sets it, the writer clears it.
#[derive(Clone, Debug)]
pub struct ActivityFlag(Arc<AtomicBool>);

impl ActivityFlag {
    /// Initially set: a new link counts as active.
    pub fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Number of consecutive heartbeats without a message.
#[derive(Debug, Default)]
struct MissedHeartbeats(u32);

impl MissedHeartbeats {
    /// Counts one heartbeat. Returns whether the link is dead.
    fn count(&mut self, was_active: bool) -> bool {
        self.0 = if was_active { 0 } else { self.0 + 1 };
        self.0 >= MISSED_HEARTBEATS_MAX
    }
}

pub struct Heartbeat {
    ticks: Interval,
    missed: MissedHeartbeats,
}

impl Heartbeat {
    pub fn new(period: Duration) -> Self {
        let mut ticks = tokio::time::interval_at(Instant::now() + period, period);
        // Missed ticks are not repeated: each heartbeat without a message lasts a whole period.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            ticks,
            missed: MissedHeartbeats::default(),
        }
    }

    /// Waits for the next heartbeat. Cancel safe.
    pub async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Whether the link is dead at this heartbeat.
    pub fn is_dead(&mut self, activity: &ActivityFlag) -> bool {
        self.missed.count(activity.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silent_heartbeats_in_a_row_end_a_link() {
        let mut missed = MissedHeartbeats::default();
        let dead: Vec<bool> = [true, false, false, true, false, false, false]
            .into_iter()
            .map(|was_active| missed.count(was_active))
            .collect();
        assert_eq!(dead, [false, false, false, false, false, false, true]);
    }

    #[test]
    fn a_message_counts_for_one_heartbeat() {
        let (activity, mut missed) = (ActivityFlag::new(), MissedHeartbeats::default());
        assert!(
            !missed.count(activity.take()),
            "a new link counts as active"
        );
        activity.set();
        assert!(!missed.count(activity.take()));
        assert!(!missed.count(activity.take()));
        assert_eq!(missed.0, 1);
    }
}
