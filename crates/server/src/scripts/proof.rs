//! Caches the result of the sandbox self-test. A success is final, a failure expires; concurrent
//! requests share one test.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// How long a failure is cached. A test is slow, and requests must not wait for several of them.
const REMEMBERED: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Proof {
    holds: OnceCell<()>,
    failed: Mutex<Option<(Instant, String)>>,
}

impl Proof {
    /// Runs the test unless a result is cached. Concurrent callers wait for the running test.
    pub async fn get(&self, test: impl AsyncFnOnce() -> Result<(), String>) -> Result<(), String> {
        let test = || async {
            if let Some(reason) = self.remembered() {
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

    fn remembered(&self) -> Option<String> {
        let failed = self.failed.lock();
        let (at, reason) = failed.as_ref()?;
        (at.elapsed() < REMEMBERED).then(|| reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_failure_stands_for_all_who_wait_and_a_proof_for_ever() {
        let (proof, tested) = (&Proof::default(), &AtomicUsize::new(0));
        let ask = |outcome: Result<(), &'static str>| {
            proof.get(async move || {
                tested.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
                outcome.map_err(str::to_owned)
            })
        };
        let no = || ask(Err("no filter"));
        let asked = tokio::join!(no(), no(), no());
        let failed = || Err("no filter".to_owned());
        assert_eq!(asked, (failed(), failed(), failed()));
        assert_eq!(tested.load(Ordering::Relaxed), 1);

        let long_ago = Instant::now().checked_sub(REMEMBERED);
        let long_ago = long_ago.expect("the machine has run for a while");
        *proof.failed.lock() = Some((long_ago, "no filter".to_owned()));
        assert_eq!(ask(Ok(())).await, Ok(()));
        assert_eq!(no().await, Ok(()));
        assert_eq!(tested.load(Ordering::Relaxed), 2);
    }
}
