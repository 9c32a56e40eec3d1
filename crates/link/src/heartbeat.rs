//! Detects a dead link. At each heartbeat the writer sends a ping. The link is dead if no message
//! has arrived for [`MISSED_HEARTBEATS_MAX`] heartbeats in a row.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::MISSED_HEARTBEATS_MAX;

/// Whether a message has arrived since the last heartbeat. The reader of the link sets the flag,
/// and the writer clears it.
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

pub struct Heartbeat {
    ticks: Interval,
    /// Number of heartbeats in a row since the last message arrived.
    missed: u32,
}

impl Heartbeat {
    pub fn new(period: Duration) -> Self {
        let mut ticks = tokio::time::interval_at(Instant::now() + period, period);
        // A late tick does not shorten the wait for the next one, so two heartbeats are at least a
        // whole period apart.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { ticks, missed: 0 }
    }

    /// Waits for the next heartbeat. Cancel safe.
    pub async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Counts one heartbeat. Returns whether the link is dead.
    pub fn is_dead(&mut self, activity: &ActivityFlag) -> bool {
        self.missed = if activity.take() { 0 } else { self.missed + 1 };
        self.missed >= MISSED_HEARTBEATS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_silent_heartbeats_in_a_row_end_a_link() {
        let mut heartbeat = Heartbeat::new(Duration::from_secs(1));
        let activity = ActivityFlag::new();
        assert!(!heartbeat.is_dead(&activity), "a new link counts as active");
        assert_eq!(heartbeat.missed, 0);
        let dead: Vec<bool> = [false, false, true, false, false, false]
            .into_iter()
            .map(|was_active| {
                if was_active {
                    activity.set();
                }
                heartbeat.is_dead(&activity)
            })
            .collect();
        assert_eq!(dead, [false, false, false, false, false, true]);
    }
}
