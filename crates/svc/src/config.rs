//! The configuration in layers: environment over file over default.
//!
//! Flags are above these layers; the commands apply them. `config.default.toml` holds all defaults:
//! it is the lowest layer, read like any other file.

mod addresses;
mod section;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use svc_protocol::{document, env, registration_file::place};

use crate::{
    environment::Environment,
    exit::{Exit, Failure},
    trust::read_found,
};
pub use addresses::Addresses;
use section::section;

const DEFAULTS: &str = include_str!("../config.default.toml");
/// Name of the file in the current folder and in the user's config folder.
const FILE_NAME: &str = "svc.toml";

/// A smaller budget would refuse ordinary requests.
const UNFINISHED_BODY_BYTES_MIN: usize = 1024 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Human,
    Json,
}

/// All settings, from every layer below the flags.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    pub server: Server,
    pub spaces: Spaces,
    pub events: Events,
    pub webhooks: Webhooks,
    pub scripts: Scripts,
    pub quotas: Quotas,
    pub agent: Agent,
}

section! {
    Server as WrittenServer {
        listen: SocketAddr = "SVC_LISTEN",
        trusted_proxies: Vec<String> = "SVC_TRUSTED_PROXIES",
        allowed_hosts: Vec<String> = "SVC_ALLOWED_HOSTS",
        max_connections: usize = "SVC_MAX_CONNECTIONS",
        max_connections_per_address: usize = "SVC_MAX_CONNECTIONS_PER_ADDRESS",
        head_seconds: f64 = "SVC_HEAD_SECONDS",
        max_unfinished_body_bytes: usize = "SVC_MAX_UNFINISHED_BODY_BYTES",
        workers: usize = "SVC_WORKERS",
        compute_threads: usize = "SVC_COMPUTE_THREADS",
        compute_queue: usize = "SVC_COMPUTE_QUEUE",
        log_format: LogFormat = "SVC_LOG_FORMAT",
        max_body_bytes: usize = "SVC_MAX_BODY_BYTES",
        grace_seconds: f64 = "SVC_GRACE_SECONDS",
        heartbeat_seconds: u32 = "SVC_HEARTBEAT_SECONDS",
        drain_seconds: f64 = "SVC_DRAIN_SECONDS",
        login_limit: u32 = "SVC_LOGIN_LIMIT",
        login_wait_max_seconds: u32 = "SVC_LOGIN_WAIT_MAX_SECONDS",
        audit_retention_days: u32 = "SVC_AUDIT_RETENTION_DAYS",
        database_readers: usize = "SVC_DATABASE_READERS",
        database_poll_only: bool = "SVC_DATABASE_POLL_ONLY",
    } optional {
        data_dir: PathBuf = "SVC_DATA_DIR",
        database_url: String = "SVC_DATABASE_URL",
        tls_cert: PathBuf = "SVC_TLS_CERT",
        tls_key: PathBuf = "SVC_TLS_KEY",
        public_url: String = "SVC_PUBLIC_URL",
        wildcard_domain: String = "SVC_WILDCARD_DOMAIN",
        calls_per_second: u32 = "SVC_CALLS_PER_SECOND",
    }
}

section! {
    Spaces as WrittenSpaces {
        allow_local: bool = "SVC_SPACES_ALLOW_LOCAL",
    } optional {}
}

section! {
    Events as WrittenEvents {
        retention_days: u32 = "SVC_EVENT_RETENTION_DAYS",
        emits_per_second: u32 = "SVC_EMITS_PER_SECOND",
        retry_first_seconds: f64 = "SVC_RETRY_FIRST_SECONDS",
        retry_second_seconds: f64 = "SVC_RETRY_SECOND_SECONDS",
        lease_seconds: f64 = "SVC_LEASE_SECONDS",
        webhook_slots: usize = "SVC_WEBHOOK_SLOTS",
        script_slots: usize = "SVC_SCRIPT_SLOTS",
        method_slots: usize = "SVC_METHOD_SLOTS",
        server_event_bytes: u64 = "SVC_SERVER_EVENT_BYTES",
    } optional {}
}

section! {
    Webhooks as WrittenWebhooks {
        allow: Vec<String> = env::WEBHOOK_ALLOW,
        lookups: usize = "SVC_WEBHOOK_LOOKUPS",
    } optional {}
}

section! {
    Scripts as WrittenScripts {
        timeout_seconds: f64 = "SVC_SCRIPT_TIMEOUT_SECONDS",
        memory_mb: u32 = "SVC_SCRIPT_MEMORY_MB",
        workers: usize = "SVC_SCRIPT_WORKERS",
    } optional {}
}

section! {
    Quotas as WrittenQuotas {
        spaces: u64 = "SVC_QUOTA_SPACES",
        tokens: u64 = "SVC_QUOTA_TOKENS",
        scripts: u64 = "SVC_QUOTA_SCRIPTS",
        sinks: u64 = "SVC_QUOTA_SINKS",
        methods: u64 = "SVC_QUOTA_METHODS",
        event_bytes: u64 = "SVC_QUOTA_EVENT_BYTES",
        streams: u64 = "SVC_QUOTA_STREAMS",
    } optional {}
}

section! {
    Agent as WrittenAgent {
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

/// One layer, with only the keys that it sets.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Layer {
    server: WrittenServer,
    spaces: WrittenSpaces,
    events: WrittenEvents,
    webhooks: WrittenWebhooks,
    scripts: WrittenScripts,
    quotas: WrittenQuotas,
    agent: WrittenAgent,
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

    fn of_environment(environment: &Environment) -> Result<Self, Failure> {
        Ok(Self {
            server: WrittenServer::of_environment(environment)?,
            spaces: WrittenSpaces::of_environment(environment)?,
            events: WrittenEvents::of_environment(environment)?,
            webhooks: WrittenWebhooks::of_environment(environment)?,
            scripts: WrittenScripts::of_environment(environment)?,
            quotas: WrittenQuotas::of_environment(environment)?,
            agent: WrittenAgent::of_environment(environment)?,
        })
    }

    /// Paths in a file are relative to the file's folder, not to the current folder.
    fn relative_to(&mut self, folder: &Path) {
        let paths = [
            &mut self.server.data_dir,
            &mut self.server.tls_cert,
            &mut self.server.tls_key,
            &mut self.agent.ca_file,
            &mut self.agent.token_file,
            &mut self.agent.socket,
            &mut self.agent.methods_file,
        ];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }

    fn over(self, below: Self) -> Self {
        Self {
            server: self.server.over(below.server),
            spaces: self.spaces.over(below.spaces),
            events: self.events.over(below.events),
            webhooks: self.webhooks.over(below.webhooks),
            scripts: self.scripts.over(below.scripts),
            quotas: self.quotas.over(below.quotas),
            agent: self.agent.over(below.agent),
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
        let config = Self {
            server: layers.server.finish(),
            spaces: layers.spaces.finish(),
            events: layers.events.finish(),
            webhooks: layers.webhooks.finish(),
            scripts: layers.scripts.finish(),
            quotas: layers.quotas.finish(),
            agent: layers.agent.finish(),
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Failure> {
        let server = &self.server;
        if !(1..=100).contains(&server.database_readers) {
            return Err(Failure::usage(format!(
                "`database_readers` is {}; it must be between 1 and 100",
                server.database_readers
            )));
        }
        if !(1..=1_000).contains(&self.webhooks.lookups) {
            return Err(Failure::usage(format!(
                "`lookups` of webhooks is {}; it must be between 1 and 1000",
                self.webhooks.lookups
            )));
        }
        if !(0.5..=3_600.0).contains(&self.events.lease_seconds) {
            return Err(Failure::usage(format!(
                "`lease_seconds` is {}; it must be between 0.5 and 3600",
                self.events.lease_seconds
            )));
        }
        if server.tls_cert.is_some() != server.tls_key.is_some() {
            return Err(Failure::usage(
                "`tls_cert` and `tls_key` require each other: set both, or neither",
            ));
        }
        for (key, seconds) in [
            ("grace_seconds", server.grace_seconds),
            ("drain_seconds", server.drain_seconds),
            ("retry_first_seconds", self.events.retry_first_seconds),
            ("retry_second_seconds", self.events.retry_second_seconds),
        ] {
            if !(0.0..=86_400.0).contains(&seconds) {
                return Err(Failure::usage(format!(
                    "`{key}` is {seconds}; it must be between 0 and 86400"
                )));
            }
        }
        server.check_connections()?;
        if server.compute_queue == 0 {
            return Err(Failure::usage(
                "`compute_queue` is 0; it must be at least 1",
            ));
        }
        if server.heartbeat_seconds == 0 {
            return Err(Failure::usage(
                "`heartbeat_seconds` is 0; it must be at least 1",
            ));
        }
        if server.calls_per_second == Some(0) {
            return Err(
                Failure::usage("`calls_per_second` is 0, which would refuse every call")
                    .hint("remove it for no limit"),
            );
        }
        self.scripts.check()?;
        if self.events.emits_per_second == 0 {
            return Err(Failure::usage(
                "`emits_per_second` is 0, which would refuse every event",
            ));
        }
        self.events.check()
    }
}

impl Events {
    fn check(&self) -> Result<(), Failure> {
        for (key, slots) in [
            ("webhook_slots", self.webhook_slots),
            ("script_slots", self.script_slots),
            ("method_slots", self.method_slots),
        ] {
            if !(4..=65_536).contains(&slots) {
                return Err(Failure::usage(format!(
                    "`{key}` is {slots}; it must be between 4 and 65536"
                )));
            }
        }
        Ok(())
    }
}

impl Server {
    fn check_connections(&self) -> Result<(), Failure> {
        if self.max_connections == 0 {
            return Err(Failure::usage(
                "`max_connections` is 0, which would refuse every connection",
            ));
        }
        if !(0.1..=3_600.0).contains(&self.head_seconds) {
            return Err(Failure::usage(format!(
                "`head_seconds` is {}; it must be between 0.1 and 3600",
                self.head_seconds
            )));
        }
        if self.max_unfinished_body_bytes < UNFINISHED_BODY_BYTES_MIN {
            return Err(Failure::usage(format!(
                "`max_unfinished_body_bytes` is {}; it must be at least {UNFINISHED_BODY_BYTES_MIN}",
                self.max_unfinished_body_bytes
            )));
        }
        Ok(())
    }
}

impl Scripts {
    fn check(&self) -> Result<(), Failure> {
        if !(0.1..=300.0).contains(&self.timeout_seconds) {
            return Err(Failure::usage(format!(
                "`timeout_seconds` of scripts is {}; it must be between 0.1 and 300",
                self.timeout_seconds
            )));
        }
        if !(16..=65_536).contains(&self.memory_mb) {
            return Err(Failure::usage(format!(
                "`memory_mb` of scripts is {}; it must be between 16 and 65536",
                self.memory_mb
            )));
        }
        Ok(())
    }
}

/// The configuration file and its text.
struct File {
    path: PathBuf,
    text: String,
}

/// A file that the user names is used without further checks. A file that is found must not be
/// writable by other users: the current folder can belong to one of them.
fn find_file(flag: Option<&Path>, environment: &Environment) -> Result<Option<File>, Failure> {
    let named = flag
        .map(Path::to_owned)
        .or_else(|| environment.get(env::CONFIG).map(PathBuf::from));
    let unreadable = |path: &Path, error: std::io::Error| {
        let name = path.display();
        Failure::usage(format!("cannot read the configuration file `{name}`")).why(error)
    };
    if let Some(path) = named {
        let path = environment.absolute(&path);
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        return Ok(Some(File { path, text }));
    }
    let here = environment.working_folder.join(FILE_NAME);
    let home = environment.config_folder().ok();
    for path in [Some(here), home.map(|folder| folder.join(FILE_NAME))]
        .into_iter()
        .flatten()
        .filter(|path| path.is_file())
    {
        match read_found(&path).map_err(|error| unreadable(&path, error))? {
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
