//! A server process with its own data folder, port and home.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    http::{Answer, Http},
    process::Process,
    program::{Cli, bare_command, under},
    user::TestUser,
};

pub const ADMIN_PASSWORD: &str = "correct horse battery";

/// A server that a profiler runs is slow.
const START_LIMIT: Duration = Duration::from_secs(90);

/// A file of `crates/testkit/fixtures`.
pub fn fixture_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

/// Where a server answers; what users and spaces need to know of it.
#[derive(Clone)]
pub(crate) struct Site {
    pub url: String,
    pub home: PathBuf,
}

impl Site {
    pub fn http(&self) -> Http {
        Http::to_url(&self.url)
    }

    pub async fn login(&self, username: &str, password: &str) -> String {
        let answer = self.try_login(username, password).await.expect(200);
        let cookie = answer.header("set-cookie").expect("a login sets a cookie");
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    pub async fn try_login(&self, username: &str, password: &str) -> Answer {
        let body = json!({"username": username, "password": password}).to_string();
        let request = Request::post("/api/auth/login")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .expect("well-formed");
        self.http().send(request).await
    }
}

pub struct TestServerBuilder {
    server_config: String,
    /// Tables beside `[server]` and `[spaces]`.
    more_config: BTreeMap<String, String>,
    allow_local: bool,
    admin_password: Option<&'static str>,
    env: Vec<(String, String)>,
    args: Vec<String>,
    tool: Vec<String>,
}

pub struct TestServer {
    process: Process,
    builder: TestServerBuilder,
    site: Site,
    folder: TempDir,
}

impl TestServerBuilder {
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

    /// Lets webhooks go to receivers of the test.
    pub fn allow_loopback_webhooks(self) -> Self {
        self.config_table("webhooks", "allow = [\"127.0.0.0/8\"]")
    }

    /// Waits between attempts, in seconds.
    pub fn retries(self, after_first: f64, after_second: f64) -> Self {
        let lines = format!(
            "retry_first_seconds = {after_first:?}\nretry_second_seconds = {after_second:?}"
        );
        self.config_table("events", &lines)
    }

    /// Lets spaces of runtime `local` run.
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
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// Runs the server by another program: a profiler, say.
    pub fn under(mut self, tool: &[&str]) -> Self {
        self.tool = tool.iter().map(|&word| word.to_owned()).collect();
        self
    }

    pub async fn start(self) -> TestServer {
        let folder = TempDir::with_prefix("svc-test-").expect("a temporary folder can be made");
        let home = folder.path().join("home");
        std::fs::create_dir(&home).expect("a fresh folder takes a folder");
        let more: String = self
            .more_config
            .iter()
            .map(|(name, lines)| format!("\n[{name}]\n{lines}"))
            .collect();
        let config = format!(
            "[server]\n{}\n[spaces]\nallow_local = {}\n{}",
            self.server_config, self.allow_local, more
        );
        std::fs::write(folder.path().join("svc.toml"), config)
            .expect("a fresh folder takes a file");
        let (process, url) = launch(&self, folder.path(), "127.0.0.1:0").await;
        TestServer {
            process,
            builder: self,
            site: Site { url, home },
            folder,
        }
    }
}

/// Starts the process and waits for the address it listens on.
async fn launch(builder: &TestServerBuilder, folder: &Path, listen: &str) -> (Process, String) {
    let mut command = command(builder, folder, &folder.join("data"), listen);
    if !builder.tool.is_empty() {
        let tool: Vec<&str> = builder.tool.iter().map(String::as_str).collect();
        command = under(&tool, &command);
    }
    let mut process = Process::spawn("server", command);
    let url = wait_for_address(&mut process).await;
    (process, url)
}

/// Waits until a server says where it listens.
pub async fn wait_for_address(server: &mut Process) -> String {
    let line = server.wait_for_log("listening on http", START_LIMIT).await;
    let start = line.rfind("http").expect("the line was found by it");
    line[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "[]:/.-".contains(*c))
        .collect()
}

fn command(builder: &TestServerBuilder, folder: &Path, data_dir: &Path, listen: &str) -> Command {
    let mut command = bare_command(&folder.join("home"));
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

impl TestServer {
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    pub fn builder() -> TestServerBuilder {
        TestServerBuilder {
            server_config: String::new(),
            more_config: BTreeMap::new(),
            allow_local: false,
            admin_password: Some(ADMIN_PASSWORD),
            env: Vec::new(),
            args: Vec::new(),
            tool: Vec::new(),
        }
    }

    pub fn url(&self) -> &str {
        &self.site.url
    }

    pub fn http(&self) -> Http {
        self.site.http()
    }

    /// Where agents of the test's own making connect to.
    pub fn address(&self) -> SocketAddr {
        match self.http() {
            Http::Tcp(address) => address,
            Http::Unix(_) => unreachable!("a server's URL is not a path"),
        }
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder of this test for files of its own; the home of everybody in it.
    pub fn home(&self) -> &Path {
        &self.site.home
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    pub fn log(&self) -> String {
        self.process.stderr()
    }

    /// The command that starts a second server as this one was, on another data folder or, to
    /// see it refused, on the same.
    pub fn second_server(&self, data_dir: &Path) -> Command {
        command(&self.builder, self.folder.path(), data_dir, "127.0.0.1:0")
    }

    /// `svc` as this user.
    pub fn cli(&self, user: &TestUser) -> Cli {
        self.anonymous_cli()
            .env("SVC_URL", self.url())
            .env("SVC_TOKEN", &user.token)
    }

    /// `svc` as nobody.
    pub fn anonymous_cli(&self) -> Cli {
        Cli::new(self.home())
    }

    /// The first administrator, with a fresh token.
    pub async fn admin(&self) -> TestUser {
        self.known_user("admin", ADMIN_PASSWORD).await
    }

    /// A new user with the built-in role `user`.
    pub async fn user(&self, name: &str) -> TestUser {
        self.user_with(name, &["user"], &[]).await
    }

    /// A new user with these roles and groups, which exist.
    pub async fn user_with(&self, name: &str, roles: &[&str], groups: &[&str]) -> TestUser {
        let admin = self.admin().await;
        let password = format!("password of {name}");
        let body =
            json!({"username": name, "password": password, "roles": roles, "groups": groups});
        admin.post("/api/users", body).await.expect(201);
        self.known_user(name, &password).await
    }

    /// Creates groups.
    pub async fn groups(&self, names: &[&str]) -> Vec<Value> {
        let admin = self.admin().await;
        let mut groups = Vec::new();
        for name in names {
            let answer = admin.post("/api/groups", json!({ "name": name })).await;
            groups.push(answer.expect(201).json());
        }
        groups
    }

    /// Creates a role.
    pub async fn role(&self, name: &str, permissions: &[&str]) -> Value {
        let body = json!({"name": name, "permissions": permissions});
        self.admin()
            .await
            .post("/api/roles", body)
            .await
            .expect(201)
            .json()
    }

    pub async fn try_login(&self, username: &str, password: &str) -> Answer {
        self.site.try_login(username, password).await
    }

    /// Logs in and makes an unrestricted token.
    async fn known_user(&self, name: &str, password: &str) -> TestUser {
        let cookie = self.site.login(name, password).await;
        let request = Request::post("/api/tokens")
            .header("content-type", "application/json")
            .header("cookie", &cookie)
            .body(Full::new(Bytes::from(r#"{"name":"testkit"}"#)))
            .expect("well-formed");
        let token = self.http().send(request).await.expect(201).json();
        let mut user = TestUser {
            id: String::new(),
            name: name.to_owned(),
            password: password.to_owned(),
            token: token["token"].as_str().unwrap_or_default().to_owned(),
            site: self.site.clone(),
        };
        let me = user.get("/api/auth/me").await.expect(200).json();
        user.id = me["id"].as_str().unwrap_or_default().to_owned();
        user
    }

    pub async fn terminate(&mut self) -> ExitStatus {
        self.process.terminate().await
    }

    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Starts again after it ended, on the same address and data.
    pub async fn start_again(&mut self) {
        let listen = self.site.url.replace("http://", "");
        let (process, url) = launch(&self.builder, self.folder.path(), &listen).await;
        assert_eq!(url, self.site.url);
        self.process = process;
    }

    /// Changes the database behind the server's back, between two runs of it: for what takes
    /// days, or another version, to happen by itself.
    pub async fn edit_database(&mut self, sql: &str) {
        let status = self.terminate().await;
        assert_eq!(status.code(), Some(0), "{}", self.log());
        let database = rusqlite::Connection::open(self.data_dir().join("svc.db"))
            .expect("the database is where it should be");
        database
            .execute_batch(sql)
            .expect("the statement fits the schema");
    }

    /// Lets a token be over, and starts the server again.
    pub async fn expire_token(&mut self, id: &str) {
        self.edit_database(&format!(
            "UPDATE api_tokens SET expires_at = 1000 WHERE id = '{id}'"
        ))
        .await;
        self.start_again().await;
    }

    /// SIGTERM, exit 0, start again.
    pub async fn restart(&mut self) {
        let status = self.terminate().await;
        assert_eq!(status.code(), Some(0), "{}", self.log());
        self.start_again().await;
    }
}

impl Drop for TestServer {
    /// Every test checks on its way out that SIGTERM ends a server with 0.
    fn drop(&mut self) {
        let ended = self.process.terminate_blocking();
        if std::thread::panicking() {
            return;
        }
        match ended {
            None => {}
            Some(Ok(status)) => {
                assert_eq!(
                    status.code(),
                    Some(0),
                    "SIGTERM ends a server with 0:\n{}",
                    self.log()
                );
            }
            Some(Err(why)) => panic!("{why}"),
        }
    }
}
