//! Caches the result of the sandbox self-test. A success is final, a failure expires; concurrent
//! requests share one test.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// How long a failure is cached. A test is slow, and a request must not wait for several tests.
const FAILURE_CACHED_FOR: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct SandboxTest {
    holds: OnceCell<()>,
    failed: Mutex<Option<(Instant, String)>>,
}

impl SandboxTest {
    /// Runs the test unless a result is cached. Concurrent callers wait for the running test.
    pub async fn get(&self, test: impl AsyncFnOnce() -> Result<(), String>) -> Result<(), String> {
        let test = || async {
            if let Some(reason) = self.cached_failure() {
                return Err(reason);
            }
            let tested = test().await;
            *self.failed.lock() = tested
                .as_ref()
                .err()
                .map(|reason| (Instant::now(), reason.clone()));
            tested
        };
        self.holds.get_or_try_init(test).await.copied()
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
        let (sandbox, tested) = (&SandboxTest::default(), &AtomicUsize::new(0));
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
