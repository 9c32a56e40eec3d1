//! The method server: keeps the space's stdio process running and exchanges lines with it.
//!
//! [`MethodServer`] outlives the processes it starts: during a restart, it keeps the waiting calls.
//! The hot path (`MethodServer::enqueue` and `CallTable::answer`) holds one lock for a short time
//! and never waits for the process. This module never reads the method definitions of a
//! registration; it only forwards lines.

mod calls;
mod command;
mod framing;
mod pipe;
mod process;
mod program;
mod shared;
mod stdin;
mod supervise;

pub use calls::CallIds;
pub use command::{CommandError, Launch};
pub use framing::{ChildLine, LineReader};
pub use process::StartError;

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::registration::ServerDefinition;
use svc_protocol::agent_api::{MethodServerState, MethodServerStatus};
use tokio::time::{Instant, sleep};
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

/// How to run a method server.
pub struct Setup {
    pub launch: Launch,
    pub definition: ServerDefinition,
    /// Whether calls wait until [`MethodServer::release`] is called.
    pub held: bool,
}

impl Setup {
    fn in_flight_max(&self) -> Option<usize> {
        self.definition.in_flight_max().map(|most| most as usize)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.definition.timeout.into())
    }

    /// If the process exits within this time, the registration is refused.
    fn start_check(&self, policy: &Policy) -> Duration {
        let args = &self.definition.args;
        let is_svc = Path::new(&self.definition.command).ends_with("svc");
        let serves_a_script = is_svc
            && args.iter().any(|arg| arg == "run-script")
            && args.iter().any(|arg| arg.starts_with("--json-rpc"));
        if serves_a_script {
            policy.script_start_check
        } else {
            policy.start_check
        }
    }
}

/// The services of the agent that every method server uses.
#[derive(Clone)]
pub struct Services {
    pub outbox: Arc<Outbox>,
    pub log: Arc<SpaceLog>,
    pub ids: CallIds,
    pub packages: Arc<Packages>,
    /// Kills the processes of method servers if the agent is killed.
    pub guard: Arc<Guard>,
    pub policy: Arc<Policy>,
    /// Starts simulated programs in place of processes.
    #[cfg(test)]
    pub simulated: Option<Arc<simulated::Programs>>,
}

#[cfg(test)]
impl Services {
    /// A planted fault of a simulation.
    pub fn forgets_to_hold(&self) -> bool {
        let mut programs = self.simulated.iter();
        programs.any(|programs| programs.forgets_to_hold)
    }
}

pub struct MethodServer {
    shared: Arc<Shared>,
    stop: CancellationToken,
    /// Cancelled as soon as calls may be sent: at the start, or by [`MethodServer::release`].
    released: CancellationToken,
    supervisor: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl MethodServer {
    /// Starts the process, and fails if it exits soon (`Setup::start_check`). Returns earlier if the
    /// method server reports that it is ready.
    pub async fn start(setup: Setup, services: Services) -> Result<Self, StartError> {
        let policy = Arc::clone(&services.policy);
        let limits = Limits {
            in_flight_max: setup.in_flight_max(),
            timeout: setup.timeout(),
            overdue_after: setup.timeout().max(policy.overdue_min),
            waiting_bytes_max: policy.unwritten_bytes_max,
        };
        let ids = Arc::clone(&services.ids);
        let table = CallTable::new(limits, ids, setup.held, Instant::now());
        let shared = Arc::new(Shared {
            setup,
            services,
            ready: CancellationToken::new(),
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
        let span = shared.setup.start_check(&policy);
        process.check_start(span, &shared).await?;
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

    /// Queues a call, or a notification if `caller` is `None`. `user` is the number of the calling
    /// user on the links of this space. Users take turns.
    pub fn enqueue(&self, user: u32, caller: Option<Caller>, json: Bytes) {
        let now = Instant::now();
        self.shared.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.enqueue(user, caller, json, now, effects);
        });
    }

    /// Cancels a call. Returns `false` if this method server does not have the call.
    pub fn cancel(&self, caller: Caller) -> bool {
        self.shared
            .with(|inner| inner.table.cancel(caller, &mut inner.effects))
    }

    pub fn forget_link(&self, link: u64) {
        self.shared.with(|inner| inner.table.forget_link(link));
    }

    /// Starts sending calls to a held method server.
    pub fn release(&self) {
        self.shared.with(|inner| inner.table.release());
        self.released.cancel();
    }

    /// Waits for [`Self::release`]. Until then, the method server that this one replaces may still
    /// have calls, even if [`Self::is_idle`] returns `true` for this one.
    pub async fn released(&self) {
        self.released.cancelled().await;
    }

    pub fn is_released(&self) -> bool {
        self.released.is_cancelled()
    }

    /// Makes this the current method server: reports its state to the server, now and after every
    /// change.
    pub fn make_current(&self) {
        self.shared.with(|inner| inner.current = true);
        self.shared.report();
    }

    /// Reports the method server's state to the server, for example after a reconnect.
    pub fn report(&self) {
        self.shared.report();
    }

    pub fn status(&self) -> MethodServerStatus {
        let definition = &self.shared.setup.definition;
        let inner = self.shared.inner.lock();
        let command = std::iter::once(&definition.command).chain(&definition.args);
        MethodServerStatus {
            command: command.map(String::as_str).collect::<Vec<_>>().join(" "),
            mode: definition.mode,
            max_in_flight: definition.max_in_flight,
            state: inner.state,
            pid: inner.pid,
            restarts: inner.restarts,
            in_flight: inner.table.in_flight(),
            queued: inner.table.queued(),
        }
    }

    pub fn excludes_overlap(&self) -> bool {
        self.shared.setup.definition.excludes_overlap()
    }

    pub fn timeout(&self) -> Duration {
        self.shared.setup.timeout()
    }

    pub fn is_idle(&self) -> bool {
        self.shared.inner.lock().is_idle()
    }

    /// Marks the method server as replaced: its state is no longer reported, and it is not
    /// restarted.
    pub fn mark_replaced(&self) {
        self.shared.with(|inner| {
            inner.current = false;
            inner.retired = true;
        });
    }

    /// Waits at most `limit` for the calls to finish, then accepts no more calls.
    pub async fn drain(&self, limit: Duration) {
        self.mark_replaced();
        let policy = &self.shared.services.policy;
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

    /// Accepts no more calls. Calls that were not sent are answered as unavailable.
    pub fn close(&self) {
        self.shared.with(|inner| {
            inner.current = false;
            inner.retired = true;
            inner.table.close(&mut inner.effects);
        });
    }

    /// Stops the process and its group. Returns when both have ended.
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
pub mod simulated;
#[cfg(test)]
mod tests;
