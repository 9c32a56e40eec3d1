//! The server as one value: every long-lived thing, each reached through a field and never through
//! a global.

use std::{
    ops::Deref,
    sync::{Arc, atomic::AtomicBool},
};

use ipnet::IpNet;
use svc_clock::Clock;
use svc_core::ServerId;
use svc_store::{FolderLock, Store};
use tokio_util::sync::CancellationToken;

use crate::{
    events::{emit::Emitter, history::History, hub::Hub, sinks::SinksService},
    fair_pool::FairPool,
    host_names::AllowedHosts,
    identity::{Directory, Identity},
    limits::BodyBudget,
    links::Links,
    mcp::Mcp,
    methods::{calls::Calls, discovery::Discovery, registry::Registry},
    metrics::Metrics,
    options::{Limits, Quotas},
    scripts::Scripts,
    spaces::{Spaces, local::LocalRuntime, templates::Templates},
    stats::Overview,
    web::Web,
    zone::{CatchUp, Zone},
};

/// A cheap handle on everything.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    /// This server in its zone; `node_id` of the spaces it serves.
    pub server_id: ServerId,
    /// The same, among the servers that share the database.
    pub zone: Zone,
    /// The newest change of the zone that was in the database before anything was read into memory.
    pub zone_position: i64,
    /// Lets a request wait until this server knows what others have committed.
    pub catch_up: Arc<CatchUp>,
    /// The same for a stream of events that opens: it shows what others commit from then on.
    pub stream_catch_up: Arc<CatchUp>,
    /// The data folder, where the store does not hold it.
    pub folder: Option<FolderLock>,
    pub store: Store,
    /// The time that decides whether a credential has expired.
    pub clock: Clock,
    /// Users, groups, roles, tokens, sessions: what may change them.
    pub identity: Identity,
    /// The same, in memory: what every request looks up.
    pub directory: Arc<Directory>,
    /// Who offers what.
    pub registry: Arc<Registry>,
    /// What a caller sees of it.
    pub discovery: Arc<Discovery>,
    /// Gets calls to providers.
    pub calls: Arc<Calls>,
    /// Methods as tools of agents.
    pub mcp: Arc<Mcp>,
    /// The agents' connections.
    pub links: Arc<Links>,
    pub spaces: Spaces,
    pub templates: Templates,
    /// Agents the server runs itself.
    pub local: Arc<LocalRuntime>,
    /// Takes events from callers.
    pub events: Emitter,
    /// Events of the past, and streams of those to come.
    pub history: History,
    pub event_sinks: SinksService,
    /// Stored scripts, and running those of sinks and tools.
    pub scripts: Scripts,
    /// Hears of every commit that made an event.
    pub hub: Hub,
    /// Threads for computations that would hold up the threads that serve.
    pub compute: FairPool,
    pub metrics: Arc<Metrics>,
    /// Numbers for people.
    pub stats: Overview,
    pub limits: Limits,
    /// What a user may have, unless another value was set for them: see `User::quotas`.
    pub quotas: Quotas,
    /// The web interface.
    pub web: Web,
    /// Proxies whose word about the client's address counts.
    pub trusted_proxies: Vec<IpNet>,
    /// Host and port people know the server by, if they are not the ones it listens on.
    pub public_authority: Option<String>,
    /// Whether only this machine can connect.
    pub loopback_only: bool,
    /// Names under which a loopback listener takes requests.
    pub allowed_hosts: AllowedHosts,
    /// Memory for bodies that are still arriving.
    pub bodies: BodyBudget,
    /// A proxy that is not in `trusted_proxies` was reported.
    pub warned_of_proxy: AtomicBool,
    /// Cancelled when the server stops.
    pub shutdown: CancellationToken,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
