//! Spaces that the server runs itself. Their agents are child processes, restarted when they exit
//! and stopped with the server. Such a space runs code on the server's machine, so it requires
//! `spaces.allow_local` and an owner with `manage_spaces`.

use std::{
    collections::HashMap,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::{
    SpaceId, UserId,
    text::{LOGGED_BYTES_MAX, shorten},
};
use svc_private::{FolderError, FolderKind, own_folder};
use svc_protocol::env;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdin, Command},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::agent_tokens;
use crate::{identity::Identity, records::RecordError};

/// Folder in the data folder with one folder per space.
const FOLDER: &str = "spaces";
/// A registration file of this name in a space's folder is registered when its agent starts.
pub const METHODS_FILE: &str = "methods.toml";
/// How long an agent may take to stop before it is killed.
const STOP_MAX: Duration = Duration::from_secs(15);
/// Like `STOP_MAX`, for an agent whose space is no longer allowed to run on this server.
const STOP_SOON_MAX: Duration = Duration::from_secs(3);
/// Delay before an agent is restarted; doubles from the first value to the last.
const RESTART_FIRST: Duration = Duration::from_millis(200);
const RESTART_LAST: Duration = Duration::from_secs(30);
/// A run of this length resets the delay.
const STEADY: Duration = Duration::from_secs(60);

pub struct LocalRuntime {
    pub identity: Identity,
    /// The `svc` program.
    pub program: PathBuf,
    pub data_dir: PathBuf,
    /// The URL at which local agents reach this server; set when the server starts.
    pub server_url: OnceLock<String>,
    running: Mutex<HashMap<SpaceId, LocalAgent>>,
}

struct LocalAgent {
    owner: UserId,
    stop: StopSignals,
    supervisor: JoinHandle<()>,
}

/// Signals for the supervisor of an agent.
#[derive(Clone, Default)]
struct StopSignals {
    requested: CancellationToken,
    /// Requires the agent to stop within [`STOP_SOON_MAX`].
    soon: CancellationToken,
}

impl LocalRuntime {
    pub fn new(identity: Identity, program: PathBuf, data_dir: PathBuf) -> Arc<Self> {
        let (server_url, running) = (OnceLock::new(), Mutex::default());
        Arc::new(Self {
            identity,
            program,
            data_dir,
            server_url,
            running,
        })
    }

    pub fn folder_of(&self, space: SpaceId) -> PathBuf {
        self.data_dir.join(FOLDER).join(space.to_string())
    }

    /// Starts a space's agent, and restarts it when it exits. Does nothing while the agent is
    /// already supervised.
    pub fn start(self: &Arc<Self>, space: SpaceId, owner: UserId) {
        let mut running = self.running.lock();
        if running
            .get(&space)
            .is_some_and(|running| !running.supervisor.is_finished())
        {
            return;
        }
        let stop = StopSignals::default();
        let supervisor = tokio::spawn(Arc::clone(self).supervise((space, owner), stop.clone()));
        let started = LocalAgent {
            owner,
            stop,
            supervisor,
        };
        running.insert(space, started);
    }

    /// The spaces that run on this server, with their owners.
    pub fn running(&self) -> Vec<(SpaceId, UserId)> {
        let running = self.running.lock();
        running
            .iter()
            .map(|(&space, one)| (space, one.owner))
            .collect()
    }

    /// [`stop`](Self::stop) for a space that is no longer allowed to run on this server: its agent
    /// is killed earlier.
    pub async fn stop_soon(&self, space: SpaceId) {
        if let Some(running) = self.running.lock().get(&space) {
            running.stop.soon.cancel();
        }
        self.stop(space).await;
    }

    /// Stops a space's agent and waits for its end.
    pub async fn stop(&self, space: SpaceId) {
        let running = self.running.lock().remove(&space);
        if let Some(running) = running {
            running.stop.requested.cancel();
            let _ = running.supervisor.await;
        }
    }

    /// Stops every agent that the server runs.
    pub async fn stop_all(&self) {
        let all: Vec<_> = self
            .running
            .lock()
            .drain()
            .map(|(_, running)| running)
            .collect();
        all.iter()
            .for_each(|running| running.stop.requested.cancel());
        for running in all {
            let _ = running.supervisor.await;
        }
    }

    pub async fn remove_folder(&self, space: SpaceId) {
        match tokio::fs::remove_dir_all(self.folder_of(space)).await {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => warn!(space.id = %space, "cannot remove the folder of a space: {error}"),
        }
    }

    async fn supervise(self: Arc<Self>, of: (SpaceId, UserId), stop: StopSignals) {
        let mut backoff = RESTART_FIRST;
        while !stop.requested.is_cancelled() {
            let began = tokio::time::Instant::now();
            match self.spawn(of).await {
                Ok((child, stdin)) => run(of, child, stdin, &stop).await,
                Err(error) => {
                    error!(owner.id = %of.1, space.id = %of.0, "cannot start the agent: {error}")
                }
            }
            if began.elapsed() >= STEADY {
                backoff = RESTART_FIRST;
            }
            tokio::select! {
                () = tokio::time::sleep(backoff) => {}
                () = stop.requested.cancelled() => {}
            }
            backoff = (backoff * 2).min(RESTART_LAST);
        }
    }

    async fn spawn(
        &self,
        (space, owner): (SpaceId, UserId),
    ) -> Result<(Child, ChildStdin), SpawnError> {
        let folder = self.folder_of(space);
        own_folder(&folder, FolderKind::Chosen)?;
        // The server stores only hashes of tokens, so each start gets a new token.
        let token = agent_tokens::issue_local(&self.identity, space).await?;
        let url = self.server_url.get().ok_or(SpawnError::NotListening)?;
        let mut command = Command::new(&self.program);
        command
            .args([
                "agent",
                "start",
                "--exit-on-stdin-eof",
                "--listen",
                "127.0.0.1:0",
            ])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        // Remove the server's settings: they may contain passwords, and the agent runs methods of a
        // user.
        for (name, _) in std::env::vars_os() {
            let is_kept = name == env::LOG || name == env::AGENT_LOOPBACK;
            if name.as_encoded_bytes().starts_with(b"SVC_") && !is_kept {
                command.env_remove(name);
            }
        }
        for name in env::SERVICE_MANAGER {
            command.env_remove(name);
        }
        command.env(env::URL, url).env(env::AGENT_TOKEN, token);
        if folder.join(METHODS_FILE).exists() {
            command.args(["--methods-file", METHODS_FILE]);
        }
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().expect("stdin is configured as a pipe");
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(stderr).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let line = shorten(&line, LOGGED_BYTES_MAX);
                    info!(owner.id = %owner, space.id = %space, "agent: {line}");
                }
            });
        }
        Ok((child, stdin))
    }
}

#[derive(Debug, thiserror::Error)]
enum SpawnError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Identity(#[from] RecordError),
    #[error("the server does not listen yet")]
    NotListening,
}

/// Waits until the agent exits by itself. If `stop` requests the end of the agent first, stops the
/// agent. An agent stops when its stdin is closed, so it also stops if this process is killed.
async fn run(
    (space, owner): (SpaceId, UserId),
    mut child: Child,
    stdin: ChildStdin,
    stop: &StopSignals,
) {
    let pid = child.id();
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        () = stop.requested.cancelled() => None,
    };
    if let Some(status) = ended {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        warn!(owner.id = %owner, space.id = %space, "the agent exited unexpectedly ({status}); it will be restarted");
        return;
    }
    drop(stdin);
    let too_long = async {
        let soon = async {
            stop.soon.cancelled().await;
            tokio::time::sleep(STOP_SOON_MAX).await;
        };
        tokio::select! {
            () = tokio::time::sleep(STOP_MAX) => {}
            () = soon => {}
        }
    };
    let ended = tokio::select! {
        _ = child.wait() => true,
        () = too_long => false,
    };
    if !ended {
        warn!(owner.id = %owner, space.id = %space, "the agent did not stop in time and is killed");
        kill_group(pid);
        let _ = child.wait().await;
    }
}

fn kill_group(pid: Option<u32>) {
    let pid = pid
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // The agent may have just exited.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}
