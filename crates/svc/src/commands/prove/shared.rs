//! What the rounds, the emitters, the callers and the receiver of a run share.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tokio::sync::watch;

use super::{calls::CallCounts, ledger::Ledger, receiver::Fault};

pub struct Shared {
    pub seed: u64,
    pub emitters: usize,
    pub fault: Option<Fault>,
    ledger: Mutex<Ledger>,
    pub calls: CallCounts,
    /// Whether emitters emit and callers call.
    pub gate: watch::Sender<bool>,
    /// Emitters and callers that are not waiting for the gate.
    pub busy: AtomicUsize,
    /// Emits that failed and were sent again.
    failed_emits: AtomicU64,
    /// The addresses of the servers.
    addresses: Mutex<Vec<SocketAddr>>,
    /// The first answer that refused an emit for good.
    rejection: Mutex<Option<String>>,
}

impl Shared {
    pub fn new(seed: u64, emitters: usize, fault: Option<Fault>) -> Self {
        Self {
            seed,
            emitters,
            fault,
            ledger: Mutex::new(Ledger::new(emitters)),
            calls: CallCounts::default(),
            gate: watch::Sender::new(false),
            busy: AtomicUsize::new(0),
            failed_emits: AtomicU64::new(0),
            addresses: Mutex::default(),
            rejection: Mutex::default(),
        }
    }

    /// Waits for the gate: not busy while it is closed. `false` if the run has ended.
    pub async fn pass(&self, gate: &mut watch::Receiver<bool>) -> bool {
        if !*gate.borrow_and_update() {
            self.busy.fetch_sub(1, Ordering::SeqCst);
            if gate.wait_for(|open| *open).await.is_err() {
                return false;
            }
            self.busy.fetch_add(1, Ordering::SeqCst);
        }
        true
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    pub fn acknowledged(&self) -> usize {
        let ledger = self.ledger();
        (0..self.emitters).map(|emitter| ledger.next(emitter)).sum()
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        lock(&self.addresses).clone()
    }

    pub fn add_address(&self, address: SocketAddr) {
        lock(&self.addresses).push(address);
    }

    pub fn note_failed_emit(&self) {
        self.failed_emits.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed_emits(&self) -> u64 {
        self.failed_emits.load(Ordering::Relaxed)
    }

    pub fn reject(&self, why: String) {
        lock(&self.rejection).get_or_insert(why);
    }

    pub fn rejection(&self) -> Option<String> {
        lock(&self.rejection).clone()
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
