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
    /// The last look that is done, and the last that found everything.
    done: watch::Sender<(u64, u64)>,
    asked: Notify,
}

impl CatchUp {
    /// Waits for a look that begins after this call; whether it found everything, in time.
    pub async fn now(&self) -> bool {
        let next = self.begun.load(Ordering::Acquire) + 1;
        let mut done = self.done.subscribe();
        self.asked.notify_one();
        let looked = timeout(WAIT_MAX, done.wait_for(|&(done, _)| done >= next)).await;
        looked.is_ok_and(|looked| looked.is_ok_and(|looked| looked.1 >= next))
    }

    /// Until somebody waits; for the one who looks.
    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// A look begins; its number.
    pub(super) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The look with this number is done; `all`: it found everything there was.
    pub(super) fn done(&self, number: u64, all: bool) {
        self.done.send_modify(|(done, found)| {
            *done = number;
            if all {
                *found = number;
            }
        });
    }
}
