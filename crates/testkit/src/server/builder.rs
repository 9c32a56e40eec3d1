//! How a server of a test is configured and started.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use super::{ADMIN_PASSWORD, Site, TestServer};
use crate::{
    ports::free_port,
    postgres::TestPostgres,
    process::Process,
    program::{bare, svc_program, under},
};

const START_LIMIT: Duration = Duration::from_secs(60);
/// Long, because a server is slow under a profiler.
const START_LIMIT_UNDER_A_TOOL: Duration = Duration::from_secs(90);

/// 32 bytes in base64, for tests only.
const SECRET_KEY: &str = "b25lIGtleSBmb3IgdGhlIHRlc3RzIG9mIGEgem9uZS4=";

pub struct TestServerBuilder {
    server_config: String,
    /// Tables beside `[server]` and `[spaces]`.
    more_config: BTreeMap<String, String>,
    allow_local: bool,
    embedded: bool,
    admin_password: Option<&'static str>,
    env: Vec<(String, String)>,
    args: Vec<String>,
    tool: Vec<String>,
    /// The program to start, if it is not the `svc` that was built with these tests.
    program: Option<PathBuf>,
    /// The address to listen on. No other process gets its port while the server restarts.
    listen: String,
}

impl TestServerBuilder {
    pub(super) fn new() -> Self {
        Self {
            server_config: String::new(),
            more_config: BTreeMap::new(),
            allow_local: false,
            embedded: false,
            admin_password: Some(ADMIN_PASSWORD),
            // Tests make many changes at once. A test of this limit sets the variable again.
            env: vec![("SVC_CHANGES_PER_SECOND".to_owned(), "1000000".to_owned())],
            args: Vec::new(),
            tool: Vec::new(),
            program: None,
            listen: format!("127.0.0.1:{}", free_port()),
        }
    }

    /// Announces the server to the agents of its zone.
    pub fn announced(self) -> Self {
        let url = format!("http://{}", self.listen);
        self.env("SVC_ADVERTISE_URL", &url)
    }

    /// More lines for the `[server]` table of the configuration.
    pub fn config(mut self, lines: &str) -> Self {
        self.server_config.push_str(lines);
        self.server_config.push('\n');
        self
    }

    /// More lines for another table of the configuration.
    pub fn config_table(mut self, name: &str, lines: &str) -> Self {
        let table = self.more_config.entry(name.to_owned()).or_default();
        table.push_str(lines);
        table.push('\n');
        self
    }

    /// Allows webhooks to loopback addresses, where the receivers of tests listen.
    pub fn allow_loopback_webhooks(self) -> Self {
        self.config_table("webhooks", "allow = [\"127.0.0.0/8\"]")
    }

    /// Raises the quotas of a user: for tests and benchmarks of scale.
    pub fn large_quotas(self) -> Self {
        let names = ["spaces", "tokens", "scripts", "sinks", "methods", "streams"];
        let lines: String = names.map(|name| format!("{name} = 1000000\n")).concat();
        self.config_table("quotas", &lines)
    }

    /// Sets the delays between attempts, in seconds.
    pub fn retries(self, after_first: f64, after_second: f64) -> Self {
        self.env("SVC_RETRY_FIRST_SECONDS", &after_first.to_string())
            .env("SVC_RETRY_SECOND_SECONDS", &after_second.to_string())
    }

    /// Allows spaces with the runtime `local`.
    pub fn allow_local_spaces(mut self) -> Self {
        self.allow_local = true;
        self
    }

    /// Starts without any user: the server prints its one-time setup link.
    pub fn without_admin(mut self) -> Self {
        self.admin_password = None;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set_env(name, value);
        self
    }

    pub(super) fn set_env(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// Uses this database of PostgreSQL, with the key that all its servers share.
    pub fn database_url(mut self, url: &str) -> Self {
        self.use_database(url, SECRET_KEY);
        self
    }

    pub(super) fn use_database(&mut self, url: &str, secret_key: &str) {
        self.args
            .extend(["--database-url".to_owned(), url.to_owned()]);
        self.env
            .push(("SVC_SECRET_KEY".to_owned(), secret_key.to_owned()));
    }

    /// Uses the embedded database, even with `SVC_TEST_DATABASE=postgres`.
    pub fn embedded(mut self) -> Self {
        self.embedded = true;
        self
    }

    /// Starts another build of `svc`, such as an older version.
    pub fn program(mut self, program: PathBuf) -> Self {
        self.program = Some(program);
        self
    }

    pub(super) fn use_built_program(&mut self) {
        self.program = None;
    }

    /// Runs the server under another program such as a profiler.
    pub fn under(mut self, tool: &[&str]) -> Self {
        self.tool = tool.iter().map(|&word| word.to_owned()).collect();
        self
    }

    pub async fn start(self) -> TestServer {
        let builder = self.on_chosen_engine();
        builder.launch().await
    }

    /// With `SVC_TEST_DATABASE=postgres` servers use PostgreSQL where possible, so that any
    /// test can be run on it. Servers with local spaces need the embedded database.
    fn on_chosen_engine(self) -> Self {
        let chosen = std::env::var("SVC_TEST_DATABASE").is_ok_and(|engine| engine == "postgres");
        if !chosen
            || self.embedded
            || self.allow_local
            || self.args.iter().any(|arg| arg == "--database-url")
        {
            return self;
        }
        match TestPostgres::find() {
            Some(postgres) => self.database_url(&postgres.database().url),
            None => self,
        }
    }

    async fn launch(self) -> TestServer {
        let folder = TempDir::with_prefix("svc-test-").expect("a temporary folder can be made");
        let home = folder.path().join("home");
        std::fs::create_dir(&home).expect("the new folder is writable");
        let more: String = self
            .more_config
            .iter()
            .map(|(name, lines)| format!("\n[{name}]\n{lines}"))
            .collect();
        let config = format!(
            "[server]\n{}\n[spaces]\nallow_local = {}\n{}",
            self.server_config, self.allow_local, more
        );
        std::fs::write(folder.path().join("svc.toml"), config).expect("the new folder is writable");
        let (process, url) = launch(&self, folder.path(), &self.listen).await;
        TestServer {
            process,
            builder: self,
            site: Site { url, home },
            folder,
        }
    }
}

/// Starts the process and waits for the address it listens on.
pub(super) async fn launch(
    builder: &TestServerBuilder,
    folder: &Path,
    listen: &str,
) -> (Process, String) {
    let mut command = command(builder, folder, &folder.join("data"), listen);
    let mut limit = START_LIMIT;
    if !builder.tool.is_empty() {
        let tool: Vec<&str> = builder.tool.iter().map(String::as_str).collect();
        command = under(&tool, &command);
        limit = START_LIMIT_UNDER_A_TOOL;
    }
    let mut process = Process::spawn("server", command);
    let url = address_within(&mut process, limit).await;
    (process, url)
}

/// Waits until a server logs its address.
pub async fn wait_for_address(server: &mut Process) -> String {
    address_within(server, START_LIMIT).await
}

async fn address_within(server: &mut Process, limit: Duration) -> String {
    let line = server.wait_for_log("listening on http", limit).await;
    let start = line.rfind("http").expect("the line contains this text");
    line[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "[]:/.-".contains(*c))
        .collect()
}

pub(super) fn command(
    builder: &TestServerBuilder,
    folder: &Path,
    data_dir: &Path,
    listen: &str,
) -> Command {
    let program = builder.program.clone().unwrap_or_else(svc_program);
    let mut command = bare(program, &folder.join("home"));
    command
        .args(["server", "start", "--listen", listen, "--data-dir"])
        .arg(data_dir)
        .args(&builder.args)
        .env("SVC_CONFIG", folder.join("svc.toml"))
        .envs(
            builder
                .admin_password
                .map(|password| ("SVC_ADMIN_PASSWORD", password)),
        )
        .envs(builder.env.iter().cloned());
    command
}
