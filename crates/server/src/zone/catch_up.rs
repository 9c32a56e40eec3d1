//! Lets somebody wait until this server knows what the others had committed when they asked.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

/// How long to wait; whoever asks is answered from what is known then.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Counts the looks that are taken at what other servers changed. All who wait share the next one,
/// so that nobody can make this server ask more often than one question at a time.
#[derive(Debug, Default)]
pub struct CatchUp {
    begun: AtomicU64,
    done: watch::Sender<u64>,
    asked: Notify,
}

impl CatchUp {
    /// Until a look that begins after this call is done, or it takes too long.
    pub async fn now(&self) {
        let next = self.begun.load(Ordering::Acquire) + 1;
        let mut done = self.done.subscribe();
        self.asked.notify_one();
        let _ = timeout(WAIT_MAX, done.wait_for(|&done| done >= next)).await;
    }

    /// Until somebody waits; for the one who looks.
    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// A look begins; its number.
    pub(super) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The look with this number is done, well or not.
    pub(super) fn done(&self, number: u64) {
        self.done.send_replace(number);
    }
}
