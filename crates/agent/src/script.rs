//! Runs `.py` files of the space, each in a process of the `svc` program, and logs their output.
//!
//! The agent itself never evaluates a script: if a script hangs or uses too much memory, its
//! process can be killed.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use svc_link::SpaceIdentity;
use thiserror::Error;
use tokio::{net::unix::pipe, process::Command, task::JoinSet, time::timeout};

use crate::{
    child::{ProcessGroup, withhold_credentials},
    log::SpaceLog,
    method_server::{ChildLine, LineReader, Services},
    registration::AgentAddresses,
};

/// If a line of output is longer than this, only its size is logged.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// A failure contains this many lines from the end of the output: enough for a traceback and its
/// error.
const TAIL_LINES: usize = 40;
/// The maximum number of characters of each of these lines.
const TAIL_LINE_CHARS: usize = 500;

/// Why a script failed, and the last lines of its output.
#[derive(Debug, Error)]
#[error("{cause}")]
pub struct ScriptFailure {
    pub cause: FailureCause,
    pub output: String,
}

#[derive(Debug, Error)]
pub enum FailureCause {
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("it was killed after its time limit of {} s", .0.as_secs())]
    TimeLimit(Duration),
    #[error("it failed ({0})")]
    Failed(ExitStatus),
}

impl ScriptFailure {
    pub fn exit_code(&self) -> Option<i32> {
        match &self.cause {
            FailureCause::Failed(status) => status.code(),
            _ => None,
        }
    }
}

/// The last lines of a script's output.
#[derive(Default)]
struct Tail(Mutex<VecDeque<String>>);

impl Tail {
    fn push(&self, line: &[u8]) {
        let mut lines = self.0.lock();
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        let text = String::from_utf8_lossy(line);
        lines.push_back(text.trim_end().chars().take(TAIL_LINE_CHARS).collect());
    }

    fn take(&self) -> String {
        let lines: Vec<_> = self.0.lock().drain(..).collect();
        lines.join("\n")
    }
}

/// Runs the scripts of a space.
pub struct ScriptRunner {
    /// The `svc` program.
    pub program: PathBuf,
    pub addresses: AgentAddresses,
    pub services: Services,
}

impl ScriptRunner {
    /// Runs `svc` with these arguments, which name a script. The process and its group are killed
    /// before this function returns, and also if the future is dropped.
    pub async fn run(
        &self,
        args: &[&OsStr],
        folder: &Path,
        space: &SpaceIdentity,
        limit: Duration,
    ) -> Result<(), ScriptFailure> {
        let tail = Arc::default();
        let ran = self.run_to_end(args, folder, space, limit, &tail).await;
        ran.map_err(|cause| ScriptFailure {
            cause,
            output: tail.take(),
        })
    }

    async fn run_to_end(
        &self,
        args: &[&OsStr],
        folder: &Path,
        space: &SpaceIdentity,
        limit: Duration,
        tail: &Arc<Tail>,
    ) -> Result<(), FailureCause> {
        let services = &self.services;
        let packages = &services.packages;
        packages.refresh_within(services.policy.packages_wait).await;
        let python_path = packages.python_path();
        let mut command = Command::new(&self.program);
        withhold_credentials(&mut command);
        command
            .args(args)
            .current_dir(folder)
            .envs(self.addresses.env(space))
            .stdin(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        python_path.put(&mut command);
        let failed = |source| FailureCause::Start {
            program: self.program.display().to_string(),
            source,
        };
        let output = one_pipe(&mut command).map_err(failed)?;
        let mut child = command.spawn().map_err(failed)?;
        let group = ProcessGroup::led_by(&child, &services.guard);
        // Closes the agent's copy of the pipe's write end. Otherwise the pipe would never end.
        drop(command);
        let mut reading = JoinSet::new();
        reading.spawn(copy(output, Arc::clone(&services.log), Arc::clone(tail)));
        let ended = timeout(limit, child.wait()).await;
        drop(group);
        let read = async { while reading.join_next().await.is_some() {} };
        // Limit the time, because a process that left the group may hold the pipe open.
        let _ = timeout(services.policy.stop_output, read).await;
        match ended {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(FailureCause::Failed(status)),
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => {
                // The process was killed with its group. Reap it.
                let _ = child.wait().await;
                Err(FailureCause::TimeLimit(limit))
            }
        }
    }
}

/// Uses one pipe for stdout and stderr, so that lines are logged in their order.
fn one_pipe(command: &mut Command) -> io::Result<pipe::Receiver> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    pipe::Receiver::from_owned_fd(reader.into())
}

async fn copy(output: pipe::Receiver, log: Arc<SpaceLog>, tail: Arc<Tail>) {
    let mut lines = LineReader::new(output, LINE_BYTES_MAX);
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            ChildLine::Whole(line) => line,
            ChildLine::TooLong(bytes) => format!("(a line of {bytes} bytes)").into(),
        };
        log.script(&line);
        tail.push(&line);
    }
}

#[cfg(test)]
mod tests;
