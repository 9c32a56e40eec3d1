//! The options of the server, from the configuration.

use std::{fmt::Display, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use http::HeaderMap;
use svc_client::Target;
use svc_core::lane::{LEASE, RetryPolicy};
use svc_protocol::env;
use svc_server::{
    EventOptions, JournalOptions, Limits, MetricsOptions, Options, Policy, Quotas, ScriptOptions,
    SharedDatabase, TlsFiles,
    oauth::OAuthPolicy,
    oidc::OidcPolicy,
    traces::{TraceOptions, parse_headers},
    web::Web,
};
use svc_store::DatabaseUrl;

use crate::{
    commands::Shell,
    config::{self, Config, MetricsLabel},
    exit::{Failure, OrFail},
    runtime,
};

/// Longest `advertise_url`. Every agent of the zone gets it.
const ADVERTISE_URL_BYTES_MAX: usize = 500;

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
        scripts: scripts(config),
        journal: JournalOptions {
            rows_per_owner: config.journal.rows_per_owner,
            keep: days(config.journal.keep_days),
            payload_bytes: config.journal.payload_bytes,
        },
        metrics: MetricsOptions {
            methods: config.metrics.methods,
            receivers: config.metrics.receivers,
            owner_label: config.metrics.labels.contains(&MetricsLabel::Owner),
            space_label: config.metrics.labels.contains(&MetricsLabel::Space),
        },
        traces: traces(config)?,
        oauth: oauth(&config.oauth, &config.oidc),
        oidc: OidcPolicy {
            allow: config.oidc.allow.clone(),
        },
        limits: limits(config),
        quotas: quotas(&config.quotas),
        policy: policy(config),
        web: Web {
            files: svc_web::FILES,
            version: svc_web::VERSION,
            folder: shell.environment.get(env::WEB_FOLDER).map(PathBuf::from),
        },
    })
}

/// The options of traces. The headers come from a file, because their values are secrets.
fn traces(config: &Config) -> Result<TraceOptions, Failure> {
    let (config, hidden) = (&config.traces, &config.hidden);
    let default = TraceOptions::default();
    let headers = match &config.headers_file {
        Some(path) => {
            let name = path.display();
            let text = std::fs::read_to_string(path)
                .or_usage(format!("cannot read `headers_file` of traces: `{name}`"))?;
            parse_headers(&text).map_err(|error| {
                Failure::usage(format!("in `{name}`, `headers_file` of traces: {error}"))
            })?
        }
        None => HeaderMap::new(),
    };
    Ok(TraceOptions {
        otlp_url: config.otlp_url.clone(),
        sample: config.sample,
        parents_per_second: or(hidden.parents_per_second, default.parents_per_second),
        headers,
        ca_file: config.ca_file.clone(),
        policy: default.policy,
    })
}

/// The address that is announced to agents. It is checked when the server starts, because agents
/// could not use a wrong address.
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
    Target::check(url).or_usage("`advertise_url` is not valid")?;
    Ok(Some(url.clone()))
}

fn limits(config: &Config) -> Limits {
    let (server, hidden) = (&config.server, &config.hidden);
    let default = Limits::default();
    Limits {
        call_bytes_max: server.max_body_bytes,
        calls_per_second: server.calls_per_second,
        changes_per_second: server.changes_per_second,
        compute_threads: or(hidden.compute_threads, default.compute_threads),
        compute_queue: or(hidden.compute_queue, default.compute_queue),
        connections_max: server.max_connections,
        head_max: or(hidden.head_seconds, default.head_max),
        unfinished_body_bytes_max: server.max_unfinished_body_bytes,
        unread_answer_bytes_max: server.max_unread_answer_bytes,
        registrations_per_minute: server.registrations_per_minute,
        answer_stall_max: or(hidden.answer_stall_seconds, default.answer_stall_max),
    }
}

/// The database of a zone. Spaces with `runtime: local` belong to one server, so a zone cannot have
/// them.
pub(super) fn database(config: &Config) -> Result<Option<SharedDatabase>, Failure> {
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
    Ok(Some(SharedDatabase {
        url: DatabaseUrl::parse(url).or_usage("`database_url` is not valid")?,
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
    let (events, hidden) = (&config.events, &config.hidden);
    let retry = RetryPolicy::default();
    EventOptions {
        webhook_allow: config.webhooks.allow.clone(),
        webhook_proxy: config.webhooks.proxy.clone(),
        webhook_proxy_resolves: config.webhooks.proxy_resolves,
        emits_per_second: events.emits_per_second,
        retention: days(events.retention_days),
        secret_key: shell.environment.get(env::SECRET_KEY).map(str::to_owned),
        accept_new_key: shell.environment.get(env::ACCEPT_NEW_KEY) == Some("1"),
        retry: RetryPolicy {
            after_first: or(hidden.retry_first_seconds, retry.after_first),
            after_second: or(hidden.retry_second_seconds, retry.after_second),
        },
        lease: or(hidden.lease_seconds, LEASE),
        server_bytes: events.server_event_bytes,
    }
}

fn oauth(oauth: &config::OAuth, oidc: &config::Oidc) -> OAuthPolicy {
    let hosts = oauth.client_hosts.iter();
    OAuthPolicy {
        enabled: oauth.enabled,
        registration: oauth.registration,
        client_hosts: hosts.map(|host| host.to_ascii_lowercase()).collect(),
        login_token_lifetime: days(oauth.login_days),
        fresh_login: days(oidc.fresh_login_days),
        ..OAuthPolicy::default()
    }
}

fn scripts(config: &Config) -> ScriptOptions {
    let scripts = &config.scripts;
    let default = ScriptOptions::default();
    ScriptOptions {
        time: Duration::from_secs_f64(scripts.timeout_seconds),
        memory_bytes: scripts.memory_mb as usize * 1024 * 1024,
        workers: or(config.hidden.script_workers, default.workers),
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
        audit_bytes: quotas.audit_bytes,
        streams: quotas.streams,
    }
}

/// The value of a hidden setting, or its default.
fn or<T>(hidden: Option<impl Into<T>>, default: T) -> T {
    hidden.map_or(default, Into::into)
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
    policy.links.heartbeat = or(config.hidden.heartbeat_seconds, policy.links.heartbeat);
    policy.links.drain = Duration::from_secs_f64(server.drain_seconds);
    policy.shutdown_delay = Duration::from_secs_f64(server.shutdown_delay_seconds);
    policy.identity.login.slow_down.free = server.login_limit;
    policy.identity.audit_retention = days(server.audit_retention_days);
    policy.identity.password_login = config.oidc.password_login;
    policy
}

/// Parses networks; a single address is a network with one address.
fn networks<N: FromStr<Err: Display>>(texts: &[String]) -> Result<Vec<N>, Failure> {
    texts
        .iter()
        .map(|text| {
            let whole = match text.parse::<IpAddr>() {
                Ok(IpAddr::V4(address)) => format!("{address}/32"),
                Ok(IpAddr::V6(address)) => format!("{address}/128"),
                Err(_) => text.clone(),
            };
            let what = format!("trusted proxy `{text}` is not an address or network");
            let network = whole.parse::<N>().or_usage(what);
            network.map_err(|failure| failure.hint("write it like 10.0.0.0/8 or 192.168.1.5"))
        })
        .collect()
}
