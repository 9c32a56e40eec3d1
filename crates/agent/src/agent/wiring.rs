//! Creates the parts that an agent's tasks share, and spawns those tasks.

use std::sync::Arc;

use svc_core::space::HealthCheck;
use svc_protocol::agent_api::FOLDER;
use tokio::{
    net::{TcpListener, UnixListener},
    sync::{oneshot, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::Options;
use crate::{
    discovery::DiscoveryFile,
    guard::Guard,
    health::HealthChecker,
    link_status::LinkStatus,
    local_api::{LoopbackAccess, PackageRoute, SpaceApi, serve_loopback, serve_socket},
    log::SpaceLog,
    method_server::Services,
    outbox::Outbox,
    packages::Packages,
    registration::{AgentAddresses, Registrar},
    script::ScriptRunner,
    server_api::ServerApi,
    servers::Servers,
    startup::Startup,
};

/// Name of the folder of the Python packages, inside [`FOLDER`].
const PACKAGES_FOLDER: &str = "packages";

pub struct Wiring {
    pub services: Services,
    pub registrar: Arc<Registrar>,
    pub link: watch::Receiver<LinkStatus>,
    servers: Arc<Servers>,
    server: Arc<ServerApi>,
}

impl Wiring {
    pub fn new(
        options: &Options,
        servers: &Arc<Servers>,
        link: watch::Receiver<LinkStatus>,
        addresses: &AgentAddresses,
    ) -> Self {
        let policy = Arc::new(options.policy.clone());
        let folder = &options.working_folder;
        let server = Arc::new(ServerApi::new(
            Arc::clone(servers),
            &options.agent_token,
            policy.connect_timeout,
        ));
        let packages = Packages::new(
            folder.join(FOLDER).join(PACKAGES_FOLDER),
            Arc::clone(&server),
            link.clone(),
        );
        let services = Services {
            outbox: Arc::new(Outbox::new(policy.link_queue_bytes_max)),
            log: Arc::new(SpaceLog::new(policy.log_lines_per_second)),
            ids: Arc::default(),
            packages: Arc::new(packages),
            guard: Guard::new(options.program.clone()),
            policy,
            #[cfg(test)]
            simulated: None,
        };
        let (addresses, folder) = (addresses.clone(), folder.clone());
        let registrar = Registrar::new(services.clone(), link.clone(), addresses, folder);
        Self {
            services,
            registrar: Arc::new(registrar),
            link,
            servers: Arc::clone(servers),
            server,
        }
    }

    /// The work that the agent does once, at its first link.
    pub fn startup(
        &self,
        options: &Options,
        addresses: &AgentAddresses,
        no_methods: oneshot::Sender<String>,
    ) -> Startup {
        let folder = &options.working_folder;
        let runner = ScriptRunner {
            program: options.program.clone(),
            addresses: addresses.clone(),
            services: self.services.clone(),
        };
        Startup {
            methods_file: options.methods_file.as_ref().map(|file| folder.join(file)),
            replace_conflicting: options.replace_conflicting,
            no_methods: options.require_methods.then_some(no_methods),
            working_folder: folder.clone(),
            server: Arc::clone(&self.server),
            runner: Arc::new(runner),
            registrar: Arc::clone(&self.registrar),
            link: self.link.clone(),
        }
    }

    /// Spawns the background tasks. The agent aborts them when it stops.
    pub fn spawn_background(
        &self,
        options: &Options,
        startup: Startup,
        file: DiscoveryFile,
        checks: watch::Receiver<HealthCheck>,
    ) -> JoinSet<()> {
        let Services { outbox, log, .. } = &self.services;
        let gather = self.services.policy.log_gather;
        let checker = HealthChecker {
            outbox: Arc::clone(outbox),
            link: self.link.clone(),
            check: checks,
            folder: options.working_folder.clone(),
            guard: Arc::clone(&self.services.guard),
        };
        let registrar = Arc::clone(&self.registrar);
        let packages = Arc::clone(&self.services.packages);
        let mut background = JoinSet::new();
        background.spawn(file.follow_link(self.link.clone(), Arc::clone(&self.servers)));
        background.spawn(Arc::clone(log).forward(Arc::clone(outbox), gather));
        background.spawn(async move { registrar.restore_on_each_link().await });
        background.spawn(checker.run());
        background.spawn(async move { packages.refresh_on_each_link().await });
        background.spawn(startup.run());
        background
    }

    pub fn package_route(&self) -> Arc<PackageRoute> {
        Arc::new(PackageRoute {
            packages: Arc::clone(&self.services.packages),
            within: self.services.policy.packages_answer,
        })
    }

    /// Serves both listeners until `stop` is cancelled.
    pub fn spawn_listeners(
        &self,
        (tcp, loopback): (Option<TcpListener>, LoopbackAccess),
        unix: UnixListener,
        api: SpaceApi,
        stop: &CancellationToken,
    ) -> JoinSet<()> {
        let grace = self.services.policy.shutdown_close;
        let mut listeners = JoinSet::new();
        if let Some(tcp) = tcp {
            let (events, packages) = (Arc::clone(&api.events), Arc::clone(&api.packages));
            let stop = stop.clone();
            listeners.spawn(serve_loopback(tcp, loopback, events, packages, stop, grace));
        }
        listeners.spawn(serve_socket(unix, Arc::new(api), stop.clone(), grace));
        listeners
    }
}
