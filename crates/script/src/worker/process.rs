//! The parent's handle for one worker process.
//!
//! Every failure of the process becomes an error of its script. Dropping the handle kills the
//! process, even in the middle of its work.

use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{Instant, timeout},
};

use super::{
    JobHost,
    protocol::{
        self, FromWorker, LENGTH_BYTES, SANDBOX_FRAME_BYTES_MAX, SPACE_FRAME_BYTES_MAX, ToWorker,
    },
    request_limit::{ExchangeEnd, RequestLimit},
    stderr_tail::StderrTail,
};
use crate::{ErrorKind, Raise, ScriptError, Source, Stream};

/// Time for a worker to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for a killed process to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The allocator reserves memory in steps of this many KiB. With mimalloc's default of 1 GiB, the
/// limit on the address space would measure reservations instead of use.
const ALLOCATOR_STEP: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32768");
/// Variables for workers only. Processes that a worker starts do not get them.
pub(crate) const WORKER_VARIABLES: &[&str] = &[ALLOCATOR_STEP.0];

/// How to start a worker: this binary, with the arguments that make it a worker.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

/// Environment and folder of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerEnvironment {
    /// No variables of the parent, and the root folder: for sandboxed work.
    Nothing,
    /// The variables and the folder of the parent: for the user's own handlers.
    Inherited,
}

/// How long a piece of work may take.
#[derive(Clone, Copy, Debug)]
pub struct WorkTimeout {
    /// Wall-clock time, including waiting for the host.
    pub time: Option<Duration>,
    /// A worker that does not stop at the time limit is killed after this additional time.
    pub kill_after: Duration,
}

/// The host of work that makes no calls.
pub struct NoHost;

impl JobHost for NoHost {
    async fn library(&self, _: &str) -> Result<Option<Source>, Raise> {
        Ok(None)
    }

    async fn call(&self, operation: &str, _: &str) -> Result<String, Raise> {
        Err(Raise::runtime(format!(
            "`{operation}` is not available here"
        )))
    }
}

#[derive(Debug)]
pub struct Worker {
    /// Kills the processes of the worker's scripts, before the worker itself is dropped.
    group: Group,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The maximum size of a frame.
    bytes_max: usize,
    stderr: StderrTail,
    warning: Option<String>,
    /// Whether the worker cannot do more work: it is starting or working, its last script hit a
    /// limit or made the engine fail, or the last exchange of messages ended early.
    busy: bool,
}

impl Worker {
    /// Starts a worker and waits until its limits are set.
    pub async fn start(
        program: &Program,
        environment: WorkerEnvironment,
    ) -> Result<Self, ScriptError> {
        let failed = |error: io::Error| {
            let path = program.path.display();
            ScriptError::worker(format!(
                "cannot start a process for scripts (`{path}`): {error}"
            ))
        };
        let mut child = command(program, environment).spawn().map_err(failed)?;
        let gone = || failed(io::ErrorKind::BrokenPipe.into());
        let mut worker = Self {
            input: child.stdin.take().ok_or_else(gone)?,
            output: BufReader::new(child.stdout.take().ok_or_else(gone)?),
            stderr: StderrTail::of(child.stderr.take().ok_or_else(gone)?),
            group: Group::of(&child, environment),
            bytes_max: match environment {
                WorkerEnvironment::Nothing => SANDBOX_FRAME_BYTES_MAX,
                WorkerEnvironment::Inherited => SPACE_FRAME_BYTES_MAX,
            },
            child,
            warning: None,
            busy: true,
        };
        match timeout(START_TIMEOUT, worker.read()).await {
            Ok(Ok(FromWorker::Ready { warning })) => {
                worker.warning = warning;
                worker.busy = false;
                Ok(worker)
            }
            Ok(Err(ExchangeEnd::Closed)) => Err(worker.explain_end(None).await),
            // Dropping the worker kills it.
            Ok(_) => Err(ScriptError::worker(
                "a process for scripts sent an unexpected first message",
            )),
            Err(_) => {
                worker.kill().await;
                let seconds = START_TIMEOUT.as_secs();
                Err(ScriptError::worker(format!(
                    "a process for scripts was not ready within {seconds} s"
                )))
            }
        }
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// The part of the worker's confinement that this machine does not support.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Whether the worker can do another piece of work.
    pub fn is_usable(&mut self) -> bool {
        !self.busy && matches!(self.child.try_wait(), Ok(None))
    }

    /// Does a piece of work. Kills the worker if the work exceeds its time, makes too many requests
    /// to the host, or sends a message that cannot be read.
    pub async fn run(
        &mut self,
        work: &ToWorker,
        host: &impl JobHost,
        print: impl FnMut(Stream, &str) + Send,
        patience: WorkTimeout,
    ) -> Result<Option<String>, ScriptError> {
        self.busy = true;
        let start = Instant::now();
        let kill_at = patience.time.map(|time| start + time + patience.kill_after);
        let host_until = patience.time.map(|time| start + time);
        let exchange = self.exchange(work, host, print, host_until);
        let ended = match kill_at {
            Some(at) => tokio::time::timeout_at(at, exchange)
                .await
                .unwrap_or(Err(ExchangeEnd::TimeLimit)),
            None => exchange.await,
        };
        match ended {
            Ok(done) => {
                self.busy = done.as_ref().is_err_and(|error| is_limit(&error.kind));
                done
            }
            Err(ExchangeEnd::TimeLimit) => {
                self.kill().await;
                Err(out_of_time(patience.time.unwrap_or_default()))
            }
            Err(ExchangeEnd::TooManyRequests) => {
                self.kill().await;
                let text = "the script made too many calls to its host";
                Err(ScriptError::bare(ErrorKind::HostCallLimit, text))
            }
            Err(ExchangeEnd::Unsendable(error)) => {
                // Nothing was sent, so the worker is still usable.
                self.busy = false;
                Err(ScriptError::worker(format!(
                    "the script and its params are too large for a worker: {error}"
                )))
            }
            Err(ExchangeEnd::InvalidMessage(error)) => {
                self.kill().await;
                Err(ScriptError::worker(format!(
                    "the process of the script was killed: its message could not be read ({error})"
                )))
            }
            Err(ExchangeEnd::Closed) => Err(self.explain_end(work.memory_bytes()).await),
        }
    }

    /// Kills the worker and waits for its end.
    pub async fn stop(mut self) {
        self.kill().await;
    }

    async fn exchange(
        &mut self,
        work: &ToWorker,
        host: &impl JobHost,
        mut print: impl FnMut(Stream, &str) + Send,
        host_until: Option<Instant>,
    ) -> Result<Result<Option<String>, ScriptError>, ExchangeEnd> {
        let bytes_max = self.bytes_max;
        let frame = protocol::encode(work, bytes_max).map_err(ExchangeEnd::Unsendable)?;
        self.input.write_all(&frame).await.map_err(pipe_closed)?;
        let mut requests = RequestLimit::of(work, host_until);
        loop {
            let answer = match self.read().await? {
                FromWorker::Done(done) => return Ok(done),
                FromWorker::Print { stream, text } => {
                    print(stream, &text);
                    continue;
                }
                FromWorker::Progress(progress) => {
                    requests.within(host.progress(&progress)).await?;
                    continue;
                }
                FromWorker::Library { module } => {
                    requests.count()?;
                    ToWorker::LibraryAnswer(requests.within(host.library(&module)).await?)
                }
                FromWorker::Call {
                    operation,
                    argument,
                } => {
                    requests.count()?;
                    let answer = requests.within(host.call(&operation, &argument)).await?;
                    ToWorker::Answer(answer.map(Some))
                }
                FromWorker::Ready { .. } => {
                    return Err(ExchangeEnd::InvalidMessage(
                        io::ErrorKind::InvalidData.into(),
                    ));
                }
            };
            let frame = protocol::encode(&answer, bytes_max).or_else(|error| {
                let raise = Raise::runtime(format!("the answer is too large: {error}"));
                protocol::encode(&ToWorker::Answer(Err(raise)), bytes_max)
            });
            let frame = frame.map_err(ExchangeEnd::InvalidMessage)?;
            self.input.write_all(&frame).await.map_err(pipe_closed)?;
        }
    }

    async fn read(&mut self) -> Result<FromWorker, ExchangeEnd> {
        self.read_frame().await.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ExchangeEnd::Closed,
            _ => ExchangeEnd::InvalidMessage(error),
        })
    }

    async fn read_frame(&mut self) -> io::Result<FromWorker> {
        let mut prefix = [0; LENGTH_BYTES];
        self.output.read_exact(&mut prefix).await?;
        let length = protocol::decode_length(prefix, self.bytes_max)?;
        // The buffer grows with the received bytes, so that a false length allocates no memory.
        let mut body = Vec::new();
        (&mut self.output)
            .take(length as u64)
            .read_to_end(&mut body)
            .await?;
        if body.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        protocol::decode(&body)
    }

    async fn kill(&mut self) -> Option<ExitStatus> {
        self.group.kill();
        // An error means that the process has ended already.
        let _ = self.child.start_kill();
        timeout(END_TIMEOUT, self.child.wait()).await.ok()?.ok()
    }

    /// The reason why the process ended.
    async fn explain_end(&mut self, memory_bytes: Option<usize>) -> ScriptError {
        // The worker has closed a pipe, so it is about to end by itself. If it does not, kill it.
        let status = match timeout(END_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            _ => self.kill().await,
        };
        self.group.kill();
        let end = self.stderr.last(END_TIMEOUT).await;
        if end.out_of_memory {
            return out_of_memory(memory_bytes);
        }
        let how = status.map_or("does not end".to_owned(), |status| status.to_string());
        match end.line {
            Some(line) => {
                ScriptError::worker(format!("the process of the script ended ({how}): {line}"))
            }
            None => ScriptError::worker(format!("the process of the script ended ({how})")),
        }
    }
}

/// The process group of a worker that may start processes. They are killed with the worker.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child, environment: WorkerEnvironment) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Self(leader.filter(|_| environment == WorkerEnvironment::Inherited))
    }

    /// Kills the group, also after the worker has ended: the system does not reuse the group's id
    /// while one of its processes runs.
    fn kill(&mut self) {
        if let Some(leader) = self.0.take() {
            // An error means that the group has ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn pipe_closed(_: io::Error) -> ExchangeEnd {
    ExchangeEnd::Closed
}

fn command(program: &Program, environment: WorkerEnvironment) -> Command {
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    match environment {
        WorkerEnvironment::Nothing => command.env_clear().current_dir("/"),
        WorkerEnvironment::Inherited => command.process_group(0),
    };
    command.env(ALLOCATOR_STEP.0, ALLOCATOR_STEP.1);
    command
}

fn is_limit(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TimeLimit
            | ErrorKind::MemoryLimit
            | ErrorKind::HostCallLimit
            | ErrorKind::Worker
    )
}

fn out_of_time(time: Duration) -> ScriptError {
    let text = format!("the script ran longer than {} s", time.as_secs_f64());
    ScriptError::bare(ErrorKind::TimeLimit, text)
}

fn out_of_memory(memory_bytes: Option<usize>) -> ScriptError {
    let text = match memory_bytes {
        Some(bytes) => format!("the script used more than {} MiB", bytes / (1024 * 1024)),
        None => "the script used more memory than allowed".to_owned(),
    };
    ScriptError::bare(ErrorKind::MemoryLimit, text)
}
