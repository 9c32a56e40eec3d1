//! The space's registration: replaced as a whole, restored after a lost link, unregistered.
//!
//! A change that fails leaves the previous registration in service. [`Registrar`] makes one change
//! at a time.

mod error;
mod register;
mod restore;
mod routes;
mod sides;
mod unregister;

pub use error::RegistrationError;
pub use register::is_script;
pub use routes::Routes;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf, absolute},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use svc_core::registration::Registration;
use svc_link::{Control, Register, SpaceIdentity, Ticket};
use svc_protocol::{
    agent_api::{LinkRecord, MethodServerStatus, RegisterFile, Registered, Unregistered},
    env,
};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::sides::SideRegistrations;
use crate::{
    link_status::LinkStatus,
    method_server::{MethodServer, Services},
};

/// The addresses of the agent's listeners, for the environment of programs that it starts.
#[derive(Clone, Debug)]
pub struct AgentAddresses {
    /// `None` if the loopback port is off.
    pub url: Option<String>,
    pub socket: PathBuf,
}

impl AgentAddresses {
    /// The variables by which a program finds its agent and its space.
    pub fn env(&self, space: &SpaceIdentity) -> BTreeMap<String, String> {
        let url = self.url.clone().map(|url| (env::AGENT_URL, url));
        let env = [
            (env::AGENT_SOCKET, self.socket.display().to_string()),
            (env::SPACE_ID, space.id.to_string()),
            (env::SPACE_NAME, space.name.to_string()),
        ];
        let env = url.into_iter().chain(env);
        env.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

pub struct Registrar {
    services: Services,
    pub routes: Routes,
    link: watch::Receiver<LinkStatus>,
    /// A notification makes the agent reconnect. A new link brings the agent and the server to the
    /// same state.
    pub reset_link: Notify,
    addresses: AgentAddresses,
    working_folder: PathBuf,
    /// Locked during a whole change.
    change: tokio::sync::Mutex<Change>,
    /// The registration for the other servers of the zone, which the agent reaches by side links.
    sides: SideRegistrations,
    /// A copy of the values that the agent's status shows. Reading it never waits for a running
    /// change.
    view: Mutex<StatusView>,
    /// The file of the last accepted registration.
    last_file: Mutex<Option<PathBuf>>,
    /// Running changes, and replaced method servers that finish their calls.
    tasks: TaskTracker,
    stopping: CancellationToken,
    /// See [`Registrar::is_startup_done`].
    startup_done: AtomicBool,
}

#[derive(Default)]
struct Change {
    current: Option<CurrentRegistration>,
    generation: u32,
    /// The link on which the current registration was accepted.
    accepted_on: Option<u64>,
    closed: bool,
}

#[derive(Default)]
struct StatusView {
    methods: Vec<String>,
    server: Option<Arc<MethodServer>>,
    error: Option<String>,
}

#[derive(Clone)]
struct CurrentRegistration {
    registration: Registration,
    /// Canonical and local name of each method, in the registration's order.
    names: Vec<(String, String)>,
    generation: u32,
    /// The position that the server assigned, which breaks ties between providers (D2). `None`
    /// until the server has accepted the registration.
    place: Option<u64>,
    /// The home server's proof of its acceptance, for the side links. `None` until the home server
    /// has accepted the registration, or if it issues no tickets.
    ticket: Option<Ticket>,
    server: Arc<MethodServer>,
}

impl CurrentRegistration {
    fn canonical_names(&self) -> Vec<String> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }
}

impl Registrar {
    pub fn new(
        services: Services,
        link: watch::Receiver<LinkStatus>,
        addresses: AgentAddresses,
        working_folder: PathBuf,
    ) -> Self {
        Self {
            routes: Routes::new(Arc::clone(&services.outbox)),
            services,
            link,
            reset_link: Notify::new(),
            addresses,
            working_folder,
            change: tokio::sync::Mutex::default(),
            sides: SideRegistrations::default(),
            view: Mutex::default(),
            last_file: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            startup_done: AtomicBool::new(false),
        }
    }

    /// Replaces the registration with that of a file or script. The change runs to its end even if
    /// the caller drops this future.
    pub async fn register(
        self: &Arc<Self>,
        file: RegisterFile,
    ) -> Result<Registered, RegistrationError> {
        let registrar = Arc::clone(self);
        let task = self
            .tasks
            .spawn(async move { registrar.register_now(&file).await });
        task.await.unwrap_or(Err(RegistrationError::Stopping))
    }

    /// Unregisters all methods, or the methods with this local name. If no method is left, the
    /// method server is stopped.
    pub async fn unregister(
        self: &Arc<Self>,
        local_name: Option<String>,
    ) -> Result<Unregistered, RegistrationError> {
        let registrar = Arc::clone(self);
        let task = self
            .tasks
            .spawn(async move { registrar.unregister_now(local_name.as_deref()).await });
        task.await.unwrap_or(Err(RegistrationError::Stopping))
    }

    pub fn methods(&self) -> Vec<String> {
        self.view.lock().methods.clone()
    }

    /// Whether the registered methods came from this file.
    pub fn is_from(&self, file: &Path) -> bool {
        let last = self.last_file.lock().clone();
        let is_same = last.is_some_and(|last| absolute(&last).ok() == absolute(file).ok());
        is_same && !self.view.lock().methods.is_empty()
    }

    pub fn method_server(&self) -> Option<MethodServerStatus> {
        let server = self.view.lock().server.clone();
        server.map(|server| server.status())
    }

    /// The open links, the home link first.
    pub fn links(&self) -> Vec<LinkRecord> {
        self.services.outbox.links()
    }

    /// Records that the startup is done ([`Self::is_startup_done`]).
    pub fn end_startup(&self) {
        self.startup_done.store(true, Ordering::Relaxed);
    }

    /// Whether the registration of the agent's own methods file is over: it succeeded or failed, or
    /// there is no file.
    pub fn is_startup_done(&self) -> bool {
        self.startup_done.load(Ordering::Relaxed)
    }

    pub fn error(&self) -> Option<String> {
        self.view.lock().error.clone()
    }

    /// Shows the space's registration as refused, in the agent's status and on the server. Does
    /// nothing if the space has registered methods.
    pub async fn report_refusal(&self, error: String) {
        let change = self.change.lock().await;
        if change.current.is_none() {
            self.show_refusal(error);
        }
    }

    fn show_refusal(&self, error: String) {
        self.view.lock().error = Some(error.clone());
        let refused = Control::RegistrationLost { error };
        // Without a home link, nothing is sent now: `restore_once` reports the refusal on the next
        // link.
        self.services.outbox.control(&refused);
    }

    /// Stops every method server. Later registrations fail.
    pub async fn stop(&self) {
        self.stopping.cancel();
        let current = {
            let mut change = self.change.lock().await;
            change.closed = true;
            change.current.take()
        };
        self.tasks.close();
        let stopping = async {
            if let Some(current) = current {
                current.server.stop().await;
            }
        };
        tokio::join!(self.tasks.wait(), stopping);
    }

    async fn open_change(&self) -> Result<tokio::sync::MutexGuard<'_, Change>, RegistrationError> {
        let change = self.change.lock().await;
        if change.closed {
            return Err(RegistrationError::Stopping);
        }
        Ok(change)
    }

    fn linked(&self) -> Result<(u64, SpaceIdentity), RegistrationError> {
        let status = self.link.borrow();
        match (status.link, &status.space) {
            (Some(link), Some(space)) => Ok((link, space.clone())),
            _ => Err(RegistrationError::NotLinked(status.error.clone())),
        }
    }

    /// Asks the server to accept a registration, and records the assigned position. Returns the
    /// warnings.
    async fn ask(
        &self,
        current: &mut CurrentRegistration,
        replace_conflicting: bool,
    ) -> Result<Vec<String>, RegistrationError> {
        let register = Register {
            registration: current.registration.clone(),
            generation: current.generation,
            replace_conflicting,
            place: current.place,
            ticket: None,
        };
        match self.request(&Control::Register(Box::new(register))).await? {
            Control::Registered(accepted) => {
                current.ticket = accepted.ticket;
                current.place = Some(accepted.place);
                Ok(accepted.warnings)
            }
            Control::RegisterRefused { problem } => Err(RegistrationError::Refused(problem)),
            other => Err(self.unexpected_answer(&other)),
        }
    }

    /// Resets the link, because it is unknown what the server did. A new link brings both sides to
    /// the same state.
    fn unexpected_answer(&self, answer: &Control) -> RegistrationError {
        tracing::error!(
            ?answer,
            "the server sent an unexpected answer to a registration"
        );
        self.reset_link.notify_one();
        RegistrationError::LinkLost
    }

    async fn request(&self, control: &Control) -> Result<Control, RegistrationError> {
        let asking = self.services.outbox.request(control);
        match timeout(self.services.policy.register_timeout, asking).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(RegistrationError::LinkLost),
            Err(_) => {
                // It is unknown what the server did. A new link brings both sides to the same
                // state.
                self.reset_link.notify_one();
                Err(RegistrationError::TimedOut)
            }
        }
    }

    fn replace(&self, change: &mut Change, current: Option<CurrentRegistration>, link: u64) {
        *self.view.lock() = StatusView {
            methods: current
                .as_ref()
                .map(CurrentRegistration::canonical_names)
                .unwrap_or_default(),
            server: current.as_ref().map(|current| Arc::clone(&current.server)),
            error: None,
        };
        self.sides.set(current.as_ref());
        change.current = current;
        change.accepted_on = Some(link);
    }
}

#[cfg(test)]
pub mod simulation;
