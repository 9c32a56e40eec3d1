//! Caches the result of the self-check of the sandbox. A success is final, a failure expires;
//! concurrent requests share one check.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// How long a failure is cached. A check is slow, and a request must not wait for several checks.
const FAILURE_CACHED_FOR: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct SandboxCheck {
    holds: OnceCell<()>,
    failed: Mutex<Option<(Instant, String)>>,
}

impl SandboxCheck {
    /// Runs the check unless a result is cached. Concurrent callers wait for the running check.
    pub async fn get(&self, check: impl AsyncFnOnce() -> Result<(), String>) -> Result<(), String> {
        let check = || async {
            if let Some(reason) = self.cached_failure() {
                return Err(reason);
            }
            let checked = check().await;
            *self.failed.lock() = checked
                .as_ref()
                .err()
                .map(|reason| (Instant::now(), reason.clone()));
            checked
        };
        self.holds.get_or_try_init(check).await.copied()
    }

    fn cached_failure(&self) -> Option<String> {
        let failed = self.failed.lock();
        let (at, reason) = failed.as_ref()?;
        (at.elapsed() < FAILURE_CACHED_FOR).then(|| reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_failure_is_cached_for_a_while_and_a_success_forever() {
        let (sandbox, tested) = (&SandboxCheck::default(), &AtomicUsize::new(0));
        let ask = |outcome: Result<(), &'static str>| {
            sandbox.get(async move || {
                tested.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
                outcome.map_err(str::to_owned)
            })
        };
        let no = || ask(Err("no filter"));
        let results = tokio::join!(no(), no(), no());
        let failed = || Err("no filter".to_owned());
        assert_eq!(results, (failed(), failed(), failed()));
        assert_eq!(tested.load(Ordering::Relaxed), 1);

        let long_ago = Instant::now().checked_sub(FAILURE_CACHED_FOR);
        let long_ago = long_ago.expect("the machine has run for a while");
        *sandbox.failed.lock() = Some((long_ago, "no filter".to_owned()));
        assert_eq!(ask(Ok(())).await, Ok(()));
        assert_eq!(no().await, Ok(()));
        assert_eq!(tested.load(Ordering::Relaxed), 2);
    }
}
