//! One running server: its store, its hub, its delivery engine and its emitters.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{ServerId, event::Event};
use svc_simulation::Random;
use svc_store::{
    Store,
    simulated::{CommitFate, Faults, SimulatedDatabase},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    journal::{Acknowledged, Journal},
    receiver::{Receivers, SimulatedReceiver},
};
use crate::events::{
    dispatch::emit_in,
    hub::Hub,
    lanes::{Engine, LanePolicy},
};

/// One start of a server.
pub struct ServerRun {
    pub server: usize,
    /// Each start of a server has its own number.
    pub number: u64,
    state: Mutex<RunState>,
}

struct RunState {
    is_alive: bool,
    frozen_until: Option<Instant>,
    /// Until this time, the server may not know that its leases have ended.
    unaware_until: Option<Instant>,
}

impl fmt::Display for ServerRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {} (start {})", self.server, self.number)
    }
}

impl ServerRun {
    pub fn new(server: usize, number: u64) -> Self {
        Self {
            server,
            number,
            state: Mutex::new(RunState {
                is_alive: true,
                frozen_until: None,
                unaware_until: None,
            }),
        }
    }

    pub fn freeze(&self, time: Duration) {
        let mut state = self.state.lock();
        let until = Some(Instant::now() + time);
        state.frozen_until = state.frozen_until.max(until);
        state.unaware_until = state.frozen_until;
    }

    /// Notes a failed commit. If the server was frozen shortly before, it may notice the loss of a
    /// lane only at its next renewal.
    fn note_failed_commit(&self, lease: Duration) {
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.unaware_until.is_some_and(|at| at + lease > now) {
            state.unaware_until = state.unaware_until.max(Some(now + lease / 3));
        }
    }

    /// Whether there was a moment, at `time` or later, when the server may not have known that its
    /// leases had ended.
    pub fn was_unaware_since(&self, time: Instant) -> bool {
        let unaware_until = self.state.lock().unaware_until;
        unaware_until.is_some_and(|until| until >= time)
    }

    pub fn is_alive(&self) -> bool {
        self.state.lock().is_alive
    }

    pub fn frozen_for(&self) -> Duration {
        let until = self.state.lock().frozen_until;
        let now = Instant::now();
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    pub async fn wait_while_frozen(&self) {
        while !self.frozen_for().is_zero() {
            sleep(self.frozen_for()).await;
        }
    }
}

/// What all servers share.
pub struct Zone {
    pub database: SimulatedDatabase,
    pub receivers: Receivers,
    pub policy: LanePolicy,
    /// Percent of the commits that fail.
    pub failing_commits: Arc<Mutex<u64>>,
    pub loses_wake_ups: bool,
}

pub struct SimulatedServer {
    pub run: Arc<ServerRun>,
    pub store: Store,
    pub hub: Hub,
    database: SimulatedDatabase,
    journal: Arc<Journal>,
    shutdown: CancellationToken,
    answering: JoinHandle<()>,
    engine: JoinHandle<()>,
    emitters: Vec<JoinHandle<()>>,
}

impl SimulatedServer {
    pub fn start(zone: &Zone, run: ServerRun, random: &mut Random) -> Self {
        let run = Arc::new(run);
        let faults = StoreFaults {
            run: run.clone(),
            random: Mutex::new(Random::new(random.number())),
            failing_commits: zone.failing_commits.clone(),
            journal: zone.receivers.journal.clone(),
            lease: zone.policy.lease,
        };
        let (store, answering) = zone.database.connect(run.number, Arc::new(faults));
        let hub = Hub::default();
        if zone.loses_wake_ups {
            hub.lose_wake_ups();
        }
        let receiver = SimulatedReceiver {
            shared: zone.receivers.clone(),
            by: run.clone(),
            random: Mutex::new(Random::new(random.number())),
        };
        let shutdown = CancellationToken::new();
        let engine = Engine::new(
            store.clone(),
            ServerId(Uuid::from_u128(1 + run.server as u128)),
            Arc::new(receiver),
            zone.policy.clone(),
            shutdown.clone(),
            hub.clone(),
        );
        Self {
            run,
            store,
            hub,
            database: zone.database.clone(),
            journal: zone.receivers.journal.clone(),
            shutdown,
            answering: tokio::spawn(answering.run()),
            engine: tokio::spawn(engine.run()),
            emitters: Vec::new(),
        }
    }

    /// Emits events one after the other. An event may be stored although its emit failed.
    pub fn emit(&mut self, events: Vec<Arc<Event>>, emitter: u64) {
        let (store, hub, journal) = (self.store.clone(), self.hub.clone(), self.journal.clone());
        self.emitters.push(tokio::spawn(async move {
            for event in events {
                let writing = event.clone();
                let emitted = store.write(move |tx| emit_in(tx, &writing)).await;
                let Ok(dispatched) = emitted else { continue };
                journal.acknowledge(Acknowledged {
                    event: event.id,
                    lanes: (dispatched.queued + dispatched.held) as usize,
                    emitter,
                });
                hub.committed(&[event]);
                hub.committed(&dispatched.raised);
                if dispatched.held > 0 {
                    hub.wake_refill();
                }
            }
        }));
    }

    /// Waits for the emits in progress.
    pub async fn finish_emits(&mut self) {
        for emitter in self.emitters.drain(..) {
            emitter.await.expect("an emitter does not panic");
        }
    }

    /// Stops the server as an operator does: deliveries in flight end and lanes are released.
    pub async fn stop(mut self) {
        self.finish_emits().await;
        self.shutdown.cancel();
        let stopped = self.engine.await;
        stopped.expect("the engine does not panic");
        self.run.state.lock().is_alive = false;
        self.database.kill(self.run.number);
        end(self.answering).await;
    }

    /// Like `kill -9`: nothing is released and nothing is answered.
    pub async fn kill(self) {
        self.run.state.lock().is_alive = false;
        self.database.kill(self.run.number);
        for emitter in self.emitters {
            end(emitter).await;
        }
        end(self.answering).await;
        end(self.engine).await;
    }
}

async fn end(task: JoinHandle<()>) {
    task.abort();
    if let Err(error) = task.await {
        assert!(!error.is_panic(), "a task of a server panicked: {error}");
    }
}

struct StoreFaults {
    run: Arc<ServerRun>,
    random: Mutex<Random>,
    failing_commits: Arc<Mutex<u64>>,
    journal: Arc<Journal>,
    lease: Duration,
}

impl Faults for StoreFaults {
    fn delay(&self) -> Duration {
        self.random.lock().time_below(Duration::from_millis(8))
    }

    fn frozen_for(&self) -> Duration {
        self.run.frozen_for()
    }

    fn commit(&self) -> CommitFate {
        let percent = *self.failing_commits.lock();
        let mut random = self.random.lock();
        if !random.is_chance(percent) {
            return CommitFate::Commits;
        }
        let fate = match random.is_chance(50) {
            true => CommitFate::Fails,
            false => CommitFate::FailsAfterwards,
        };
        self.journal
            .note(&format!("a commit of {}: {fate:?}", self.run));
        self.run.note_failed_commit(self.lease);
        fate
    }
}
