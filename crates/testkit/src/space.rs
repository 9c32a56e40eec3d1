//! A space and the agents that serve it.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    http::Http,
    process::Process,
    program::{Cli, Output, bare_command},
    user::TestUser,
    wait::{eventually, get_eventually},
};

const LINK_LIMIT: Duration = Duration::from_secs(60);

/// A space, and the folder for its agent.
pub struct TestSpace {
    pub id: String,
    pub name: String,
    pub owner: TestUser,
    pub agent_token: String,
    folder: TempDir,
}

impl TestSpace {
    pub(crate) fn new(owner: TestUser, record: &Value) -> Self {
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        Self {
            id: text("id"),
            name: text("name"),
            owner,
            agent_token: text("agent_token"),
            folder: TempDir::with_prefix("svc-space-").expect("a temporary folder can be made"),
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> String {
        format!("/api/spaces/{}", self.id)
    }

    /// Writes a file into the space's folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, text).expect("the space's folder is writable");
        path
    }

    /// The record, as the owner sees it.
    pub async fn record(&self) -> Value {
        self.owner.get(&self.path()).await.expect(200).json()
    }

    pub async fn state(&self) -> String {
        self.record().await["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub async fn wait_for_state(&self, state: &str, limit: Duration) {
        let what = format!("space `{}` is {state}", self.name);
        eventually(&what, limit, || async { self.state().await == state }).await;
    }

    pub async fn wait_for_health(&self, health: &str, limit: Duration) {
        let what = format!("space `{}` is {health}", self.name);
        eventually(&what, limit, || async {
            self.record().await["health"] == health
        })
        .await;
    }

    /// Waits for `registration.state`.
    pub async fn wait_for_registration(&self, state: &str, limit: Duration) -> Value {
        let what = format!("registration of `{}` is {state}", self.name);
        get_eventually(&what, limit, || async {
            let registration = self.record().await["registration"].clone();
            (registration["state"] == state).then_some(registration)
        })
        .await
    }

    /// The lines of its log, as the owner reads them.
    pub async fn log(&self) -> Vec<String> {
        let path = format!("{}/logs", self.path());
        let logs = self.owner.get(&path).await.expect(200).json();
        let lines = logs["logs"].as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .filter_map(|line| line["line"].as_str().map(str::to_owned))
            .collect()
    }

    /// Waits for a line of its log that contains `text`.
    pub async fn wait_for_log(&self, text: &str, limit: Duration) -> String {
        let what = format!("the log of `{}` holds `{text}`", self.name);
        get_eventually(&what, limit, || async {
            self.log()
                .await
                .into_iter()
                .find(|line| line.contains(text))
        })
        .await
    }

    /// Starts an agent and waits until it is linked.
    pub async fn agent(&self) -> TestAgent {
        self.agent_with(&[]).await
    }

    /// Starts an agent with more arguments and waits until it is linked.
    pub async fn agent_with(&self, args: &[&str]) -> TestAgent {
        let agent = self.spawn_agent(args);
        agent.wait_until_linked().await;
        self.wait_for_state("deployed", LINK_LIMIT).await;
        agent
    }

    /// Starts an agent without waiting.
    pub fn spawn_agent(&self, args: &[&str]) -> TestAgent {
        self.spawn_agent_in(self.folder(), args)
    }

    /// Starts an agent that works in another folder.
    pub fn spawn_agent_in(&self, folder: &Path, args: &[&str]) -> TestAgent {
        let mut command = self.agent_command(folder);
        command.args(["--listen", "127.0.0.1:0"]).args(args);
        self.spawn_command(folder, command)
    }

    /// Starts another agent beside a running one. The new agent has a folder of its own.
    pub fn spawn_second_agent(&self) -> TestAgent {
        let folder = self.owner.site.home.join("second");
        std::fs::create_dir(&folder).expect("only one second agent is started");
        self.spawn_agent_in(&folder, &[])
    }

    /// Starts an agent with a command of the test.
    pub fn spawn_command(&self, folder: &Path, command: Command) -> TestAgent {
        let process = Process::spawn("agent", command);
        TestAgent {
            process,
            home: self.owner.site.home.clone(),
            folder: folder.to_owned(),
        }
    }

    /// The command that starts an agent on the default port.
    pub fn agent_command(&self, folder: &Path) -> Command {
        let mut command = bare_command(&self.owner.site.home);
        command
            .args(["agent", "start"])
            .env("SVC_URL", &self.owner.site.url)
            .env("SVC_AGENT_TOKEN", &self.agent_token)
            .current_dir(folder);
        command
    }

    /// Starts an agent and publishes a registration that must be accepted.
    pub async fn publish(&self, registration: impl ToString) -> TestAgent {
        let agent = self.agent().await;
        agent.register(registration).await.expect(0);
        agent
    }
}

/// A running `svc agent start`.
pub struct TestAgent {
    process: Process,
    home: PathBuf,
    folder: PathBuf,
}

impl TestAgent {
    /// `svc` inside the space: in its folder, with no address and no token.
    pub fn cli(&self) -> Cli {
        Cli::new(&self.home).folder(&self.folder)
    }

    /// Writes a registration file and registers it.
    pub async fn register(&self, registration: impl ToString) -> Output {
        self.register_with(registration, &[]).await
    }

    pub async fn register_with(&self, registration: impl ToString, args: &[&str]) -> Output {
        std::fs::write(self.folder.join("methods.toml"), registration.to_string())
            .expect("the space's folder is writable");
        let mut all = vec!["methods", "register", "methods.toml"];
        all.extend(args);
        self.cli().run(&all).await
    }

    /// The status of the agent; `None` before it listens.
    pub async fn find_status(&self) -> Option<Value> {
        let request = http::Request::get("/status")
            .body(Default::default())
            .expect("well-formed");
        let answer = self.find_socket()?.try_send(request).await.ok()?;
        (answer.status == 200).then(|| answer.json())
    }

    pub async fn status(&self) -> Value {
        get_eventually("the agent answers on its socket", LINK_LIMIT, || {
            self.find_status()
        })
        .await
    }

    /// The contents of `.svc/agent.json`; `None` before the agent listens.
    pub fn find_discovery(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.folder.join(".svc/agent.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub async fn discovery(&self) -> Value {
        get_eventually("the agent writes .svc/agent.json", LINK_LIMIT, || async {
            self.find_discovery()
        })
        .await
    }

    fn find_socket(&self) -> Option<Http> {
        let path = self.find_discovery()?["agent_socket"].as_str()?.to_owned();
        Some(Http::Unix(path.into()))
    }

    /// The agent's Unix socket.
    pub async fn socket(&self) -> Http {
        get_eventually("the agent listens", LINK_LIMIT, || async {
            self.find_socket()
        })
        .await
    }

    pub async fn wait_until_linked(&self) {
        let linked = || async {
            let own = self
                .find_discovery()
                .is_some_and(|found| found["pid"] == self.process.id());
            own && self
                .find_status()
                .await
                .is_some_and(|status| status["linked"] == true)
        };
        let begun = std::time::Instant::now();
        while !linked().await {
            assert!(
                begun.elapsed() < LINK_LIMIT,
                "the agent is not linked after {LINK_LIMIT:?}:\n{}",
                self.log()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Process id of the method server that runs now.
    pub async fn method_server_pid(&self) -> u32 {
        get_eventually("the method server runs", LINK_LIMIT, || async {
            let status = self.find_status().await?;
            u32::try_from(status["method_server"]["pid"].as_u64()?).ok()
        })
        .await
    }

    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    pub fn log(&self) -> String {
        self.process.stderr()
    }

    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Sends SIGTERM and returns the exit status.
    pub async fn stop(&mut self) -> ExitStatus {
        self.process.terminate().await
    }
}

impl Drop for TestAgent {
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
                    "SIGTERM ends an agent with 0:\n{}",
                    self.log()
                );
            }
            Some(Err(why)) => panic!("{why}"),
        }
    }
}
