//! One process of a method server: its start, its pipes, its end.
//!
//! The process leads a process group. Dropping a [`Process`] kills the whole group.

use std::{collections::VecDeque, io, os::unix::process::ExitStatusExt, sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use rustix::process::Signal;
use svc_protocol::jsonrpc::LINE_BYTES_MAX;
use thiserror::Error;
use tokio::{
    io::AsyncRead,
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    framing::{ChildLine, LineReader},
    pipe::PipeEnd,
    program::Program,
    shared::{Shared, Stdin},
    stdin,
};
use crate::{child::ProcessGroup, packages::PythonPath, policy::Policy};

/// Lines of stderr shown after a failed start.
const TAIL_LINES: usize = 20;
/// If a line of stderr is longer than this, only its size is logged.
const STDERR_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Error)]
pub enum StartError {
    #[error("the method server could not be started: {0}")]
    Spawn(#[source] io::Error),
    #[error("the method server ended at once ({how}){}", tail(stderr))]
    Ended { how: String, stderr: Vec<String> },
}

fn tail(stderr: &[String]) -> String {
    if stderr.is_empty() {
        return "; it wrote nothing to stderr".to_owned();
    }
    format!("; its last lines on stderr:\n  {}", stderr.join("\n  "))
}

/// The pipes of a program that was just started.
pub struct Pipes<O, E> {
    pub stdin: PipeEnd,
    pub stdout: O,
    pub stderr: E,
}

pub struct Process {
    program: Program,
    id: u32,
    /// The tasks that read stdout and stderr, and the task that writes stdin.
    tasks: JoinSet<()>,
    /// Cancelled when stdout ends or writing stdin fails: then the process cannot answer calls.
    broken: CancellationToken,
    stderr_tail: Arc<Mutex<VecDeque<String>>>,
    stop_output: Duration,
    /// Prevents the removal of the Python packages' files while the process runs.
    _packages: PythonPath,
}

impl Process {
    pub fn spawn(shared: &Arc<Shared>) -> Result<Self, StartError> {
        #[cfg(test)]
        if let Some(programs) = &shared.services.simulated {
            let started = programs.start(&shared.setup).map_err(StartError::Spawn)?;
            let packages = PythonPath(Vec::new());
            let (program, pipes) = (Program::Simulated(started.program), started.pipes);
            return Ok(Self::begin(shared, program, started.id, packages, pipes));
        }
        let mut command = shared.setup.launch.command();
        let packages = shared.services.packages.python_path();
        packages.put(&mut command);
        let mut child = command.spawn().map_err(StartError::Spawn)?;
        let id = child.id().expect("a child just spawned has an id");
        let group = ProcessGroup::led_by(&child, &shared.services.guard);
        let stdin = child.stdin.take().expect("stdin is piped");
        let pipes = Pipes {
            stdin: PipeEnd::new(stdin).map_err(StartError::Spawn)?,
            stdout: child.stdout.take().expect("stdout is piped"),
            stderr: child.stderr.take().expect("stderr is piped"),
        };
        let program = Program::Process { group, child };
        Ok(Self::begin(shared, program, id, packages, pipes))
    }

    /// Starts to exchange lines with a program.
    fn begin<O, E>(
        shared: &Arc<Shared>,
        program: Program,
        id: u32,
        packages: PythonPath,
        pipes: Pipes<O, E>,
    ) -> Self
    where
        O: AsyncRead + Unpin + Send + 'static,
        E: AsyncRead + Unpin + Send + 'static,
    {
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        let broken = CancellationToken::new();
        let stderr_tail = Arc::default();
        let work = Arc::new(Notify::new());
        // Call this before the writer starts: a writer ends if `shared` does not hold its `Stdin`.
        shared.process_up(
            id,
            Stdin {
                work: Arc::clone(&work),
                is_parked: false,
                is_writing: false,
            },
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(write_stdin(stdin, Arc::clone(shared), work, broken.clone()));
        tasks.spawn(read_stdout(stdout, Arc::clone(shared), broken.clone()));
        tasks.spawn(read_stderr(
            stderr,
            Arc::clone(shared),
            Arc::clone(&stderr_tail),
        ));
        Self {
            program,
            id,
            tasks,
            broken,
            stderr_tail,
            stop_output: shared.services.policy.stop_output,
            _packages: packages,
        }
    }

    /// Fails if the process ends within `span`, before it reports that it is ready.
    pub async fn check_start(&mut self, span: Duration, shared: &Shared) -> Result<(), StartError> {
        tokio::select! {
            biased;
            () = self.wait_until_ended() => {}
            () = shared.ready.cancelled() => return Ok(()),
            () = sleep(span) => return Ok(()),
        }
        shared.process_down();
        let how = self.end().await;
        Err(StartError::Ended {
            how,
            stderr: self.stderr_tail.lock().drain(..).collect(),
        })
    }

    /// Waits until the process has exited or cannot answer calls.
    pub async fn wait_until_ended(&mut self) {
        tokio::select! {
            biased;
            _ = self.program.wait() => {}
            () = self.broken.cancelled() => {}
        }
    }

    /// Kills the group, reads the rest of its output, and returns how the process ended. Call
    /// [`Shared::process_down`] first, which closes stdin.
    pub async fn end(&mut self) -> String {
        let was_broken = self.broken.is_cancelled();
        self.program.kill();
        let status = self.program.wait().await;
        let reading = async { while self.tasks.join_next().await.is_some() {} };
        // Limit the time, because a process that left the group may hold a pipe open.
        if timeout(self.stop_output, reading).await.is_err() {
            self.tasks.shutdown().await;
        }
        match status {
            // Most likely the process closed a pipe, and then this function killed it. A process
            // that another program killed with SIGKILL looks the same.
            Ok(status) if was_broken && status.signal() == Some(Signal::KILL.as_raw()) => {
                "it closed its stdin or stdout".to_owned()
            }
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Waits for the process to exit after the caller has closed stdin. If the process does not
    /// exit in time, sends SIGTERM. Finally kills the whole group.
    pub async fn stop(&mut self, policy: &Policy) {
        let waiting = self.program.wait();
        if timeout(policy.stop_stdin, waiting).await.is_err() {
            self.program.terminate();
            let waiting = self.program.wait();
            if timeout(policy.stop_term, waiting).await.is_err() {
                tracing::warn!(
                    group = self.id,
                    "a method server ignores SIGTERM and is killed"
                );
            }
        }
        self.end().await;
    }
}

async fn write_stdin(
    stdin: PipeEnd,
    shared: Arc<Shared>,
    work: Arc<Notify>,
    broken: CancellationToken,
) {
    if stdin::write(stdin, &shared, &work).await.is_err() {
        broken.cancel();
    }
}

async fn read_stdout(
    stdout: impl AsyncRead + Unpin,
    shared: Arc<Shared>,
    broken: CancellationToken,
) {
    let _broken = broken.drop_guard();
    let mut lines = LineReader::new(stdout, LINE_BYTES_MAX);
    // When the next held progress report may be sent.
    let mut held_until: Option<Instant> = None;
    loop {
        // If the link is slow, leave the output in the pipe, which slows down the method server.
        shared.services.outbox.room().await;
        let line = match held_until {
            None => lines.next().await,
            Some(until) => match before_deadline(until, lines.next()).await {
                Some(line) => line,
                None => {
                    held_until = shared.send_held_reports(Instant::now());
                    continue;
                }
            },
        };
        match line {
            Ok(Some(ChildLine::Whole(line))) => {
                held_until = held_until.into_iter().chain(shared.handle_line(&line)).min();
            }
            Ok(Some(ChildLine::TooLong(bytes))) => shared.services.log.agent(&format!(
                "the method server wrote a line of {bytes} bytes; at most {LINE_BYTES_MAX} are allowed, so the line is discarded"
            )),
            Ok(None) | Err(_) => return,
        }
    }
}

/// The output of the future, or `None` after the deadline. Checks the deadline before it polls the
/// future: otherwise a future that is always ready would never time out.
async fn before_deadline<T>(until: Instant, future: impl Future<Output = T>) -> Option<T> {
    if until <= Instant::now() {
        return None;
    }
    timeout_at(until, future).await.ok()
}

async fn read_stderr(
    stderr: impl AsyncRead + Unpin,
    shared: Arc<Shared>,
    tail: Arc<Mutex<VecDeque<String>>>,
) {
    let mut lines = LineReader::new(stderr, STDERR_BYTES_MAX);
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            ChildLine::Whole(line) => line,
            ChildLine::TooLong(bytes) => Bytes::from(format!("(a line of {bytes} bytes)")),
        };
        shared.services.log.stderr(&line);
        let mut tail = tail.lock();
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        let text = String::from_utf8_lossy(&line);
        tail.push_back(text.trim_end().chars().take(500).collect());
    }
}
