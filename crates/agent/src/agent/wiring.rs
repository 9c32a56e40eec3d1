//! Creates the parts that an agent's tasks share, and spawns those tasks.

use std::sync::Arc;

use svc_core::space::HealthCheck;
use svc_protocol::agent_api::FOLDER;
use tokio::{
    net::{TcpListener, UnixListener},
    sync::{Notify, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::Options;
use crate::{
    discovery::DiscoveryFile,
    guard::Guard,
    health::HealthChecker,
    link_status::LinkStatus,
    local_api::{PackageRoute, SpaceApi, serve_loopback, serve_socket},
    log::SpaceLog,
    method_server::Services,
    outbox::Outbox,
    packages::Packages,
    policy::Policy,
    registration::{AgentAddresses, Registrar, Routes},
    script::ScriptRunner,
    server_api::ServerApi,
    servers::Servers,
    startup::Startup,
};

/// Folder in [`FOLDER`] that holds the packages.
const PACKAGES_FOLDER: &str = "packages";

pub struct Wiring {
    pub policy: Arc<Policy>,
    pub outbox: Arc<Outbox>,
    pub log: Arc<SpaceLog>,
    pub routes: Arc<Routes>,
    pub registrar: Arc<Registrar>,
    pub servers: Arc<Servers>,
    pub server: Arc<ServerApi>,
    pub packages: Arc<Packages>,
    pub guard: Arc<Guard>,
    pub link: watch::Receiver<LinkStatus>,
}

impl Wiring {
    pub fn new(
        options: &Options,
        servers: &Arc<Servers>,
        link: watch::Receiver<LinkStatus>,
        reset_link: &Arc<Notify>,
        addresses: &AgentAddresses,
    ) -> Self {
        let policy = Arc::new(options.policy.clone());
        let folder = &options.working_folder;
        let server = Arc::new(ServerApi::new(
            Arc::clone(servers),
            &options.agent_token,
            policy.connect_timeout,
        ));
        let packages = Arc::new(Packages::new(
            folder.join(FOLDER).join(PACKAGES_FOLDER),
            Arc::clone(&server),
            link.clone(),
        ));
        let outbox = Arc::new(Outbox::new(policy.link_queue_bytes_max));
        let log = Arc::new(SpaceLog::new(policy.log_lines_per_second));
        let routes = Arc::new(Routes::new(Arc::clone(&outbox)));
        let guard = Guard::new(options.program.clone());
        let services = Services {
            outbox: Arc::clone(&outbox),
            log: Arc::clone(&log),
            ids: Arc::default(),
            packages: Arc::clone(&packages),
            guard: Arc::clone(&guard),
            policy: Arc::clone(&policy),
        };
        let registrar = Arc::new(Registrar::new(
            services,
            Arc::clone(&routes),
            link.clone(),
            Arc::clone(reset_link),
            addresses.clone(),
            folder.clone(),
        ));
        Self {
            policy,
            outbox,
            log,
            routes,
            registrar,
            servers: Arc::clone(servers),
            server,
            packages,
            guard,
            link,
        }
    }

    /// The work that the agent does once, at its first link.
    pub fn startup(&self, options: &Options, addresses: &AgentAddresses) -> Startup {
        let folder = &options.working_folder;
        let runner = ScriptRunner {
            program: options.program.clone(),
            addresses: addresses.clone(),
            packages: Arc::clone(&self.packages),
            guard: Arc::clone(&self.guard),
            log: Arc::clone(&self.log),
            policy: Arc::clone(&self.policy),
        };
        Startup {
            methods_file: options.methods_file.as_ref().map(|file| folder.join(file)),
            working_folder: folder.clone(),
            server: Arc::clone(&self.server),
            runner: Arc::new(runner),
            registrar: Arc::clone(&self.registrar),
            link: self.link.clone(),
            log: Arc::clone(&self.log),
            policy: Arc::clone(&self.policy),
        }
    }

    /// Spawns the tasks that run as long as the agent.
    pub fn spawn_background(
        &self,
        options: &Options,
        file: DiscoveryFile,
        checks: watch::Receiver<HealthCheck>,
    ) -> JoinSet<()> {
        let (outbox, log) = (&self.outbox, &self.log);
        let mut background = JoinSet::new();
        background.spawn(file.keep(self.link.clone(), Arc::clone(&self.servers)));
        background.spawn(Arc::clone(log).forward(Arc::clone(outbox), self.policy.log_gather));
        let registrar = Arc::clone(&self.registrar);
        background.spawn(async move { registrar.keep().await });
        let checker = HealthChecker {
            outbox: Arc::clone(outbox),
            link: self.link.clone(),
            check: checks,
            folder: options.working_folder.clone(),
            guard: Arc::clone(&self.guard),
        };
        background.spawn(checker.run());
        let packages = Arc::clone(&self.packages);
        background.spawn(async move { packages.keep().await });
        background
    }

    /// Serves both listeners until `stop` is cancelled.
    pub fn spawn_listeners(
        &self,
        (tcp, unix): (TcpListener, UnixListener),
        api: SpaceApi,
        stop: &CancellationToken,
    ) -> JoinSet<()> {
        let packages = Arc::new(PackageRoute {
            packages: Arc::clone(&self.packages),
            within: self.policy.packages_answer,
        });
        let grace = self.policy.shutdown_close;
        let events = Arc::clone(&api.events);
        let mut listeners = JoinSet::new();
        listeners.spawn(serve_loopback(tcp, events, packages, stop.clone(), grace));
        listeners.spawn(serve_socket(unix, Arc::new(api), stop.clone(), grace));
        listeners
    }
}
