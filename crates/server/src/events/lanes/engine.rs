//! [`Engine`]: looks for lanes that are due, claims them, and owns the workers that deliver.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::{LaneId, ServerId};
use tokio::{
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Deliver, LanePolicy, retention,
    turn::{self, Moment, Turn},
    worker::Shared,
};
use crate::{
    events::hub::{Hub, Woken},
    store::{Store, StoreError, Tx, lanes},
};

/// Lanes claimed in one transaction, so that it stays short.
const CLAIM_MAX: usize = 64;

/// Delivers until its shutdown token is cancelled.
pub struct Engine<D> {
    shared: Arc<Shared<D>>,
    /// Lanes that were woken while a worker had them, who was about to let them rest.
    woken_while_held: Mutex<HashSet<Woken>>,
}

impl<D: Deliver> Engine<D> {
    pub fn new(
        store: Store,
        server_id: ServerId,
        deliver: Arc<D>,
        policy: LanePolicy,
        shutdown: CancellationToken,
        hub: Hub,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                server_id,
                deliver,
                policy,
                hub,
                working: AtomicUsize::new(0),
                shutdown,
                cut_off: CancellationToken::new(),
            }),
            woken_while_held: Mutex::default(),
        }
    }

    /// Runs until shutdown; then deliveries in flight get a moment to end, and every lane is
    /// given back.
    pub async fn run(self) {
        let policy = &self.shared.policy;
        let pruning = retention::run(self.shared.store.clone(), policy.retention);
        let mut workers = JoinSet::new();
        tokio::select! {
            () = self.schedule(&mut workers) => {}
            () = async { pruning.await; std::future::pending().await } => {}
        }
        self.drain(workers).await;
    }

    async fn schedule(&self, workers: &mut JoinSet<LaneId>) {
        self.take_over().await;
        loop {
            let wait = self.look(workers).await;
            tokio::select! {
                biased;
                () = self.shared.shutdown.cancelled() => return,
                () = self.shared.hub.woken() => {}
                Some(ended) = workers.join_next() => self.note_end(ended),
                () = sleep(wait) => {}
            }
            while let Some(ended) = workers.try_join_next() {
                self.note_end(ended);
            }
        }
    }

    /// Frees what this server held when it was killed: its id is its data folder's, and that has
    /// one server at a time.
    async fn take_over(&self) {
        let server = self.shared.server_id;
        loop {
            let releasing = move |tx: &mut Tx<'_>| lanes::release_all(tx, server);
            match self.shared.store.write(releasing).await {
                Ok(_) | Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "lanes of an earlier run could not be taken over; it is tried again");
                    sleep(self.shared.policy.poll).await;
                }
            }
        }
    }

    /// Starts a worker for each lane that is due, as far as there is room; how long to wait before
    /// looking again, unless woken.
    async fn look(&self, workers: &mut JoinSet<LaneId>) -> Duration {
        let poll = self.shared.policy.poll;
        let room = self.shared.policy.workers.saturating_sub(workers.len());
        if room == 0 {
            // The next worker that ends makes room.
            return poll;
        }
        match self.claim(room.min(CLAIM_MAX)).await {
            Ok((turns, wait)) => {
                for turn in turns {
                    self.shared.tell_buried(&turn.buried);
                    if let Some(begun) = turn.begun {
                        workers.spawn(self.shared.clone().work(begun));
                    }
                }
                wait
            }
            Err(error) => {
                if error != StoreError::Closed && !error.is_outage() {
                    tracing::error!(%error, "could not look for due deliveries; it is tried again");
                }
                poll
            }
        }
    }

    /// Claims lanes and begins their first deliveries in one transaction; a read alone if none is
    /// due.
    async fn claim(&self, limit: usize) -> Result<(Vec<Turn>, Duration), StoreError> {
        let shared = &self.shared;
        self.rouse().await?;
        let (server, lease) = (shared.server_id, shared.policy.lease);
        let looking = move |tx: &mut Tx<'_>| {
            let now = tx.now()?;
            let first = lanes::first_due(tx, server, now)?;
            Ok(first.map(|at| at.since(now)))
        };
        match shared.store.read(looking).await? {
            None => return Ok((Vec::new(), shared.policy.poll)),
            Some(wait) if !wait.is_zero() => {
                return Ok((Vec::new(), wait.min(shared.policy.poll)));
            }
            Some(_) => {}
        }
        let limit_rows = u32::try_from(limit).unwrap_or(u32::MAX);
        let shutdown = shared.shutdown.clone();
        let turns = shared
            .store
            .write(move |tx| {
                // What a worker gave back because the server stops is not begun again.
                if shutdown.is_cancelled() {
                    return Ok(Vec::new());
                }
                let moment = Moment::of(tx, lease)?;
                let claimed = lanes::claim(tx, server, moment.now, moment.lease_until, limit_rows)?;
                let begin = |held| turn::begin(tx, held, moment).transpose();
                claimed.into_iter().filter_map(begin).collect()
            })
            .await?;
        // There may be more.
        Ok((turns, Duration::ZERO))
    }

    /// Makes the lanes due that were woken; those that are held, once they are given back.
    async fn rouse(&self) -> Result<(), StoreError> {
        let woken = self.shared.hub.take_woken();
        if woken.is_empty() {
            return Ok(());
        }
        let rousing = move |tx: &mut Tx<'_>| {
            let (now, mut held) = (tx.now()?, Vec::new());
            for woken in woken {
                if lanes::make_due(tx, woken.lane, woken.failures, now)? {
                    held.push(woken);
                }
            }
            Ok(held)
        };
        let held = self.shared.store.write(rousing).await?;
        self.woken_while_held.lock().extend(held);
        Ok(())
    }

    /// A worker that panicked leaves its lane held; the lease runs out, and the lane goes on.
    fn note_end(&self, ended: Result<LaneId, JoinError>) {
        match ended {
            Ok(lane) => {
                let mut held = self.woken_while_held.lock();
                for woken in held.extract_if(|woken| woken.lane == lane) {
                    self.shared.hub.wake_attempt(woken.lane, woken.failures);
                }
            }
            Err(error) => tracing::error!(%error, "a delivery panicked"),
        }
    }

    async fn drain(&self, mut workers: JoinSet<LaneId>) {
        let ended = async {
            while let Some(ended) = workers.join_next().await {
                self.note_end(ended);
            }
        };
        if timeout(self.shared.policy.drain, ended).await.is_ok() {
            return;
        }
        tracing::info!(
            deliveries = workers.len(),
            "deliveries in flight are cut off; they are made again by another server, or at the next start"
        );
        self.shared.cut_off.cancel();
        while let Some(ended) = workers.join_next().await {
            self.note_end(ended);
        }
    }
}
