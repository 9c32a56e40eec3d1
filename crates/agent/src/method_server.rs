//! The method server: the space's stdio process, kept running and talked to.
//!
//! [`MethodServer`] outlives the processes it starts: calls wait here while one is restarted.
//! The hot path (`call`, `answer`) takes one short lock and never waits. This module knows
//! nothing of registrations or names; it forwards lines.

mod calls;
mod command;
mod framing;
mod process;
mod shared;
mod stdin;
mod supervise;

pub use calls::CallIds;
pub use command::{CommandError, Launch};
pub use framing::{ChildLine, LineReader};
pub use process::StartError;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::registration::Mode;
use svc_protocol::agent_api::{MethodServerState, MethodServerStatus};
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use self::{
    calls::{CallTable, Effects, Limits},
    process::Process,
    shared::{Inner, Shared},
};
use crate::{
    guard::Guard,
    log::SpaceLog,
    outbox::{Caller, Outbox},
    packages::Packages,
    policy::Policy,
};

/// How a method server is run.
pub struct Setup {
    pub launch: Launch,
    /// As written in the registration, for people.
    pub command: String,
    pub mode: Mode,
    /// Calls it may have at a time in concurrent mode.
    pub max_in_flight: Option<u32>,
    pub timeout: Duration,
    /// Whether it may get its first call only after [`MethodServer::release`].
    pub held: bool,
}

impl Setup {
    fn in_flight_max(&self) -> Option<usize> {
        match self.mode {
            Mode::Serial => Some(1),
            Mode::Concurrent => self.max_in_flight.map(|most| most as usize),
        }
    }
}

/// What every method server of an agent uses.
#[derive(Clone)]
pub struct Surroundings {
    pub outbox: Arc<Outbox>,
    pub log: Arc<SpaceLog>,
    pub ids: CallIds,
    pub packages: Arc<Packages>,
    /// Ends the process if the agent is killed.
    pub guard: Arc<Guard>,
    pub policy: Arc<Policy>,
}

pub struct MethodServer {
    shared: Arc<Shared>,
    stop: CancellationToken,
    /// It may have calls: from the start, or since it was released.
    released: CancellationToken,
    supervisor: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl MethodServer {
    /// Starts it, and waits long enough to see it fail at once.
    pub async fn start(setup: Setup, around: Surroundings) -> Result<Self, StartError> {
        let policy = Arc::clone(&around.policy);
        let limits = Limits {
            in_flight_max: setup.in_flight_max(),
            timeout: setup.timeout,
            overdue_after: setup.timeout.max(policy.overdue_min),
            waiting_bytes_max: policy.unwritten_bytes_max,
        };
        let ids = Arc::clone(&around.ids);
        let table = CallTable::new(limits, ids, setup.held, Instant::now());
        let shared = Arc::new(Shared {
            setup,
            around,
            inner: Mutex::new(Inner {
                table,
                effects: Effects::default(),
                stdin: None,
                state: MethodServerState::Running,
                pid: None,
                restarts: 0,
                current: false,
                retired: false,
            }),
        });
        let mut process = Process::spawn(&shared)?;
        process.survive(policy.start_check, &shared).await?;
        let (stop, released) = (CancellationToken::new(), CancellationToken::new());
        if !shared.setup.held {
            released.cancel();
        }
        let supervising = supervise::supervise(Arc::clone(&shared), process, stop.clone());
        Ok(Self {
            shared,
            stop,
            released,
            supervisor: Mutex::new(Some(AbortOnDropHandle::new(tokio::spawn(supervising)))),
        })
    }

    /// `user` stands for whoever calls: users take turns.
    pub fn call(&self, user: u32, caller: Caller, json: Bytes) {
        self.shared.arrive(user, Some(caller), json);
    }

    pub fn notify(&self, user: u32, json: Bytes) {
        self.shared.arrive(user, None, json);
    }

    /// `false` if the call is not here.
    pub fn cancel(&self, caller: Caller) -> bool {
        self.shared
            .with(|inner| inner.table.cancel(caller, &mut inner.effects))
    }

    pub fn forget_link(&self, link: u64) {
        self.shared.with(|inner| inner.table.forget_link(link));
    }

    /// Lets a held method server have its first call.
    pub fn release(&self) {
        self.shared.with(|inner| inner.table.release());
        self.released.cancel();
    }

    /// Waits until it may have calls: before that it is idle only because it is held.
    pub async fn released(&self) {
        self.released.cancelled().await;
    }

    /// From now on its state is the space's, and is reported.
    pub fn make_current(&self) {
        self.shared.with(|inner| inner.current = true);
        self.shared.report();
    }

    /// Tells the server how it stands, as after a reconnect.
    pub fn report(&self) {
        self.shared.report();
    }

    pub fn status(&self) -> MethodServerStatus {
        let inner = self.shared.inner.lock();
        MethodServerStatus {
            command: self.shared.setup.command.clone(),
            mode: self.shared.setup.mode,
            max_in_flight: self.shared.setup.max_in_flight,
            state: inner.state,
            pid: inner.pid,
            restarts: inner.restarts,
            in_flight: inner.table.in_flight(),
            queued: inner.table.queued(),
        }
    }

    pub fn mode(&self) -> Mode {
        self.shared.setup.mode
    }

    pub fn timeout(&self) -> Duration {
        self.shared.setup.timeout
    }

    pub fn is_idle(&self) -> bool {
        self.shared.inner.lock().is_idle()
    }

    /// It is replaced: its state is no longer the space's, and it is not restarted.
    pub fn step_back(&self) {
        self.shared.with(|inner| {
            inner.current = false;
            inner.retired = true;
        });
    }

    /// Lets it finish what it has, for at most `limit`, and closes it for new calls.
    pub async fn drain(&self, limit: Duration) {
        self.step_back();
        let policy = &self.shared.around.policy;
        let deadline = Instant::now() + limit;
        let step = policy.tick.min(policy.drain_linger);
        let mut idle_since = None;
        while Instant::now() < deadline {
            if !self.is_idle() {
                idle_since = None;
            } else if idle_since.get_or_insert_with(Instant::now).elapsed() >= policy.drain_linger {
                break;
            }
            sleep(step).await;
        }
        self.close();
    }

    /// Takes no more calls; those not sent are answered as unavailable.
    pub fn close(&self) {
        self.shared.with(|inner| {
            inner.current = false;
            inner.retired = true;
            inner.table.close(&mut inner.effects);
        });
    }

    /// Stops it and everything it started; returns when nothing of it is left.
    pub async fn stop(&self) {
        self.close();
        self.stop.cancel();
        let supervisor = self.supervisor.lock().take();
        if let Some(supervisor) = supervisor
            && let Err(error) = supervisor.await
        {
            tracing::error!(%error, "the supervision of a method server failed");
        }
    }
}

#[cfg(test)]
mod tests;
