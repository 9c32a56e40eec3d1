//! What a server is started with.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use svc_core::lane::RetryPolicy;
pub use svc_core::quota::Quotas;
use svc_store::DatabaseUrl;

use crate::{
    events::{deliver::webhook::LOOKUPS_DEFAULT, lanes::Slots},
    fair_pool::{FairPool, PoolOptions},
    identity,
    links::LinkPolicy,
    scripts::ScriptOptions,
    web::Web,
};

/// Long computations of all users that may wait.
const COMPUTE_WAITING_MAX: usize = 4_096;

#[derive(Clone, Debug)]
pub struct Options {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    /// A database that several servers share, in place of the embedded one.
    pub database: Option<SharedDatabase>,
    pub tls: Option<TlsFiles>,
    /// Proxies whose `X-Forwarded-*` headers are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Names under which a loopback listener takes requests, beside those of this machine and the
    /// host of `public_url`; `*` is any.
    pub allowed_hosts: Vec<String>,
    /// Whether the server may run agents itself: that is running code on it.
    pub allow_local_spaces: bool,
    /// `example.org` makes `https://<user>--<space>--<port>.example.org`.
    pub wildcard_domain: Option<String>,
    /// The address people use, if it is not the one listened on.
    pub public_url: Option<String>,
    /// Makes the user `admin` on a first start; without it there is a one-time setup link.
    pub admin_password: Option<String>,
    /// The `svc` program, for agents the server runs itself.
    pub agent_program: PathBuf,
    pub events: EventOptions,
    pub scripts: ScriptOptions,
    pub limits: Limits,
    /// What one user may have; an administrator may set other values for single users.
    pub quotas: Quotas,
    pub policy: Policy,
    pub web: Web,
}

/// The database of a zone.
#[derive(Clone, Debug)]
pub struct SharedDatabase {
    pub url: DatabaseUrl,
    /// Connections for reads; there is one more for writes, and one to listen on.
    pub readers: usize,
    /// Other servers are not heard by notifications: for poolers that hand connections round.
    pub poll_only: bool,
}

#[derive(Clone, Debug)]
pub struct EventOptions {
    /// Hosts and networks that webhooks may reach though they are not globally routable.
    pub webhook_allow: Vec<String>,
    /// Look-ups of names for webhooks at the same time; at least 1.
    pub webhook_lookups: usize,
    /// Events a user may emit per second.
    pub emits_per_second: u32,
    /// How long events and finished deliveries are kept.
    pub retention: Duration,
    /// Key of secrets at rest, for servers of one zone; made in the data folder when absent.
    pub secret_key: Option<String>,
    /// Start though the stored secrets were encrypted with a key that is lost: they are lost too.
    pub accept_new_key: bool,
    pub retry: RetryPolicy,
    /// How long a server holds a queue without a sign of life.
    pub lease: Duration,
    /// Deliveries that run at the same time.
    pub slots: Slots,
    /// Bytes of stored events that only global sinks still need.
    pub server_bytes: u64,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self {
            webhook_allow: Vec::new(),
            webhook_lookups: LOOKUPS_DEFAULT,
            emits_per_second: 1_000,
            retention: Duration::from_secs(7 * 24 * 60 * 60),
            secret_key: None,
            accept_new_key: false,
            retry: RetryPolicy::default(),
            lease: svc_core::lane::LEASE,
            slots: Slots::default(),
            server_bytes: 4 << 30,
        }
    }
}

#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Certificate chain, PEM.
    pub cert: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a body of `POST /api/methods/call`.
    pub call_bytes_max: usize,
    /// Connections at one time, agents' links included; fewer if the system allows fewer files.
    pub connections_max: usize,
    /// Connections of one client address; `None` is a quarter of all. This machine, trusted
    /// proxies and agents' links are not counted.
    pub connections_per_address: Option<usize>,
    /// Time for the head of a request: the first one from the start of its connection, a later one
    /// from the end of the answer before it.
    pub head_max: Duration,
    /// Memory of all bodies that are still arriving; a user may have a quarter of it.
    pub unfinished_body_bytes_max: usize,
    /// Calls a user may make per second; no limit when absent.
    pub calls_per_second: Option<u32>,
    /// Threads for long computations; at least 1.
    pub compute_threads: usize,
    /// Long computations that one user may have waiting or running.
    pub compute_queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call_bytes_max: 8 * 1024 * 1024,
            connections_max: 50_000,
            connections_per_address: None,
            head_max: Duration::from_secs(30),
            unfinished_body_bytes_max: 256 * 1024 * 1024,
            calls_per_second: None,
            compute_threads: default_compute_threads(),
            compute_queue: 64,
        }
    }
}

impl Limits {
    /// The threads for long computations.
    pub fn compute_pool(&self) -> FairPool {
        let threads = self.compute_threads.max(1);
        FairPool::new(PoolOptions {
            name: "compute",
            threads,
            // A user never holds the last thread.
            running_per_user: threads.saturating_sub(1).max(1),
            jobs_per_user: self.compute_queue.max(1),
            waiting_max: COMPUTE_WAITING_MAX,
            setting: "server.compute_queue",
        })
    }
}

/// Half of the cores, so that the threads that serve have the others. Two at least: one user never
/// holds the last one.
fn default_compute_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    (cores / 2).max(2)
}

/// Timings and limits that tests shorten.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub links: LinkPolicy,
    pub identity: identity::Policy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            links: LinkPolicy {
                grace: Duration::from_secs(30),
                heartbeat: Duration::from_secs(10),
                drain: Duration::from_secs(10),
            },
            identity: identity::Policy::default(),
        }
    }
}
