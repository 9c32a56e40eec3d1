//! Waits for conditions, with a deadline.

use std::time::{Duration, Instant};

use tokio::time::sleep;

pub(super) const DEADLINE: Duration = Duration::from_secs(60);

pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, async || holds()).await;
}

/// [`until`] for a condition that reads the store.
pub(super) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(Duration::from_millis(1)).await;
    }
}
