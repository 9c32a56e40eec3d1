//! A running agent in a temporary folder.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use svc_agent::{Backoff, Error, Exit, LoopbackAccess, Options, Policy};
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

const LIMIT: Duration = Duration::from_secs(60);

pub struct TestAgent {
    pub folder: tempfile::TempDir,
    pub shutdown: CancellationToken,
    running: JoinHandle<Result<Exit, Error>>,
}

pub fn short_policy() -> Policy {
    Policy {
        reconnect_soon: Backoff::from_millis(10, 50),
        space_stopped_retry: Duration::from_millis(50),
        reregister: Backoff::from_millis(20, 50),
        // Long, because a busy test may take seconds to accept a registration on a side link.
        side_takeover: Duration::from_secs(60),
        start_check: Duration::from_millis(100),
        tick: Duration::from_millis(10),
        drain_linger: Duration::from_millis(50),
        stop_stdin: Duration::from_millis(500),
        ..Policy::default()
    }
}

impl TestAgent {
    pub fn start(server_urls: &str, methods: Option<&str>) -> Self {
        Self::start_with(server_urls, |folder, options| {
            if let Some(text) = methods {
                std::fs::write(folder.join("methods.toml"), text).expect("written");
                options.methods_file = Some("methods.toml".into());
            }
        })
    }

    /// Starts an agent after `prepare` has changed its folder and options.
    pub fn start_with(server_urls: &str, prepare: impl FnOnce(&Path, &mut Options)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = Options {
            server_urls: server_urls.to_owned(),
            agent_token: "svc_agt_test".into(),
            ca_file: None,
            listen: Some("127.0.0.1:0".parse().expect("valid")),
            loopback: LoopbackAccess::SameUser,
            socket: None,
            methods_file: None,
            replace_conflicting: false,
            require_methods: false,
            working_folder: folder.path().to_owned(),
            program: "sh".into(),
            exit_on_stdin_eof: false,
            policy: short_policy(),
        };
        prepare(folder.path(), &mut options);
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(svc_agent::run(options, shutdown.clone()));
        Self {
            folder,
            shutdown,
            running,
        }
    }

    pub async fn exit(self) -> Exit {
        let ended = timeout(LIMIT, self.running).await.expect("ends in time");
        let exit = ended.expect("does not panic").expect("ends well");
        let left = std::fs::read_dir(self.folder.path().join(".svc")).expect("there");
        assert_eq!(left.count(), 0, "the agent leaves no file behind");
        exit
    }

    /// Stops the agent and checks that it ends without an error.
    pub async fn stop(self) {
        self.shutdown.cancel();
        assert_eq!(self.exit().await, Exit::Stopped);
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn client(&self) -> svc_client::AgentClient {
        svc_client::AgentClient::new(self.path().join(".svc/agent.sock"))
    }
}

pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so().await {
        assert!(Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
