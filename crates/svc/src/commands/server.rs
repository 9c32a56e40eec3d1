//! `svc server`: runs the server, and builds its options from the configuration.

mod health;
mod reset_second_factor;

use std::{
    fmt::Display,
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use clap::Subcommand;
use http::HeaderMap;
use svc_client::Target;
use svc_core::lane::RetryPolicy;
use svc_protocol::{api::Servers, env};
use svc_server::{
    EventOptions, JournalOptions, Limits, MetricsOptions, Options, Policy, Quotas, ScriptOptions,
    Server, SharedDatabase, StartError, TlsFiles,
    bootstrap::sign_in_link_of,
    events::lanes::Slots,
    identity::PasswordLogin,
    oauth::OAuthPolicy,
    oidc::OidcPolicy,
    traces::{ExportPolicy, TraceOptions, parse_headers},
    web::Web,
};
use svc_store::DatabaseUrl;

use super::Shell;
use crate::{
    config::{self, Config},
    exit::{Exit, Failure, Outcome},
    output::Table,
    runtime,
    service_manager::ServiceManager,
};

/// Longest `advertise_url`. Every agent of the zone gets it.
const ADVERTISE_URL_BYTES_MAX: usize = 500;

/// Run the server, check it, and list the servers of its zone
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc server start\n  svc server start --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem"
)]
pub enum Command {
    Start(Box<StartArgs>),
    /// List the servers that share the database, with their links and queues
    #[command(before_help = "  svc server list\n  svc server list -o json")]
    List,
    Health(health::Args),
    ResetSecondFactor(reset_second_factor::Args),
    /// Print every route and the permission it requires
    #[command(hide = true)]
    Routes,
}

/// Run the server until it is stopped; a first start prints a one-time setup link
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc server start\n  \
                   svc server start --data-dir /var/lib/svc --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem\n  \
                   SVC_SECRET_KEY=… svc server start --database-url postgres://svc@db.example.com/svc    one of a zone\n  \
                   SVC_ADMIN_PASSWORD=… svc server start    creates the user `admin` on a first start")]
pub struct StartArgs {
    /// Address to listen on; port 0 takes any free one [default: 127.0.0.1:12200] [env: SVC_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Folder of the database [default: ~/.local/share/svc] [env: SVC_DATA_DIR]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database that several servers share, instead of the embedded one [env: SVC_DATABASE_URL]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Certificate chain in PEM [env: SVC_TLS_CERT]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key in PEM [env: SVC_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Address that people and agents use, if it differs from the listen address [env: SVC_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Address of this server for all agents of its zone, which then link to it too [env: SVC_ADVERTISE_URL]
    #[arg(long, value_name = "URL")]
    advertise_url: Option<String>,
    /// Threads that serve requests; 0 chooses by the number of cores [env: SVC_WORKERS]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Print a link that signs this administrator in once, within 10 minutes, from a browser on this machine
    #[arg(long, value_name = "USER")]
    sign_in_link: Option<String>,
}

/// Runs every command except `start`, which chooses its own runtime.
pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List => list(shell).await,
        Command::Health(args) => health::run(shell, args).await,
        Command::ResetSecondFactor(args) => reset_second_factor::run(shell, args).await,
        Command::Routes => routes(shell),
        Command::Start(_) => unreachable!("`commands::run` handles it"),
    }
}

async fn list(shell: &Shell) -> Outcome {
    let document: Servers = shell.client()?.servers().await?;
    shell.output.document(&document, || {
        let head = [
            "ID", "URL", "STATE", "VERSION", "LINKS", "SIDE", "LEASES", "SEEN",
        ];
        Table::list(&head, "no servers", &document.servers, |server| {
            vec![
                server.id.to_string(),
                server.url.clone(),
                match server.is_this {
                    true => format!("{} (answers)", server.state),
                    false => server.state.clone(),
                },
                server.svc_version.clone(),
                server.links.to_string(),
                server.side_links.to_string(),
                server.leases.to_string(),
                server.seen_at.to_string(),
            ]
        })
    })
}

pub fn start(shell: &Shell, mut args: StartArgs) -> Outcome {
    let mut config = shell.config()?;
    let sign_in_link = args.sign_in_link.take();
    apply(&mut config.server, shell, args);
    shell.start_logs(&config)?;
    runtime::hide_environment();
    let workers = runtime::workers_or_default(config.server.workers);
    let options = options(shell, &config)?;
    runtime::with_workers(workers)?.block_on(async {
        let shutdown = runtime::shutdown_on_signals()?;
        let server = Server::start(options, shutdown.clone())
            .await
            .map_err(start_failure)?;
        let reports = ServiceManager::find(&shell.environment)
            .map(|manager| tokio::spawn(manager.report(server.url(), server.pulse(), shutdown)));
        if let Some(link) = server.setup_link() {
            eprintln!("first start: make the first administrator with this one-time link");
            eprintln!("  {link}");
            eprintln!("in a browser, or with: svc login '{link}'");
        }
        if let Some(user) = sign_in_link {
            print_sign_in_link(&server, &user).await;
        }
        server.join().await;
        if let Some(reports) = reports {
            // The task ended at the shutdown, before the server ended.
            let _ = reports.await;
        }
        Ok(Exit::Ok)
    })
}

/// Prints a sign-in link for an administrator, or the reason why there is none. An error does not
/// stop the server, because other users need the server.
async fn print_sign_in_link(server: &Server, user: &str) {
    match sign_in_link_of(server.app(), &server.url(), user).await {
        Ok(link) => {
            eprintln!("sign in as `{user}` with this one-time link, in a browser on this machine");
            eprintln!("  {link}");
        }
        Err(error) => eprintln!("no sign-in link: {error}"),
    }
}

/// Applies the flags, which win over every other layer.
fn apply(server: &mut config::Server, shell: &Shell, args: StartArgs) {
    let path = |path: PathBuf| shell.environment.absolute(&path);
    if let Some(listen) = args.listen {
        server.listen = listen;
    }
    if let Some(workers) = args.workers {
        server.workers = workers;
    }
    server.data_dir = args.data_dir.map(path).or(server.data_dir.take());
    server.tls_cert = args.tls_cert.map(path).or(server.tls_cert.take());
    server.tls_key = args.tls_key.map(path).or(server.tls_key.take());
    server.public_url = args.public_url.or(server.public_url.take());
    server.advertise_url = args.advertise_url.or(server.advertise_url.take());
    server.database_url = args.database_url.or(server.database_url.take());
}

/// The server's options, from the whole configuration.
pub fn options(shell: &Shell, config: &Config) -> Result<Options, Failure> {
    let server = &config.server;
    let tls = match (&server.tls_cert, &server.tls_key) {
        (Some(cert), Some(key)) => Some(TlsFiles {
            cert: cert.clone(),
            key: key.clone(),
        }),
        _ => None,
    };
    let admin_password = shell.environment.get(env::ADMIN_PASSWORD);
    Ok(Options {
        listen: server.listen,
        data_dir: data_dir(shell, config)?,
        database: database(config)?,
        tls,
        trusted_proxies: networks(&server.trusted_proxies)?,
        allowed_hosts: server.allowed_hosts.clone(),
        allow_local_spaces: config.spaces.allow_local,
        wildcard_domain: server.wildcard_domain.clone(),
        public_url: server.public_url.clone(),
        advertise_url: advertise_url(server)?,
        admin_password: admin_password.map(str::to_owned),
        agent_program: runtime::own_program()?,
        events: events(shell, config),
        scripts: scripts(&config.scripts),
        journal: JournalOptions {
            enabled: config.journal.enabled,
            rows_per_owner: config.journal.rows_per_owner,
            keep: Duration::from_secs(u64::from(config.journal.keep_days) * 24 * 60 * 60),
            payload_bytes: config.journal.payload_bytes,
            payload_bytes_per_owner: config.journal.payload_bytes_per_owner,
        },
        metrics: MetricsOptions {
            methods: config.metrics.methods,
            receivers: config.metrics.receivers,
            owner_label: config.metrics.owner_label,
            space_label: config.metrics.space_label,
        },
        traces: traces(&config.traces)?,
        oauth: oauth(&config.oauth, &config.oidc),
        oidc: OidcPolicy {
            allow: config.oidc.allow.clone(),
        },
        limits: limits(server),
        quotas: quotas(&config.quotas),
        policy: policy(config),
        web: Web {
            files: svc_web::FILES,
            version: svc_web::VERSION,
            folder: shell.environment.get(env::WEB_FOLDER).map(PathBuf::from),
        },
    })
}

/// Reads the file of headers, whose values are secrets.
fn traces(config: &config::Traces) -> Result<TraceOptions, Failure> {
    let headers = match &config.headers_file {
        Some(path) => {
            let name = path.display();
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!("cannot read `headers_file` of traces `{name}`")).why(error)
            })?;
            parse_headers(&text).map_err(|error| {
                Failure::usage(format!("`headers_file` of traces `{name}`: {error}"))
            })?
        }
        None => HeaderMap::new(),
    };
    Ok(TraceOptions {
        otlp_url: config.otlp_url.clone(),
        sample: config.sample,
        parents_per_second: config.parents_per_second,
        headers,
        ca_file: config.ca_file.clone(),
        policy: ExportPolicy::default(),
    })
}

/// The address that is announced to agents. It is checked at the start, because agents could not
/// use a wrong address.
fn advertise_url(server: &config::Server) -> Result<Option<String>, Failure> {
    let Some(url) = &server.advertise_url else {
        return Ok(None);
    };
    if server.database_url.is_none() {
        return Err(Failure::usage("`advertise_url` needs `database_url`")
            .why("only servers that share a database are announced to agents")
            .hint("remove `advertise_url`; the address of a single server is `public_url`"));
    }
    if url.len() > ADVERTISE_URL_BYTES_MAX {
        let bytes = url.len();
        return Err(Failure::usage(format!(
            "`advertise_url` has {bytes} bytes; at most {ADVERTISE_URL_BYTES_MAX} are allowed"
        )));
    }
    Target::check(url)
        .map_err(|error| Failure::usage("`advertise_url` is not valid").why(error))?;
    Ok(Some(url.clone()))
}

fn limits(server: &config::Server) -> Limits {
    let defaults = Limits::default();
    Limits {
        call_bytes_max: server.max_body_bytes,
        calls_per_second: server.calls_per_second,
        compute_threads: match server.compute_threads {
            0 => defaults.compute_threads,
            threads => threads,
        },
        compute_queue: server.compute_queue,
        connections_max: server.max_connections,
        connections_per_address: Some(server.max_connections_per_address)
            .filter(|&limit| limit > 0),
        head_max: Duration::from_secs_f64(server.head_seconds),
        unfinished_body_bytes_max: server.max_unfinished_body_bytes,
    }
}

/// The database of a zone. Spaces with `runtime: local` belong to one server, so a zone cannot have
/// them.
fn database(config: &Config) -> Result<Option<SharedDatabase>, Failure> {
    let server = &config.server;
    let Some(url) = &server.database_url else {
        return Ok(None);
    };
    if config.spaces.allow_local {
        return Err(
            Failure::usage("`allow_local` of spaces cannot be used with `database_url`")
                .why("agents that a server runs itself need the embedded database")
                .hint("remove one of them"),
        );
    }
    let url = DatabaseUrl::parse(url)
        .map_err(|error| Failure::usage("`database_url` is not valid").why(error))?;
    Ok(Some(SharedDatabase {
        url,
        readers: server.database_readers,
        poll_only: server.database_poll_only,
    }))
}

pub fn data_dir(shell: &Shell, config: &Config) -> Result<PathBuf, Failure> {
    match &config.server.data_dir {
        Some(folder) => Ok(shell.environment.absolute(folder)),
        None => shell.environment.data_folder(),
    }
}

fn events(shell: &Shell, config: &Config) -> EventOptions {
    let events = &config.events;
    EventOptions {
        webhook_allow: config.webhooks.allow.clone(),
        webhook_proxy: config.webhooks.proxy.clone(),
        webhook_proxy_resolves: config.webhooks.proxy_resolves,
        webhook_lookups: config.webhooks.lookups,
        emits_per_second: events.emits_per_second,
        retention: days(events.retention_days),
        secret_key: shell.environment.get(env::SECRET_KEY).map(str::to_owned),
        accept_new_key: shell.environment.get(env::ACCEPT_NEW_KEY) == Some("1"),
        retry: RetryPolicy {
            after_first: Duration::from_secs_f64(events.retry_first_seconds),
            after_second: Duration::from_secs_f64(events.retry_second_seconds),
        },
        lease: Duration::from_secs_f64(events.lease_seconds),
        slots: Slots {
            webhook: events.webhook_slots,
            script: events.script_slots,
            method: events.method_slots,
        },
        server_bytes: events.server_event_bytes,
    }
}

fn oauth(oauth: &config::OAuth, oidc: &config::Oidc) -> OAuthPolicy {
    OAuthPolicy {
        enabled: oauth.enabled,
        registration: oauth.registration,
        client_hosts: oauth
            .client_hosts
            .iter()
            .map(|host| host.to_ascii_lowercase())
            .collect(),
        access_lifetime: Duration::from_secs(60 * u64::from(oauth.access_minutes)),
        login_token_lifetime: days(oauth.login_days),
        fresh_login: days(oidc.fresh_login_days),
    }
}

fn scripts(scripts: &config::Scripts) -> ScriptOptions {
    let default = ScriptOptions::default();
    ScriptOptions {
        time: Duration::from_secs_f64(scripts.timeout_seconds),
        memory_bytes: scripts.memory_mb as usize * 1024 * 1024,
        workers: match scripts.workers {
            0 => default.workers,
            workers => workers,
        },
        ..default
    }
}

fn quotas(quotas: &config::Quotas) -> Quotas {
    Quotas {
        spaces: quotas.spaces,
        tokens: quotas.tokens,
        scripts: quotas.scripts,
        sinks: quotas.sinks,
        sources: quotas.sources,
        schedules: quotas.schedules,
        methods: quotas.methods,
        event_bytes: quotas.event_bytes,
        streams: quotas.streams,
    }
}

/// 0 means no limit.
fn days(days: u32) -> Duration {
    match days {
        0 => Duration::MAX,
        days => Duration::from_secs(u64::from(days) * 24 * 60 * 60),
    }
}

fn policy(config: &Config) -> Policy {
    let server = &config.server;
    let mut policy = Policy::default();
    policy.links.grace = Duration::from_secs_f64(server.grace_seconds);
    policy.links.heartbeat = Duration::from_secs(server.heartbeat_seconds.into());
    policy.links.drain = Duration::from_secs_f64(server.drain_seconds);
    policy.shutdown_delay = Duration::from_secs_f64(server.shutdown_delay_seconds);
    let slow_down = &mut policy.identity.login.slow_down;
    slow_down.free = server.login_limit;
    slow_down.wait_max = Duration::from_secs(server.login_wait_max_seconds.into());
    policy.identity.audit_retention = days(server.audit_retention_days);
    policy.identity.password_login = match config.oidc.password_login {
        config::PasswordLogin::All => PasswordLogin::All,
        config::PasswordLogin::Admins => PasswordLogin::Admins,
        config::PasswordLogin::Off => PasswordLogin::Off,
    };
    policy
}

/// Parses networks; a single address is a network of one.
fn networks<N: FromStr<Err: Display>>(texts: &[String]) -> Result<Vec<N>, Failure> {
    texts
        .iter()
        .map(|text| {
            let whole = match text.parse::<IpAddr>() {
                Ok(IpAddr::V4(address)) => format!("{address}/32"),
                Ok(IpAddr::V6(address)) => format!("{address}/128"),
                Err(_) => text.clone(),
            };
            whole.parse().map_err(|error| {
                Failure::usage(format!(
                    "trusted proxy `{text}` is not an address or network"
                ))
                .why(error)
                .hint("write it like 10.0.0.0/8 or 192.168.1.5")
            })
        })
        .collect()
}

pub fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
            Failure::failed(format!("{address} is in use by another program"))
                .why("another svc server may be running: svc whoami")
                .hint("--listen 127.0.0.1:0 takes a free port and shows it")
        }
        error => {
            let exit = match error {
                StartError::WebhookAllow(_) | StartError::Traces(_) => Exit::Usage,
                _ => Exit::Failure,
            };
            Failure::of_error(exit, &error)
        }
    }
}

fn routes(shell: &Shell) -> Outcome {
    let rows = svc_server::http::route_table();
    shell.output.document(&rows, || {
        Table::list(&["METHOD", "PATH", "NEEDS"], "no routes", &rows, |row| {
            vec![
                row.method.to_string(),
                row.path.to_string(),
                row.needs.to_string(),
            ]
        })
    })
}
