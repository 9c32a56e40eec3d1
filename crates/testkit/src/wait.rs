//! Waiting for a condition with a deadline, never for a fixed time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

const POLL: Duration = Duration::from_millis(20);

/// Waits until `condition` holds; panics with `what` after `limit`.
pub async fn eventually<F, Fut>(what: &str, limit: Duration, mut condition: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    get_eventually(what, limit, || {
        let holds = condition();
        async move { holds.await.then_some(()) }
    })
    .await;
}

/// Waits until `find` finds something; panics with `what` after `limit`.
pub async fn get_eventually<T, F, Fut>(what: &str, limit: Duration, mut find: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let begun = Instant::now();
    loop {
        if let Some(found) = find().await {
            return found;
        }
        assert!(begun.elapsed() < limit, "timeout after {limit:?}: {what}");
        tokio::time::sleep(POLL).await;
    }
}
