//! The configuration in layers: the environment has priority over the file, the file over the
//! defaults.
//!
//! Flags are above these layers; the commands apply them. `config.default.toml` holds all defaults:
//! it is the lowest layer, read like any other file.

mod addresses;
pub mod hidden;
mod section;

use std::{
    fmt::Display,
    net::SocketAddr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use svc_agent::LoopbackAccess;
use svc_private::read_found;
use svc_protocol::{document, env, registration_file::place};
use svc_server::identity::PasswordLogin;

use crate::{
    environment::Environment,
    exit::{Exit, Failure, OrFail},
};
pub use addresses::Addresses;
use hidden::Hidden;
use section::sections;

const DEFAULTS: &str = include_str!("../config.default.toml");
/// Name of the file in the current folder and in the user's config folder.
const FILE_NAME: &str = "svc.toml";

/// Minimum of `max_unfinished_body_bytes` and of `max_unread_answer_bytes`. A smaller value would
/// refuse ordinary requests and answers.
const BUFFERED_BYTES_MIN: usize = 1024 * 1024;
/// The maximum of `payload_bytes`.
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Human,
    Json,
}

/// A further label of the series of methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsLabel {
    Owner,
    Space,
}

sections! {
    server: Server as WrittenServer {
        listen: SocketAddr = "SVC_LISTEN",
        trusted_proxies: Vec<String> = "SVC_TRUSTED_PROXIES",
        allowed_hosts: Vec<String> = "SVC_ALLOWED_HOSTS",
        max_connections: usize = "SVC_MAX_CONNECTIONS",
        max_unfinished_body_bytes: usize = "SVC_MAX_UNFINISHED_BODY_BYTES",
        max_unread_answer_bytes: usize = "SVC_MAX_UNREAD_ANSWER_BYTES",
        registrations_per_minute: usize = "SVC_REGISTRATIONS_PER_MINUTE",
        log_format: LogFormat = "SVC_LOG_FORMAT",
        max_body_bytes: usize = "SVC_MAX_BODY_BYTES",
        grace_seconds: f64 = "SVC_GRACE_SECONDS",
        drain_seconds: f64 = "SVC_DRAIN_SECONDS",
        shutdown_delay_seconds: f64 = "SVC_SHUTDOWN_DELAY_SECONDS",
        changes_per_second: u32 = "SVC_CHANGES_PER_SECOND",
        login_limit: u32 = "SVC_LOGIN_LIMIT",
        audit_retention_days: u32 = "SVC_AUDIT_RETENTION_DAYS",
        database_readers: usize = "SVC_DATABASE_READERS",
        database_poll_only: bool = "SVC_DATABASE_POLL_ONLY",
    } optional {
        data_dir: PathBuf = "SVC_DATA_DIR",
        database_url: String = "SVC_DATABASE_URL",
        tls_cert: PathBuf = "SVC_TLS_CERT",
        tls_key: PathBuf = "SVC_TLS_KEY",
        public_url: String = "SVC_PUBLIC_URL",
        advertise_url: String = "SVC_ADVERTISE_URL",
        wildcard_domain: String = "SVC_WILDCARD_DOMAIN",
        calls_per_second: u32 = "SVC_CALLS_PER_SECOND",
    }
    spaces: Spaces as WrittenSpaces {
        allow_local: bool = "SVC_SPACES_ALLOW_LOCAL",
    } optional {}
    events: Events as WrittenEvents {
        retention_days: u32 = "SVC_EVENT_RETENTION_DAYS",
        emits_per_second: u32 = "SVC_EMITS_PER_SECOND",
        server_event_bytes: u64 = "SVC_SERVER_EVENT_BYTES",
    } optional {}
    journal: Journal as WrittenJournal {
        rows_per_owner: u64 = "SVC_JOURNAL_ROWS",
        keep_days: u32 = "SVC_JOURNAL_DAYS",
        payload_bytes: usize = "SVC_JOURNAL_PAYLOAD_BYTES",
    } optional {}
    metrics: Metrics as WrittenMetrics {
        methods: usize = "SVC_METRICS_METHODS",
        receivers: usize = "SVC_METRICS_RECEIVERS",
        labels: Vec<MetricsLabel> = "SVC_METRICS_LABELS",
    } optional {}
    traces: Traces as WrittenTraces {
        sample: f64 = "SVC_TRACES_SAMPLE",
    } optional {
        otlp_url: String = "SVC_TRACES_OTLP_URL",
        headers_file: PathBuf = "SVC_TRACES_HEADERS_FILE",
        ca_file: PathBuf = "SVC_TRACES_CA_FILE",
    }
    oauth: OAuth as WrittenOAuth {
        enabled: bool = "SVC_OAUTH",
        registration: bool = "SVC_OAUTH_REGISTRATION",
        client_hosts: Vec<String> = "SVC_OAUTH_CLIENT_HOSTS",
        login_days: u32 = "SVC_OAUTH_LOGIN_DAYS",
    } optional {}
    oidc: Oidc as WrittenOidc {
        allow: Vec<String> = "SVC_OIDC_ALLOW",
        password_login: PasswordLogin = "SVC_PASSWORD_LOGIN",
        fresh_login_days: u32 = "SVC_OIDC_FRESH_LOGIN_DAYS",
    } optional {}
    webhooks: Webhooks as WrittenWebhooks {
        allow: Vec<String> = env::WEBHOOK_ALLOW,
        proxy_resolves: bool = "SVC_WEBHOOK_PROXY_RESOLVES",
    } optional {
        proxy: String = "SVC_WEBHOOK_PROXY",
    }
    scripts: Scripts as WrittenScripts {
        timeout_seconds: f64 = "SVC_SCRIPT_TIMEOUT_SECONDS",
        memory_mb: u32 = "SVC_SCRIPT_MEMORY_MB",
    } optional {}
    quotas: Quotas as WrittenQuotas {
        spaces: u64 = "SVC_QUOTA_SPACES",
        tokens: u64 = "SVC_QUOTA_TOKENS",
        scripts: u64 = "SVC_QUOTA_SCRIPTS",
        sinks: u64 = "SVC_QUOTA_SINKS",
        sources: u64 = "SVC_QUOTA_SOURCES",
        schedules: u64 = "SVC_QUOTA_SCHEDULES",
        methods: u64 = "SVC_QUOTA_METHODS",
        event_bytes: u64 = "SVC_QUOTA_EVENT_BYTES",
        audit_bytes: u64 = "SVC_QUOTA_AUDIT_BYTES",
        streams: u64 = "SVC_QUOTA_STREAMS",
    } optional {}
    agent: Agent as WrittenAgent {
        max_links: usize = "SVC_AGENT_MAX_LINKS",
        loopback: LoopbackAccess = env::AGENT_LOOPBACK,
    } optional {
        url: Addresses = env::URL,
        token: String = env::AGENT_TOKEN,
        token_file: PathBuf = env::AGENT_TOKEN_FILE,
        ca_file: PathBuf = env::CA_FILE,
        listen: SocketAddr = env::AGENT_LISTEN,
        socket: PathBuf = env::AGENT_SOCKET,
        methods_file: PathBuf = env::METHODS_FILE,
    }
}

impl Layer {
    fn of_text(file: &str, text: &str) -> Result<Self, Failure> {
        document::read_toml(text).map_err(|error| {
            let fault = place(file, text, error.span, &error.message);
            Failure::new(Exit::Usage, fault.to_string())
        })
    }

    fn of_file(File { path, text }: &File) -> Result<Self, Failure> {
        let mut layer = Self::of_text(&path.display().to_string(), text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        layer.relative_to(folder);
        Ok(layer)
    }

    /// Paths in a file are relative to the file's folder, not to the current folder.
    fn relative_to(&mut self, folder: &Path) {
        let paths = [
            &mut self.server.data_dir,
            &mut self.server.tls_cert,
            &mut self.server.tls_key,
            &mut self.traces.headers_file,
            &mut self.traces.ca_file,
            &mut self.agent.ca_file,
            &mut self.agent.token_file,
            &mut self.agent.socket,
            &mut self.agent.methods_file,
        ];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }
}

impl Config {
    /// Reads every layer. `file` is the value of `--config`.
    pub fn load(file: Option<&Path>, environment: &Environment) -> Result<Self, Failure> {
        let mut layers = Layer::of_text("config.default.toml", DEFAULTS)?;
        if let Some(file) = find_file(file, environment)? {
            layers = Layer::of_file(&file)?.over(layers);
        }
        let layers = Layer::of_environment(environment)?.over(layers);
        let config = layers.finish(Hidden::of_environment(environment)?);
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Failure> {
        let (server, scripts, journal) = (&self.server, &self.scripts, &self.journal);
        check_range("`database_readers`", server.database_readers, 1..=100)?;
        check_range("`login_days`", self.oauth.login_days, 1..=3_650)?;
        check_range("`fresh_login_days`", self.oidc.fresh_login_days, 1..=3_650)?;
        check_range("`max_links` of the agent", self.agent.max_links, 1..=64)?;
        if server.tls_cert.is_some() != server.tls_key.is_some() {
            return Err(Failure::usage(
                "`tls_cert` and `tls_key` require each other: set both, or neither",
            ));
        }
        let day = 0.0..=86_400.0;
        check_range("`grace_seconds`", server.grace_seconds, day.clone())?;
        check_range("`drain_seconds`", server.drain_seconds, day.clone())?;
        let delay = server.shutdown_delay_seconds;
        check_range("`shutdown_delay_seconds`", delay, day)?;
        let is_0 = |key: &str, refused: &str| {
            let what = format!("`{key}` is 0, which would refuse every {refused}");
            Err(Failure::usage(what))
        };
        if server.max_connections == 0 {
            return is_0("max_connections", "connection");
        }
        let registrations = server.registrations_per_minute;
        let bodies = server.max_unfinished_body_bytes;
        let answers = server.max_unread_answer_bytes;
        for (key, value, min) in [
            ("max_unfinished_body_bytes", bodies, BUFFERED_BYTES_MIN),
            ("max_unread_answer_bytes", answers, BUFFERED_BYTES_MIN),
            ("registrations_per_minute", registrations, 1),
        ] {
            if value < min {
                let what = format!("`{key}` is {value}; it must be at least {min}");
                return Err(Failure::usage(what));
            }
        }
        if server.calls_per_second == Some(0) {
            let failure = is_0("calls_per_second", "call");
            return failure.map_err(|failure| failure.hint("remove it for no limit"));
        }
        let changes = server.changes_per_second;
        check_range("`changes_per_second`", changes, 1..=1_000_000)?;
        let seconds = scripts.timeout_seconds;
        check_range("`timeout_seconds` of scripts", seconds, 0.1..=300.0)?;
        check_range("`memory_mb` of scripts", scripts.memory_mb, 16..=65_536)?;
        check_range("`rows_per_owner`", journal.rows_per_owner, 0..=100_000_000)?;
        check_range("`keep_days`", journal.keep_days, 1..=3_650)?;
        let bytes = journal.payload_bytes;
        check_range("`payload_bytes`", bytes, 0..=PAYLOAD_BYTES_MAX)?;
        check_range("`sample` of traces", self.traces.sample, 0.0..=1.0)?;
        let (methods, receivers) = (self.metrics.methods, self.metrics.receivers);
        check_range("`methods` of metrics", methods, 0..=100_000)?;
        check_range("`receivers` of metrics", receivers, 0..=100_000)?;
        match self.events.emits_per_second {
            0 => is_0("emits_per_second", "event"),
            _ => Ok(()),
        }
    }
}

fn check_range<T: PartialOrd + Display>(
    what: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), Failure> {
    if range.contains(&value) {
        return Ok(());
    }
    let (min, max) = range.into_inner();
    Err(Failure::usage(format!(
        "{what} is {value}; it must be between {min} and {max}"
    )))
}

/// The configuration file and its text.
struct File {
    path: PathBuf,
    text: String,
}

/// A file that the user names is used without further checks. A file that this function finds must
/// not be writable by other users, because the current folder can belong to another user.
fn find_file(flag: Option<&Path>, environment: &Environment) -> Result<Option<File>, Failure> {
    let named = flag
        .map(Path::to_owned)
        .or_else(|| environment.get(env::CONFIG).map(PathBuf::from));
    let unreadable = |path: &Path| {
        let name = path.display();
        format!("cannot read the configuration file `{name}`")
    };
    if let Some(path) = named {
        let path = environment.absolute(&path);
        let text = std::fs::read_to_string(&path).or_usage(unreadable(&path))?;
        return Ok(Some(File { path, text }));
    }
    let here = environment.working_folder.join(FILE_NAME);
    let home = environment.config_folder().ok();
    let found = [Some(here), home.map(|folder| folder.join(FILE_NAME))];
    for path in found.into_iter().flatten().filter(|path| path.is_file()) {
        match read_found(&path).or_usage(unreadable(&path))? {
            Ok(Some(text)) => return Ok(Some(File { path, text })),
            Ok(None) => {}
            Err(untrusted) => {
                eprintln!("warning: {untrusted}; `--config <file>` uses a file without this check");
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
