//! The space's registration: replaced as a whole, kept over lost links, taken back.
//!
//! All or nothing (DECISIONS 2): whatever fails, what stood before keeps serving untouched.
//! [`Registrar`] makes one change at a time.

mod keep;
mod routes;

pub use routes::Routes;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::registration::{CheckedRegistration, Mode, Registration};
use svc_protocol::{
    agent_api::{MethodServerStatus, RegisterFile, Registered, Unregistered},
    env,
    link::{Accepted, Control, Register, SpaceIdentity},
    problem::Problem,
    registration_file::{self, FileError},
};
use thiserror::Error;
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    link::LinkStatus,
    method_server::{CommandError, Launch, MethodServer, Setup, StartError, Surroundings},
};

#[derive(Debug, Error)]
pub enum RegistrationError {
    #[error("the agent is not linked to its server{}; nothing was changed", because(.0.as_deref()))]
    NotLinked(Option<String>),
    #[error("{0}")]
    File(#[from] FileError),
    #[error("registration file `{0}` must be given by its absolute path")]
    RelativePath(String),
    #[error("`{0}` is a script; this version registers TOML files only")]
    Script(String),
    #[error("{0}")]
    Command(#[from] CommandError),
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("{0}")]
    Refused(Problem),
    #[error(
        "the link was lost before the server had answered; what stood before is registered again when it is back"
    )]
    LinkLost,
    #[error("the server did not answer in time; what stood before is registered again")]
    TimedOut,
    #[error("no method with the local name `{0}` is registered; see `svc agent status`")]
    UnknownLocalName(String),
    #[error("the agent is stopping")]
    Stopping,
}

fn because(error: Option<&str>) -> String {
    error.map_or_else(String::new, |error| format!(" ({error})"))
}

/// Where the agent's own listeners are, for the method server's environment.
#[derive(Clone, Debug)]
pub struct AgentAddresses {
    pub url: String,
    pub socket: PathBuf,
}

pub struct Registrar {
    around: Surroundings,
    routes: Arc<Routes>,
    link: watch::Receiver<LinkStatus>,
    reset_link: Arc<Notify>,
    addresses: AgentAddresses,
    /// Held for the whole of a change.
    change: tokio::sync::Mutex<Change>,
    /// What is shown; locked for a moment only.
    shown: Mutex<Shown>,
    /// Changes that were begun, and method servers that finish their last calls.
    tasks: TaskTracker,
    stopping: CancellationToken,
}

#[derive(Default)]
struct Change {
    current: Option<Current>,
    generation: u32,
    /// The link on which the current registration was accepted.
    accepted_on: Option<u64>,
    closed: bool,
}

#[derive(Default)]
struct Shown {
    methods: Vec<String>,
    server: Option<Arc<MethodServer>>,
    error: Option<String>,
}

struct Current {
    registration: Registration,
    /// Canonical and local name of each method, in the registration's order.
    names: Vec<(String, String)>,
    generation: u32,
    place: u64,
    server: Arc<MethodServer>,
}

impl Registrar {
    pub fn new(
        around: Surroundings,
        routes: Arc<Routes>,
        link: watch::Receiver<LinkStatus>,
        reset_link: Arc<Notify>,
        addresses: AgentAddresses,
    ) -> Self {
        Self {
            around,
            routes,
            link,
            reset_link,
            addresses,
            change: tokio::sync::Mutex::default(),
            shown: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Replaces the registration by that of a file. Once begun it is carried through, even if
    /// whoever asked goes away.
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

    /// Takes back all methods, or those with one local name; the last one stops the method
    /// server.
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

    async fn register_now(&self, file: &RegisterFile) -> Result<Registered, RegistrationError> {
        let mut change = self.open_change().await?;
        let (link, space) = self.linked()?;
        let path = Path::new(&file.path);
        let folder = path
            .parent()
            .filter(|_| path.is_absolute())
            .ok_or_else(|| RegistrationError::RelativePath(file.path.clone()))?;
        if path.extension().is_some_and(|extension| extension == "py") {
            return Err(RegistrationError::Script(file.path.clone()));
        }
        let registration = registration_file::parse(&file.path, &file.text)?;
        let checked = registration
            .clone()
            .check(&space.name, &space.owner)
            .map_err(|violations| registration_file::locate(&file.path, &file.text, &violations))?;
        let old = change.current.as_ref().map(|old| Arc::clone(&old.server));
        let server = self.start(&checked, folder, &space, old.as_deref()).await?;
        change.generation += 1;
        let generation = change.generation;
        let asked = Register {
            registration,
            generation,
            replace_conflicting: file.replace_conflicting,
            place: None,
        };
        // Before the server knows of it: calls may follow its answer at once.
        self.routes.add(generation, Arc::clone(&server));
        let accepted = match self.ask(&asked).await {
            Ok(accepted) => accepted,
            Err(error) => {
                self.routes.remove(generation);
                server.stop().await;
                return Err(error);
            }
        };
        let names = names(&checked);
        let methods: Vec<_> = names.iter().map(|(name, _)| name.clone()).collect();
        let mut warnings = checked.warnings;
        warnings.extend(accepted.warnings);
        warnings.dedup();
        let current = Current {
            registration: asked.registration,
            names,
            generation,
            place: accepted.place,
            server: Arc::clone(&server),
        };
        self.replace(&mut change, Some(current), link);
        server.make_current();
        match old {
            Some(old) => self.retire(old, server),
            None => server.release(),
        }
        tracing::info!(methods = methods.len(), generation, "registered");
        Ok(Registered { methods, warnings })
    }

    async fn unregister_now(
        &self,
        local_name: Option<&str>,
    ) -> Result<Unregistered, RegistrationError> {
        let mut change = self.open_change().await?;
        let (link, _) = self.linked()?;
        let names = change
            .current
            .as_ref()
            .map_or_else(Vec::new, |current| current.names.clone());
        let goes = |local: &str| local_name.is_none_or(|name| name == local);
        let (removed, remaining): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|(_, local)| goes(local));
        if let (Some(name), true) = (local_name, removed.is_empty()) {
            return Err(RegistrationError::UnknownLocalName(name.to_owned()));
        }
        let canonical =
            |names: &[(String, String)]| names.iter().map(|(name, _)| name.clone()).collect();
        let answer = Unregistered {
            removed: canonical(&removed),
            remaining: canonical(&remaining),
        };
        if remaining.is_empty() {
            self.remove_all(&mut change, link).await?;
        } else {
            self.reduce(&mut change, remaining, link).await?;
        }
        Ok(answer)
    }

    pub fn methods(&self) -> Vec<String> {
        self.shown.lock().methods.clone()
    }

    pub fn method_server(&self) -> Option<MethodServerStatus> {
        let server = self.shown.lock().server.clone();
        server.map(|server| server.status())
    }

    pub fn error(&self) -> Option<String> {
        self.shown.lock().error.clone()
    }

    /// Stops every method server; nothing is registered from here on.
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

    async fn open_change(
        &self,
    ) -> Result<tokio::sync::MutexGuard<'_, Change>, RegistrationError> {
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

    async fn start(
        &self,
        checked: &CheckedRegistration,
        folder: &Path,
        space: &SpaceIdentity,
        old: Option<&MethodServer>,
    ) -> Result<Arc<MethodServer>, RegistrationError> {
        let definition = &checked.server;
        let env = BTreeMap::from([
            (env::AGENT_URL, self.addresses.url.clone()),
            (
                env::AGENT_SOCKET,
                self.addresses.socket.display().to_string(),
            ),
            (env::SPACE_ID, space.id.to_string()),
            (env::SPACE_NAME, space.name.to_string()),
        ]);
        let env = env.into_iter().map(|(key, value)| (key.to_owned(), value));
        let serial = definition.mode == Mode::Serial
            || old.is_some_and(|old| old.mode() == Mode::Serial);
        let setup = Setup {
            launch: Launch::new(definition, folder, env.collect())?,
            command: shown_command(&definition.command, &definition.args),
            mode: definition.mode,
            timeout: Duration::from_secs(definition.timeout.into()),
            held: serial,
        };
        let server = MethodServer::start(setup, self.around.clone()).await?;
        Ok(Arc::new(server))
    }

    /// Asks the server to take a registration.
    async fn ask(&self, register: &Register) -> Result<Accepted, RegistrationError> {
        let control = Control::Register(Box::new(register.clone()));
        match self.request(&control).await? {
            Control::Registered(accepted) => Ok(accepted),
            Control::RegisterRefused { problem } => Err(RegistrationError::Refused(problem)),
            other => {
                tracing::error!(answer = ?other, "the server answered a registration with something else");
                self.reset_link.notify_one();
                Err(RegistrationError::LinkLost)
            }
        }
    }

    async fn request(&self, control: &Control) -> Result<Control, RegistrationError> {
        let asking = self.around.outbox.request(control);
        match timeout(self.around.policy.register_timeout, asking).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(RegistrationError::LinkLost),
            Err(_) => {
                // Whether it was done is unknown: a new link makes both sides agree again.
                self.reset_link.notify_one();
                Err(RegistrationError::TimedOut)
            }
        }
    }

    /// Publishes the remaining methods only. The process stays, under a new generation beside
    /// the old one, so that calls in flight and on their way still reach it.
    async fn reduce(
        &self,
        change: &mut Change,
        remaining: Vec<(String, String)>,
        link: u64,
    ) -> Result<(), RegistrationError> {
        let generation = change.generation + 1;
        let Some(current) = change.current.as_ref() else {
            return Ok(());
        };
        let mut registration = current.registration.clone();
        let mut kept = current.names.iter().map(|name| remaining.contains(name));
        registration
            .methods
            .retain(|_| kept.next().unwrap_or_default());
        let asked = Register {
            registration,
            generation,
            replace_conflicting: false,
            place: Some(current.place),
        };
        let server = Arc::clone(&current.server);
        self.routes.add(generation, Arc::clone(&server));
        change.generation = generation;
        let accepted = match self.ask(&asked).await {
            Ok(accepted) => accepted,
            Err(error) => {
                self.routes.remove(generation);
                return Err(error);
            }
        };
        let reduced = Current {
            registration: asked.registration,
            names: remaining,
            generation,
            place: accepted.place,
            server,
        };
        self.replace(change, Some(reduced), link);
        Ok(())
    }

    async fn remove_all(&self, change: &mut Change, link: u64) -> Result<(), RegistrationError> {
        self.request(&Control::Unregister).await?;
        let old = change.current.take();
        self.replace(change, None, link);
        if let Some(old) = old {
            old.server.drain(self.around.policy.shutdown_drain).await;
            old.server.stop().await;
            self.routes.remove_server(&old.server);
            tracing::info!("unregistered");
        }
        Ok(())
    }

    fn replace(&self, change: &mut Change, current: Option<Current>, link: u64) {
        *self.shown.lock() = Shown {
            methods: current.as_ref().map_or_else(Vec::new, |current| {
                current.names.iter().map(|(name, _)| name.clone()).collect()
            }),
            server: current.as_ref().map(|current| Arc::clone(&current.server)),
            error: None,
        };
        change.current = current;
        change.accepted_on = Some(link);
    }

    /// Lets a replaced method server finish its calls, then stops it. Its successor, if that
    /// had to wait, begins as soon as the old one can no longer be at work.
    fn retire(&self, old: Arc<MethodServer>, successor: Arc<MethodServer>) {
        let routes = Arc::clone(&self.routes);
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = old.drain(old.timeout()) => {}
                () = stopping.cancelled() => {}
            }
            if old.is_idle() {
                successor.release();
                old.stop().await;
            } else {
                old.stop().await;
                successor.release();
            }
            routes.remove_server(&old);
        });
    }
}

fn names(checked: &CheckedRegistration) -> Vec<(String, String)> {
    checked
        .methods
        .iter()
        .map(|method| (method.name.to_string(), method.local_name.clone()))
        .collect()
}

fn shown_command(command: &str, args: &[String]) -> String {
    std::iter::once(command)
        .chain(args.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ")
}
