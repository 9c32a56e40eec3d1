//! A server process with its own data folder, port and home.

mod builder;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::builder::{TestServerBuilder, wait_for_address};
use self::builder::{command, launch};
use crate::{
    http::{Answer, Http},
    process::Process,
    program::Cli,
    user::TestUser,
};

pub const ADMIN_PASSWORD: &str = "correct horse battery";

/// A file of `crates/testkit/fixtures`.
pub fn fixture_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

/// The address of a server and the home folder of its users.
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

pub struct TestServer {
    process: Process,
    builder: TestServerBuilder,
    pub(crate) site: Site,
    folder: TempDir,
}

impl TestServer {
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::new()
    }

    pub fn url(&self) -> &str {
        &self.site.url
    }

    pub fn http(&self) -> Http {
        self.site.http()
    }

    /// The address for agents that a test simulates.
    pub fn address(&self) -> SocketAddr {
        match self.http() {
            Http::Tcp(address) => address,
            Http::Unix(_) => unreachable!("a server's URL is not a path"),
        }
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The home folder of all users of this test.
    pub fn home(&self) -> &Path {
        &self.site.home
    }

    /// The process id of the server.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    pub fn log(&self) -> String {
        self.process.stderr()
    }

    /// The command that starts a second server like this one. `data_dir` is another data folder, or
    /// the same folder to check that the second server is refused.
    pub fn second_server(&self, data_dir: &Path) -> Command {
        command(&self.builder, self.folder.path(), data_dir, "127.0.0.1:0")
    }

    /// `svc` as this user.
    pub fn cli(&self, user: &TestUser) -> Cli {
        self.anonymous_cli()
            .env("SVC_URL", self.url())
            .env("SVC_TOKEN", &user.token)
    }

    /// `svc` without a credential.
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

    /// A new user with these roles and groups, which must exist.
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

    /// Logs in as a user that exists, and creates an unrestricted token.
    pub async fn known_user(&self, name: &str, password: &str) -> TestUser {
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

    /// Sends SIGTERM and does not wait for the end.
    pub fn begin_to_terminate(&self) {
        self.process.signal(Signal::TERM);
    }

    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Sends SIGSTOP. Connections stay open without responses, as if the machine hung.
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Sends SIGCONT, which resumes a frozen server.
    pub fn thaw(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Starts the server again after its end, with the same address and data.
    pub async fn start_again(&mut self) {
        let listen = self.site.url.replace("http://", "");
        let (process, url) = launch(&self.builder, self.folder.path(), &listen).await;
        assert_eq!(url, self.site.url);
        self.process = process;
    }

    /// Starts the server again after its end, with the same address and a PostgreSQL database in
    /// place of the embedded database.
    pub async fn start_again_on(&mut self, database_url: &str, secret_key: &str) {
        self.builder.use_database(database_url, secret_key);
        self.start_again().await;
    }

    /// From the next start on, sets an environment variable.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.builder.set_env(name, value);
    }

    /// From the next start on, runs the `svc` that was built with these tests.
    pub fn use_built_program(&mut self) {
        self.builder.use_built_program();
    }

    /// Stops the server and changes its database, for states that otherwise need days or another
    /// version of the server. Does not start the server again.
    pub async fn edit_database(&mut self, sql: &str) {
        let status = self.terminate().await;
        assert_eq!(status.code(), Some(0), "{}", self.log());
        svc_store::testing::edit_file(&self.data_dir().join(svc_store::DATABASE_FILE), sql);
    }

    /// Keeps the server from writing to its embedded database, until the lock is dropped.
    pub fn lock_writes(&self) -> svc_store::testing::WriteLock {
        svc_store::testing::lock_writes(&self.data_dir().join(svc_store::DATABASE_FILE))
    }

    /// Makes a token expired, and starts the server again.
    pub async fn expire_token(&mut self, id: &str) {
        self.edit_database(&format!(
            "UPDATE api_tokens SET expires_at = 1000 WHERE id = '{id}'"
        ))
        .await;
        self.start_again().await;
    }

    /// Ends the server with SIGTERM, checks the exit code 0, and starts the server again.
    pub async fn restart(&mut self) {
        let status = self.terminate().await;
        assert_eq!(status.code(), Some(0), "{}", self.log());
        self.start_again().await;
    }
}

impl Drop for TestServer {
    /// Ends the server with SIGTERM, and checks that its exit code is 0. So every test checks this.
    fn drop(&mut self) {
        // A frozen server would not get the signal.
        self.thaw();
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
