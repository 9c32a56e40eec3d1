//! The server as one value. Every long-lived object is a field, never a global.

use std::{
    ops::Deref,
    sync::{Arc, atomic::AtomicBool},
};

use ipnet::IpNet;
use svc_clock::Clock;
use svc_core::ServerId;
use svc_pool::FairPool;
use svc_store::{FolderLock, Store};
use tokio_util::sync::CancellationToken;

use crate::{
    call_history::CallHistory,
    diagnostics::SelfCheck,
    events::{emit::Emitter, history::History, hub::Hub, sinks::SinksService},
    host_names::AllowedHosts,
    identity::{Directory, Identity},
    journal::Journal,
    limits::{ByteBudget, RateLimit},
    links::Links,
    mcp::Mcp,
    methods::{calls::Calls, discovery::Discovery, registry::Registry},
    metrics::Metrics,
    oauth::OAuth,
    oidc::Oidc,
    options::{Limits, Quotas},
    schedules::Schedules,
    scripts::Scripts,
    second_factors::SecondFactors,
    sources::Sources,
    spaces::{Spaces, local::LocalRuntime, templates::Templates},
    stats::{Overview, methods::MethodStatistics},
    traces::Traces,
    web::Web,
    zone::{CatchUp, Zone},
};

/// A handle to all parts of the server. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    /// The id of this server: the `node_id` of the spaces whose home link is here.
    pub server_id: ServerId,
    /// The id, URL and start time of this server in its zone.
    pub zone: Zone,
    /// The number of the zone's newest change when this server started. It was read before any
    /// record was read into memory.
    pub zone_position: i64,
    /// Lets a request wait until this server has read the commits of other servers.
    pub catch_up: Arc<CatchUp>,
    /// Like `catch_up`, for event streams: a new stream begins after the events that were committed
    /// before it was opened.
    pub stream_catch_up: Arc<CatchUp>,
    /// The lock of the data folder, unless the store holds it.
    pub folder: Option<FolderLock>,
    pub store: Store,
    /// The clock by which credentials expire.
    pub clock: Clock,
    /// Changes users, groups, roles, tokens and sessions.
    pub identity: Identity,
    /// Users, groups and credentials in memory, for every request.
    pub directory: Arc<Directory>,
    /// Which space offers which method.
    pub registry: Arc<Registry>,
    /// Which methods a caller sees.
    pub discovery: Arc<Discovery>,
    /// Routes calls to providers.
    pub calls: Arc<Calls>,
    /// Records calls.
    pub journal: Arc<Journal>,
    /// Records spans of calls, emits and attempts.
    pub traces: Arc<Traces>,
    /// Recorded calls, and streams of new calls.
    pub call_history: Arc<CallHistory>,
    /// Methods as MCP tools.
    pub mcp: Arc<Mcp>,
    /// The connections of agents.
    pub links: Arc<Links>,
    pub spaces: Arc<Spaces>,
    pub templates: Templates,
    /// Agents that the server runs itself.
    pub local: Arc<LocalRuntime>,
    /// Emits events of callers.
    pub events: Arc<Emitter>,
    /// Stored events, and streams of new events.
    pub history: History,
    pub event_sinks: SinksService,
    /// Requests of other services that become events.
    pub sources: Sources,
    /// Events at certain times.
    pub schedules: Arc<Schedules>,
    /// Apps that users connect.
    pub oauth: Arc<OAuth>,
    /// OpenID Connect providers that users sign in with.
    pub oidc: Arc<Oidc>,
    /// Logins, and second factors of users.
    pub second_factors: Arc<SecondFactors>,
    /// Stored scripts; runs sink and tool scripts.
    pub scripts: Scripts,
    /// Receives every committed event: wakes deliveries and feeds streams.
    pub hub: Hub,
    /// Threads for computations that would block the threads that serve requests.
    pub compute: FairPool,
    pub metrics: Arc<Metrics>,
    /// Makes the answer to `GET /api/stats`.
    pub stats: Overview,
    /// Statistics of methods.
    pub method_stats: MethodStatistics,
    pub self_check: SelfCheck,
    pub limits: Limits,
    /// The quotas of users without overrides; see `User::quotas`.
    pub quotas: Quotas,
    pub web: Web,
    /// Proxies whose `X-Forwarded-*` headers are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Scheme, host and port of the public URL, if one is configured.
    pub public_origin: Option<String>,
    /// Host and port of the public URL, if one is configured.
    pub public_authority: Option<String>,
    /// Whether only this machine can connect.
    pub loopback_only: bool,
    /// Host names that a loopback listener accepts.
    pub allowed_hosts: AllowedHosts,
    /// Limits the requests of a user that change something.
    pub changes: Arc<RateLimit>,
    /// The same for requests with a session. A flood by code or by a leaked token must not keep its
    /// owner from ending it. Not exchanged with other servers.
    pub changes_of_sessions: RateLimit,
    /// Memory for the bodies of requests, and for calls that wait for a link.
    pub bodies: Arc<ByteBudget>,
    /// Memory for answers that are not read yet.
    pub answers: Arc<ByteBudget>,
    /// Whether the log already has the warning about a proxy that is not in `trusted_proxies`.
    pub warned_of_proxy: AtomicBool,
    /// Cancelled when the server is asked to stop. The server still runs for the shutdown delay.
    pub stop_requested: CancellationToken,
    /// Cancelled after the shutdown delay, when the server begins to stop.
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
