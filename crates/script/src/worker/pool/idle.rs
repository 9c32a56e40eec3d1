//! Idle workers. Each waits for the next script of its owner. A task, the reaper, ends workers that
//! were idle for too long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::Instant};
use uuid::Uuid;

use crate::worker::Worker;

pub(super) struct Idle {
    shared: Arc<Mutex<Shared>>,
    /// How long a worker may be idle.
    patience: Duration,
    reaper: Mutex<Option<JoinHandle<()>>>,
    warned: AtomicBool,
}

#[derive(Default)]
struct Shared {
    /// Oldest first.
    waiting: Vec<IdleWorker>,
    /// Whether the reaper task is running.
    reaping: bool,
}

struct IdleWorker {
    owner: Uuid,
    worker: Worker,
    until: Instant,
}

impl Idle {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            shared: Arc::default(),
            patience,
            reaper: Mutex::default(),
            warned: AtomicBool::new(false),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// Takes the usable worker of this owner that became idle last. Unusable workers of the owner
    /// that became idle later are dropped.
    pub(super) fn take(&self, owner: Uuid) -> Option<Worker> {
        let waiting = &mut self.shared.lock().waiting;
        while let Some(at) = waiting.iter().rposition(|one| one.owner == owner) {
            let mut worker = waiting.remove(at).worker;
            if worker.is_usable() {
                return Some(worker);
            }
        }
        None
    }

    pub(super) fn put(&self, owner: Uuid, worker: Worker) {
        let mut shared = self.shared.lock();
        shared.waiting.push(IdleWorker {
            owner,
            worker,
            until: Instant::now() + self.patience,
        });
        if !std::mem::replace(&mut shared.reaping, true) {
            let reaper = tokio::spawn(reap(self.shared.clone(), self.patience));
            *self.reaper.lock() = Some(reaper);
        }
    }

    /// Ends the oldest workers until at most `most` are left.
    pub(super) async fn make_room(&self, most: usize) {
        let ended: Vec<IdleWorker> = {
            let waiting = &mut self.shared.lock().waiting;
            let over = waiting.len().saturating_sub(most);
            waiting.drain(..over).collect()
        };
        end(ended).await;
    }

    pub(super) async fn close(&self) {
        let reaper = self.reaper.lock().take();
        if let Some(reaper) = reaper {
            reaper.abort();
            // Workers that the cancelled task was ending are killed when they are dropped.
            let _ = reaper.await;
        }
        self.make_room(0).await;
    }

    /// Logs the warning only once, because all workers of a machine have the same warning.
    pub(super) fn warn_once(&self, warning: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(warning, "scripts run without full confinement");
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        if let Some(reaper) = self.reaper.lock().take() {
            reaper.abort();
        }
    }
}

/// Ends workers that were idle for too long. The reaper ends when it finds no idle worker twice in
/// a row. It does not end the first time, so that not every script starts a new reaper.
async fn reap(shared: Arc<Mutex<Shared>>, patience: Duration) {
    let mut looked = false;
    loop {
        let next = {
            let mut shared = shared.lock();
            let next = shared.waiting.first().map(|oldest| oldest.until);
            shared.reaping = next.is_some() || !looked;
            next
        };
        match next {
            Some(next) => tokio::time::sleep_until(next).await,
            None if looked => return,
            None => tokio::time::sleep(patience).await,
        }
        looked = next.is_none();
        let now = Instant::now();
        let ended: Vec<IdleWorker> = {
            let waiting = &mut shared.lock().waiting;
            waiting.extract_if(.., |one| one.until <= now).collect()
        };
        end(ended).await;
    }
}

async fn end(ended: Vec<IdleWorker>) {
    for one in ended {
        one.worker.stop().await;
    }
}
