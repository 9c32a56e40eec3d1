//! Limits the time for the head of a request, with one timer per connection instead of one per
//! request.
//!
//! The HTTP library creates a sleep whenever it starts to wait for a head, and drops the sleep when
//! the head has arrived. Adding a timer to the runtime and removing it again costs as much as
//! finding the target of a call. So one timer (the alarm) is kept: if it fires for an earlier head,
//! it is set to the deadline of the current head. A sleep must never end before its deadline.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

use super::connections::Slot;

/// The timer of one connection. The connection's task polls all sleeps of the timer. While a sleep
/// exists, the connection waits for a head and is idle.
pub struct HeadTimer {
    alarm: Arc<Mutex<Alarm>>,
    slot: Arc<Slot>,
}

impl HeadTimer {
    pub fn new(slot: Arc<Slot>) -> Self {
        Self {
            alarm: Arc::default(),
            slot,
        }
    }
}

/// The entry in the runtime's timer; `None` until the first sleep is polled.
type Alarm = Option<Pin<Box<tokio::time::Sleep>>>;

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.slot.note_idle();
        Box::pin(HeadSleep {
            deadline: deadline.into(),
            alarm: Arc::clone(&self.alarm),
            slot: Arc::clone(&self.slot),
        })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        *sleep = self.sleep_until(deadline);
        // Dropping the old sleep marked the connection as busy.
        self.slot.note_idle();
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

struct HeadSleep {
    deadline: tokio::time::Instant,
    alarm: Arc<Mutex<Alarm>>,
    slot: Arc<Slot>,
}

impl Drop for HeadSleep {
    fn drop(&mut self) {
        self.slot.note_busy();
    }
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut alarm = self.alarm.lock();
        let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.deadline)));
        if alarm.deadline() > self.deadline {
            alarm.as_mut().reset(self.deadline);
        }
        loop {
            std::task::ready!(alarm.as_mut().poll(context));
            if alarm.deadline() >= self.deadline {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(self.deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(40);

    /// Polls a sleep once, like a connection whose client then sends a head.
    async fn begin(sleep: &mut Pin<Box<dyn Sleep>>) {
        assert!(futures_util::poll!(sleep.as_mut()).is_pending());
    }

    #[tokio::test]
    async fn a_sleep_ends_at_its_own_time_whatever_the_alarm_was_set_to() {
        let registration = crate::http::connections::testing::admit_one().await;
        let timer = HeadTimer::new(Arc::clone(registration.slot()));
        let start = timer.now();
        // An earlier request sets the alarm.
        begin(&mut timer.sleep_until(start + STEP)).await;
        timer.sleep_until(start + 3 * STEP).await;
        assert!(start.elapsed() >= 3 * STEP);
        // A deadline that is earlier than the alarm.
        let start = timer.now();
        begin(&mut timer.sleep_until(start + 1_000 * STEP)).await;
        timer.sleep_until(start + STEP).await;
        assert!(start.elapsed() >= STEP && start.elapsed() < 500 * STEP);
        // A deadline in the past.
        timer.sleep(Duration::ZERO).await;
    }
}
