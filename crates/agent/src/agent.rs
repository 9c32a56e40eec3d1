//! Starts the parts of the agent, and stops them in order.

mod wiring;

use std::{
    io,
    net::SocketAddr,
    path::{self, Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use parking_lot::Mutex;
use svc_client::TargetError;
use svc_core::space::HealthCheck;
use svc_link::AnnouncedServers;
use svc_protocol::agent_api::Discovery;
use thiserror::Error;
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

use self::wiring::Wiring;
use crate::{
    discovery::DiscoveryFile,
    link::{Link, LinkEnd},
    link_status::LinkStatus,
    local_api::{BindError, Events, Listeners, LoopbackAccess, Proxy, SocketFile, SpaceApi},
    policy::Policy,
    registration::{AgentAddresses, Registrar},
    servers::Servers,
};

/// The settings of an agent.
pub struct Options {
    /// The URL of the server, or the URLs of several servers of one zone, separated by commas.
    pub server_urls: String,
    pub agent_token: String,
    /// PEM file of certificates that are trusted in addition to the machine's root certificates.
    pub ca_file: Option<PathBuf>,
    /// The loopback TCP address. `None` means the default port, or a free port if the default is in
    /// use.
    pub listen: Option<SocketAddr>,
    /// Who may use the loopback TCP address.
    pub loopback: LoopbackAccess,
    /// The Unix socket. `None` means `.svc/agent.sock` in the working folder, or a shorter path
    /// elsewhere if that path is too long for a socket.
    pub socket: Option<PathBuf>,
    /// A TOML file or a Python script with methods. The agent registers the methods once, at the
    /// first link.
    pub methods_file: Option<PathBuf>,
    /// Whether the methods file replaces conflicting methods of the owner's other spaces.
    pub replace_conflicting: bool,
    /// Whether the agent ends if the methods file leaves it without methods.
    pub require_methods: bool,
    pub working_folder: PathBuf,
    /// The `svc` program. It runs the agent's scripts and its guard.
    pub program: PathBuf,
    /// Whether the agent stops when its stdin ends. The process that started the agent holds the
    /// other end of the pipe.
    pub exit_on_stdin_eof: bool,
    pub policy: Policy,
}

/// Why an agent ended without an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exit {
    /// A shutdown was requested.
    Stopped,
    /// Another agent took over the space.
    Replaced,
    /// The server rejected the agent token, or the space was deleted. Holds the reason.
    Credentials(String),
    /// The methods file left the agent without methods, and they are required. Holds the reason.
    NoMethods(String),
}

#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Server(#[from] TargetError),
    #[error(
        "the agent token contains characters that are not allowed in a token; check SVC_AGENT_TOKEN"
    )]
    TokenText,
    #[error(transparent)]
    Listen(#[from] BindError),
    #[error("cannot write the agent's files to `{folder}`: {source}")]
    Folder { folder: String, source: io::Error },
    /// The server refuses this agent, and a retry cannot help.
    #[error("{0}")]
    Refused(String),
    #[error("the link's task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Runs an agent until `shutdown` is cancelled or the server ends the link permanently.
pub async fn run(options: Options, shutdown: CancellationToken) -> Result<Exit, Error> {
    let agent = Agent::start(options, shutdown.clone()).await?;
    agent.run(shutdown).await
}

/// A running agent: its tasks, and the socket file that is removed at the end.
struct Agent {
    policy: Arc<Policy>,
    registrar: Arc<Registrar>,
    link: AbortOnDropHandle<LinkEnd>,
    finish_link: CancellationToken,
    /// Receives the reason if the methods are required and the methods file registered none.
    no_methods: oneshot::Receiver<String>,
    /// The background tasks. They can be aborted without loss.
    background: JoinSet<()>,
    listeners: JoinSet<()>,
    stop_listeners: CancellationToken,
    _socket: SocketFile,
}

impl Agent {
    async fn start(mut options: Options, shutdown: CancellationToken) -> Result<Self, Error> {
        let ca_file = options.ca_file.as_deref();
        let servers = Arc::new(Servers::parse(&options.server_urls, ca_file)?);
        let folder = &options.working_folder;
        options.working_folder = path::absolute(folder).map_err(folder_error(folder))?;
        let timeout = options.policy.connect_timeout;
        let proxy = Proxy::new(Arc::clone(&servers), &options.agent_token, timeout)
            .ok_or(Error::TokenText)?;
        // Bind first: a second agent of this folder must fail before it changes anything.
        let folder = &options.working_folder;
        let (loopback, listen) = (options.loopback, options.listen);
        let bound = Listeners::bind(loopback, listen, options.socket.as_deref(), folder).await?;
        let file = announce(&options, &servers, &bound.addresses)?;
        let (status, link) = watch::channel(LinkStatus::default());
        let (health_check, checks) = watch::channel(HealthCheck::default());
        let wiring = Wiring::new(&options, &servers, link, &bound.addresses);
        let (report_no_methods, no_methods) = oneshot::channel();
        let startup = wiring.startup(&options, &bound.addresses, report_no_methods);
        let background = wiring.spawn_background(&options, startup, file, checks);
        let stop_listeners = CancellationToken::new();
        let listeners = wiring.spawn_listeners(
            (bound.tcp, loopback),
            bound.unix,
            SpaceApi {
                registrar: Arc::clone(&wiring.registrar),
                link: wiring.link.clone(),
                addresses: bound.addresses,
                servers: Arc::clone(&servers),
                proxy,
                packages: wiring.package_route(),
                log: Arc::clone(&wiring.services.log),
                outbox: Arc::clone(&wiring.services.outbox),
                policy: Arc::clone(&wiring.services.policy),
                events: Arc::new(events(&options, &servers, wiring.link.clone())),
                shutdown: shutdown.clone(),
            },
            &stop_listeners,
        );
        if options.exit_on_stdin_eof {
            stop_at_stdin_end(shutdown);
        }
        let link = Link {
            servers,
            agent_token: options.agent_token,
            instance: Uuid::now_v7().to_string(),
            policy: Arc::clone(&wiring.services.policy),
            outbox: wiring.services.outbox,
            log: wiring.services.log,
            registrar: Arc::clone(&wiring.registrar),
            status,
            health_check,
            announced: watch::Sender::new(AnnouncedServers::default()),
            sides: Mutex::default(),
            moves: watch::Sender::default(),
            #[cfg(test)]
            network: None,
        };
        let finish_link = CancellationToken::new();
        Ok(Self {
            policy: wiring.services.policy,
            registrar: wiring.registrar,
            link: AbortOnDropHandle::new(tokio::spawn(link.run(finish_link.clone()))),
            finish_link,
            no_methods,
            background,
            listeners,
            stop_listeners,
            _socket: bound.socket,
        })
    }

    async fn run(mut self, shutdown: CancellationToken) -> Result<Exit, Error> {
        let mut no_methods = None;
        let end = tokio::select! {
            end = &mut self.link => end?,
            () = shutdown.cancelled() => {
                self.drain().await;
                self.finish_link.cancel();
                (&mut self.link).await?
            }
            Ok(why) = &mut self.no_methods => {
                no_methods = Some(why);
                self.finish_link.cancel();
                (&mut self.link).await?
            }
        };
        self.registrar.stop().await;
        self.stop_listeners.cancel();
        while self.listeners.join_next().await.is_some() {}
        self.background.shutdown().await;
        match end {
            LinkEnd::Finished => Ok(no_methods.map_or(Exit::Stopped, Exit::NoMethods)),
            LinkEnd::Replaced => Ok(Exit::Replaced),
            LinkEnd::Credentials(why) => Ok(Exit::Credentials(why)),
            LinkEnd::Refused(why) => Err(Error::Refused(why)),
        }
    }

    /// Accepts no more calls and waits a limited time for the calls in flight.
    async fn drain(&mut self) {
        tracing::info!("the agent is stopping");
        let routes = &self.registrar.routes;
        routes.close();
        let deadline = Instant::now() + self.policy.shutdown_drain;
        while !routes.is_idle() && Instant::now() < deadline && !self.link.is_finished() {
            sleep(self.policy.tick).await;
        }
    }
}

fn events(options: &Options, servers: &Arc<Servers>, link: watch::Receiver<LinkStatus>) -> Events {
    let policy = svc_client::Policy {
        connect_timeout: options.policy.connect_timeout,
        ..svc_client::Policy::default()
    };
    Events::new(
        Arc::clone(servers),
        &options.agent_token,
        policy,
        link,
        options.policy.emit_retry,
    )
}

fn folder_error(folder: &Path) -> impl FnOnce(io::Error) -> Error {
    let folder = folder.display().to_string();
    move |source| Error::Folder { folder, source }
}

fn announce(
    options: &Options,
    servers: &Servers,
    addresses: &AgentAddresses,
) -> Result<DiscoveryFile, Error> {
    let discovery = Discovery {
        pid: std::process::id(),
        agent_url: addresses.url.clone(),
        agent_socket: addresses.socket.display().to_string(),
        space_id: None,
        space: None,
        server_url: servers.current().to_string(),
    };
    let folder = &options.working_folder;
    DiscoveryFile::create(folder, discovery).map_err(folder_error(folder))
}

/// Reads stdin on a plain thread that ends with the process. A blocking read cannot be cancelled,
/// so on a thread of the runtime it would delay the runtime's shutdown.
fn stop_at_stdin_end(shutdown: CancellationToken) {
    let reading = std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let ended = io::copy(&mut io::stdin().lock(), &mut io::sink());
            tracing::info!(?ended, "stdin ended");
            shutdown.cancel();
        });
    if let Err(error) = reading {
        tracing::error!(%error, "cannot watch stdin: the agent will not stop when stdin ends");
    }
}
