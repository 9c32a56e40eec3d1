//! One flow of `web/tests/browser/flows`, and the messages between the flow and its test.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::install::{Browser, folder};

/// The longest time that a test waits for a flow to pause or end. The longest flow looks at every
/// page twice, and the machine may be busy.
const FLOW_LIMIT: Duration = Duration::from_secs(900);

/// Lines of a flow that begin with this mark are for the test. All other lines are for people.
const MARK: &str = "@@ ";

pub struct Flow {
    name: &'static str,
    process: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    /// The folder with the log of the flow, and with screenshots if the flow failed.
    results: PathBuf,
}

impl Flow {
    /// Starts a flow on a server; `facts` are the values it needs besides the address.
    pub fn start(
        browser: &Browser,
        name: &'static str,
        server: &TestServer,
        facts: &Value,
    ) -> Self {
        let results = folder().join("results").join(name);
        let _ = fs::remove_dir_all(&results);
        fs::create_dir_all(&results).unwrap();
        let log = File::create(results.join("log.txt")).unwrap();
        let input = json!({
            "url": server.url(), "program": browser.program, "results": results, "facts": facts,
        });
        let mut command = Command::new("node");
        for (name, _) in std::env::vars().filter(|(name, _)| is_proxy(name)) {
            command.env_remove(name);
        }
        let mut process = command
            .arg(&browser.runner)
            .arg(name)
            .env("SVC_FLOW", input.to_string())
            .env("HOME", server.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("node was found");
        let stdin = process.stdin.take().expect("stdin is piped");
        let stdout = process.stdout.take().expect("stdout is piped");
        Self {
            name,
            process,
            stdin,
            stdout: BufReader::new(stdout).lines(),
            results,
        }
    }

    /// Waits until the flow has sent `word` and paused. Returns the values that the flow sent.
    pub async fn until(&mut self, word: &str) -> Value {
        let said = self.next().await.unwrap_or_else(|| {
            panic!(
                "{} ended before it said `{word}`:\n{}",
                self.name,
                self.log()
            )
        });
        assert_eq!(said["word"], word, "{}:\n{}", self.name, self.log());
        said["value"].clone()
    }

    /// Resumes the flow.
    pub async fn go_on(&mut self) {
        self.stdin.write_all(b"\n").await.expect("the flow waits");
    }

    /// Waits for the end of the flow, which must be a success.
    pub async fn end(mut self) {
        if let Some(said) = self.next().await {
            panic!(
                "{} waits for a word that the test does not expect: {said}",
                self.name
            );
        }
        let status = self.process.wait().await.unwrap();
        assert!(
            status.success(),
            "{} failed: {status}; see {}\n{}",
            self.name,
            self.results.display(),
            self.log()
        );
    }

    async fn next(&mut self) -> Option<Value> {
        let line = async {
            while let Ok(Some(line)) = self.stdout.next_line().await {
                if let Some(said) = line.strip_prefix(MARK) {
                    return Some(serde_json::from_str(said).unwrap());
                }
            }
            None
        };
        match timeout(FLOW_LIMIT, line).await {
            Ok(said) => said,
            Err(_) => panic!("{} hangs:\n{}", self.name, self.log()),
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.results.join("log.txt")).unwrap_or_default()
    }
}

/// Runs a flow during which the test does nothing.
pub async fn run(browser: &Browser, name: &'static str, server: &TestServer, facts: &Value) {
    Flow::start(browser, name, server, facts).end().await;
}

/// The credentials of a user, in the form that flows read.
pub fn credentials(user: &TestUser) -> Value {
    json!({"username": user.name, "password": user.password, "token": user.token})
}

/// Whether an environment variable names a proxy, which would get the requests of the browser.
fn is_proxy(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("_proxy")
}
