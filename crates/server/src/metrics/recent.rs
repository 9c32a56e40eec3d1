//! A value that all requesters share for a while.

use std::time::Duration;

use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

/// Computes a value at most once per `max_age`, however many requesters there are and however soon
/// they disconnect.
pub struct Recent<T> {
    max_age: Duration,
    /// Held during a computation.
    last: Mutex<Option<Last<T>>>,
}

struct Last<T> {
    at: Instant,
    /// `None` if the requester disconnected during the computation.
    value: Option<T>,
}

impl<T: Clone> Recent<T> {
    pub fn new(max_age: Duration) -> Self {
        Self {
            max_age,
            last: Mutex::default(),
        }
    }

    /// The last value, or the result of `compute` if that value is too old.
    pub async fn get(&self, compute: impl AsyncFnOnce() -> T) -> T {
        let mut last = self.last.lock().await;
        if let Some(Last { at, value }) = &*last
            && at.elapsed() < self.max_age
        {
            match value {
                Some(value) => return value.clone(),
                // The abandoned computation may still run.
                None => sleep_until(*at + self.max_age).await,
            }
        }
        *last = Some(Last {
            at: Instant::now(),
            value: None,
        });
        let value = compute().await;
        *last = Some(Last {
            at: Instant::now(),
            value: Some(value.clone()),
        });
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;
    use tokio::time::{advance, sleep, timeout};

    use super::*;

    const AGE: Duration = Duration::from_secs(1);

    /// A computation that takes longer than its value may be used.
    async fn slow(begun: &AtomicU32) -> u32 {
        let number = begun.fetch_add(1, Ordering::Relaxed) + 1;
        sleep(5 * AGE).await;
        number
    }

    #[tokio::test(start_paused = true)]
    async fn requests_at_the_same_time_share_one_computation() {
        let (recent, begun) = (Recent::new(AGE), AtomicU32::new(0));
        let get = || recent.get(async || slow(&begun).await);
        assert_eq!(join_all((0..100).map(|_| get())).await, [1; 100]);
        assert_eq!(get().await, 1);
        advance(AGE).await;
        assert_eq!(get().await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn requesters_that_disconnect_start_no_further_computation() {
        let (recent, begun) = (Recent::new(AGE), AtomicU32::new(0));
        let get = || recent.get(async || slow(&begun).await);
        for _ in 0..100 {
            assert!(timeout(AGE / 1_000, get()).await.is_err());
        }
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        assert_eq!(get().await, 2);
    }
}
