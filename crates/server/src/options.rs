//! The options of a server.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use svc_core::lane::RetryPolicy;
pub use svc_core::quota::Quotas;
use svc_pool::{FairPool, PoolOptions};
use svc_store::DatabaseUrl;

use crate::{
    identity, journal::JournalOptions, links::LinkPolicy, metrics::MetricsOptions,
    oauth::OAuthPolicy, oidc::OidcPolicy, scripts::ScriptOptions, traces::TraceOptions, web::Web,
};

/// The maximum number of long computations, of all users together, that wait for a thread.
const COMPUTE_WAITING_MAX: usize = 4_096;

#[derive(Clone, Debug)]
pub struct Options {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    /// A database that several servers share, instead of the embedded one.
    pub database: Option<SharedDatabase>,
    pub tls: Option<TlsFiles>,
    /// Proxies whose `X-Forwarded-*` headers are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Host names that a loopback listener accepts in addition to those of this machine and the
    /// hosts of `public_url` and `advertise_url`; `*` accepts any.
    pub allowed_hosts: Vec<String>,
    /// Whether the server may run agents itself, which means running users' code on the server.
    pub allow_local_spaces: bool,
    /// With `example.org`, the URL of a space's port is
    /// `https://<user>--<space>--<port>.example.org`.
    pub wildcard_domain: Option<String>,
    /// The URL for users, if it differs from the listening address.
    pub public_url: Option<String>,
    /// The URL that this server announces to the agents of its zone. Without it, the server gets
    /// home links only.
    pub advertise_url: Option<String>,
    /// The password of the user `admin`, who is created at the first start. Without a password, the
    /// server prints a one-time setup link.
    pub admin_password: Option<String>,
    /// The `svc` program, for agents and script workers that the server runs.
    pub agent_program: PathBuf,
    pub events: EventOptions,
    pub scripts: ScriptOptions,
    pub journal: JournalOptions,
    pub metrics: MetricsOptions,
    pub traces: TraceOptions,
    pub oauth: OAuthPolicy,
    pub oidc: OidcPolicy,
    pub limits: Limits,
    /// Quotas of each user. An administrator may override them per user.
    pub quotas: Quotas,
    pub policy: Policy,
    pub web: Web,
}

/// The database of a zone.
#[derive(Clone, Debug)]
pub struct SharedDatabase {
    pub url: DatabaseUrl,
    /// The number of connections with which requests read from the database. There are also two for
    /// deliveries, one for long lists, one for writes, one for notifications and one for the
    /// heartbeat.
    pub readers: usize,
    /// Whether changes of other servers are found by polling only, without notifications. Needed if
    /// a connection pooler lets clients share a connection: notifications then do not arrive.
    pub poll_only: bool,
}

#[derive(Clone, Debug)]
pub struct EventOptions {
    /// Hosts and networks that webhooks may reach although they are not globally routable.
    pub webhook_allow: Vec<String>,
    /// The proxy of webhooks: `http://[user:password@]host[:port]`.
    pub webhook_proxy: Option<String>,
    /// Whether the proxy resolves names and decides which addresses webhooks may reach.
    pub webhook_proxy_resolves: bool,
    /// Events a user may emit per second.
    pub emits_per_second: u32,
    /// How long events and finished deliveries are kept. Events that still wait for a delivery are
    /// kept longer.
    pub retention: Duration,
    /// The key of stored secrets. Required in a zone. A server without a zone creates a key in its
    /// data folder if none is set.
    pub secret_key: Option<String>,
    /// Whether to start although the stored secrets were encrypted with another key. These secrets
    /// are lost.
    pub accept_new_key: bool,
    pub retry: RetryPolicy,
    /// How long a server's claim on the queue of a sink or method is valid without a renewal.
    pub lease: Duration,
    /// The maximum bytes of stored events that only global sinks still need.
    pub server_bytes: u64,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self {
            webhook_allow: Vec::new(),
            webhook_proxy: None,
            webhook_proxy_resolves: false,
            emits_per_second: 1_000,
            retention: Duration::from_secs(7 * 24 * 60 * 60),
            secret_key: None,
            accept_new_key: false,
            retry: RetryPolicy::default(),
            lease: svc_core::lane::LEASE,
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
    /// Largest body of `POST /api/methods/call` and of `POST /mcp`.
    pub call_bytes_max: usize,
    /// Concurrent connections, including links; fewer if the limit on open files is lower.
    pub connections_max: usize,
    /// Time limit for the head of a request, from the start of the connection or from the end of
    /// the previous answer.
    pub head_max: Duration,
    /// Memory of all bodies that are still arriving; a user may have a quarter of it.
    pub unfinished_body_bytes_max: usize,
    /// Memory of all answers that are not read yet; a user may have a quarter of it.
    pub unread_answer_bytes_max: usize,
    /// A client must accept at least 64 KiB of a waiting answer in this time.
    pub answer_stall_max: Duration,
    /// Registrations of all spaces of an owner within a minute.
    pub registrations_per_minute: usize,
    /// Calls a user may make per second; no limit when absent.
    pub calls_per_second: Option<u32>,
    /// Requests that change something, which a user may make per second.
    pub changes_per_second: u32,
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
            head_max: Duration::from_secs(30),
            unfinished_body_bytes_max: 256 * 1024 * 1024,
            unread_answer_bytes_max: 512 * 1024 * 1024,
            answer_stall_max: Duration::from_secs(30),
            registrations_per_minute: 600,
            calls_per_second: None,
            changes_per_second: 50,
            compute_threads: default_compute_threads(),
            compute_queue: 64,
        }
    }
}

// Templates, filters and keys are evaluated on the threads of the pool.
const _: () = assert!(svc_pool::STACK_BYTES >= svc_template::STACK_BYTES);

impl Limits {
    /// The threads for long computations.
    pub fn compute_pool(&self) -> FairPool {
        let threads = self.compute_threads.max(1);
        FairPool::new(PoolOptions {
            name: "compute",
            threads,
            // No user may occupy every thread, unless there is only one.
            running_per_user: threads.saturating_sub(1).max(1),
            jobs_per_user: self.compute_queue.max(1),
            waiting_max: COMPUTE_WAITING_MAX,
            evicts: false,
        })
    }
}

/// Half of the cores; the other half is for the threads that serve requests. At least two,
/// because no user may occupy every thread.
fn default_compute_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    (cores / 2).max(2)
}

/// Timings and limits that tests shorten.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub links: LinkPolicy,
    pub identity: identity::Policy,
    /// How long the server still serves requests after it was asked to stop. In this time it
    /// reports that it is not ready.
    pub shutdown_delay: Duration,
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
            shutdown_delay: Duration::ZERO,
        }
    }
}
