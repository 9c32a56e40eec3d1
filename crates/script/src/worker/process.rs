//! One worker process, seen from its parent.
//!
//! Whatever goes wrong with it is an error of the script it ran. It is killed when it is dropped,
//! also in the middle of its work.

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
    complaints::Complaints,
    protocol::{
        self, FromWorker, LENGTH_BYTES, SANDBOX_FRAME_BYTES_MAX, SPACE_FRAME_BYTES_MAX, ToWorker,
    },
    questions::{Break, Questions},
};
use crate::{ErrorKind, Raise, ScriptError, Source, Stream};

/// A process of ours that is not ready by then never will be.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// What a killed process may take to be gone.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory is reserved in steps of this many KiB: mimalloc's usual step of 1 GiB would have the
/// limit on the address space measure reservations instead of use.
const ALLOCATOR_STEP: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32768");
/// Variables for workers alone, which processes they start do not get.
pub(crate) const WORKER_VARIABLES: &[&str] = &[ALLOCATOR_STEP.0];

/// How a worker is started: this binary, and the arguments that make it one.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

/// What a worker finds around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surroundings {
    /// No environment, and the root folder: for sandboxed work.
    Nothing,
    /// Environment and folder of its parent: for work of the user's own.
    Inherited,
}

/// How long a piece of work may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// On the wall clock, waiting for the host included.
    pub time: Option<Duration>,
    /// A worker that does not stop by itself is killed this much later.
    pub kill_after: Duration,
}

/// The host of work that has no questions.
pub struct NoHost;

impl JobHost for NoHost {
    async fn library(&self, _: &str) -> Result<Option<Source>, Raise> {
        Ok(None)
    }

    async fn call(&self, operation: &str, _: &str) -> Result<String, Raise> {
        Err(Raise::runtime(format!("nobody answers `{operation}` here")))
    }
}

#[derive(Debug)]
pub struct Worker {
    /// Ends what the worker's scripts started, before the worker itself is dropped.
    group: Group,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Bytes of one frame.
    bytes_max: usize,
    complaints: Complaints,
    warning: Option<String>,
    /// In the middle of something: its next frame is not for the next piece of work.
    busy: bool,
}

impl Worker {
    /// Starts one and waits until its limits are set.
    pub async fn start(program: &Program, surroundings: Surroundings) -> Result<Self, ScriptError> {
        let failed = |error: io::Error| {
            let path = program.path.display();
            dead(format!(
                "a process for scripts (`{path}`) cannot start: {error}"
            ))
        };
        let mut child = command(program, surroundings).spawn().map_err(failed)?;
        let gone = || failed(io::ErrorKind::BrokenPipe.into());
        let mut worker = Self {
            input: child.stdin.take().ok_or_else(gone)?,
            output: BufReader::new(child.stdout.take().ok_or_else(gone)?),
            complaints: Complaints::of(child.stderr.take().ok_or_else(gone)?),
            group: Group::of(&child, surroundings),
            bytes_max: match surroundings {
                Surroundings::Nothing => SANDBOX_FRAME_BYTES_MAX,
                Surroundings::Inherited => SPACE_FRAME_BYTES_MAX,
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
            Ok(Err(Break::Gone)) => Err(worker.post_mortem(None).await),
            // Dropped, it is killed.
            Ok(_) => Err(dead("a process for scripts did not begin as one")),
            Err(_) => {
                worker.kill().await;
                let seconds = START_TIMEOUT.as_secs();
                Err(dead(format!(
                    "a process for scripts was not ready within {seconds} s"
                )))
            }
        }
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// What of its confinement this machine does not have.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Can it take another piece of work?
    pub fn is_usable(&mut self) -> bool {
        !self.busy && matches!(self.child.try_wait(), Ok(None))
    }

    /// Has it do a piece of work. Past its time it is killed, and so it is if this is dropped.
    pub async fn run(
        &mut self,
        work: &ToWorker,
        host: &impl JobHost,
        print: impl FnMut(Stream, &str) + Send,
        patience: Patience,
    ) -> Result<Option<String>, ScriptError> {
        self.busy = true;
        let start = Instant::now();
        let kill_at = patience.time.map(|time| start + time + patience.kill_after);
        let host_until = patience.time.map(|time| start + time);
        let exchange = self.exchange(work, host, print, host_until);
        let ended = match kill_at {
            Some(at) => tokio::time::timeout_at(at, exchange)
                .await
                .unwrap_or(Err(Break::OutOfTime)),
            None => exchange.await,
        };
        match ended {
            Ok(done) => {
                self.busy = done.as_ref().is_err_and(|error| is_limit(&error.kind));
                done
            }
            Err(Break::OutOfTime) => {
                self.kill().await;
                Err(out_of_time(patience.time.unwrap_or_default()))
            }
            Err(Break::TooManyQuestions) => {
                self.kill().await;
                let text = "the script asked its host too many questions";
                Err(ScriptError::bare(ErrorKind::HostCallLimit, text))
            }
            Err(Break::Refused(error)) => {
                // Nothing was sent: it is as good as before.
                self.busy = false;
                Err(dead(error.to_string()))
            }
            Err(Break::Garbled(error)) => {
                self.kill().await;
                Err(dead(format!(
                    "the process of the script was ended: a message of it could not be read ({error})"
                )))
            }
            Err(Break::Gone) => Err(self.post_mortem(work.memory_bytes()).await),
        }
    }

    /// Ends it and waits until it is gone.
    pub async fn stop(mut self) {
        self.kill().await;
    }

    async fn exchange(
        &mut self,
        work: &ToWorker,
        host: &impl JobHost,
        mut print: impl FnMut(Stream, &str) + Send,
        host_until: Option<Instant>,
    ) -> Result<Result<Option<String>, ScriptError>, Break> {
        let bytes_max = self.bytes_max;
        let frame = protocol::encode(work, bytes_max).map_err(Break::Refused)?;
        self.input.write_all(&frame).await.map_err(gone)?;
        let mut questions = Questions::of(work, host_until);
        loop {
            let answer = match self.read().await? {
                FromWorker::Done(done) => return Ok(done),
                FromWorker::Print { stream, text } => {
                    print(stream, &text);
                    continue;
                }
                FromWorker::Progress(progress) => {
                    questions.within(host.progress(&progress)).await?;
                    continue;
                }
                FromWorker::Library { module } => {
                    questions.count()?;
                    ToWorker::LibraryAnswer(questions.within(host.library(&module)).await?)
                }
                FromWorker::Call {
                    operation,
                    argument,
                } => {
                    questions.count()?;
                    let answer = questions.within(host.call(&operation, &argument)).await?;
                    ToWorker::Answer(answer.map(Some))
                }
                FromWorker::Ready { .. } => {
                    return Err(Break::Garbled(io::ErrorKind::InvalidData.into()));
                }
            };
            let frame = protocol::encode(&answer, bytes_max).or_else(|error| {
                let raise = Raise::runtime(format!("the answer is too large: {error}"));
                protocol::encode(&ToWorker::Answer(Err(raise)), bytes_max)
            });
            let frame = frame.map_err(Break::Garbled)?;
            self.input.write_all(&frame).await.map_err(gone)?;
        }
    }

    async fn read(&mut self) -> Result<FromWorker, Break> {
        self.read_frame().await.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Break::Gone,
            _ => Break::Garbled(error),
        })
    }

    async fn read_frame(&mut self) -> io::Result<FromWorker> {
        let mut prefix = [0; LENGTH_BYTES];
        self.output.read_exact(&mut prefix).await?;
        let length = protocol::decode_length(prefix, self.bytes_max)?;
        // Grows as bytes come: a length alone costs nothing.
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
        // An error means that it has ended by itself.
        let _ = self.child.start_kill();
        timeout(END_TIMEOUT, self.child.wait()).await.ok()?.ok()
    }

    /// Why it is gone, or what it broke off with.
    async fn post_mortem(&mut self, memory_bytes: Option<usize>) -> ScriptError {
        // Its pipes are closed: it ends by itself, or it is in a state nobody knows.
        let status = match timeout(END_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            _ => self.kill().await,
        };
        self.group.kill();
        let said = self.complaints.last(END_TIMEOUT).await;
        if said.out_of_memory {
            return out_of_memory(memory_bytes);
        }
        let how = status.map_or("does not end".to_owned(), |status| status.to_string());
        match said.line {
            Some(line) => dead(format!("the process of the script ended ({how}): {line}")),
            None => dead(format!("the process of the script ended ({how})")),
        }
    }
}

/// The processes of a worker that may start some: a handler that is killed takes them along.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child, surroundings: Surroundings) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Self(leader.filter(|_| surroundings == Surroundings::Inherited))
    }

    /// Its number is not given to others while one of them lives.
    fn kill(&mut self) {
        if let Some(leader) = self.0.take() {
            // An error means that nobody is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn gone(_: io::Error) -> Break {
    Break::Gone
}

fn command(program: &Program, surroundings: Surroundings) -> Command {
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    match surroundings {
        Surroundings::Nothing => command.env_clear().current_dir("/"),
        Surroundings::Inherited => command.process_group(0),
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
        None => "the script used more memory than it may".to_owned(),
    };
    ScriptError::bare(ErrorKind::MemoryLimit, text)
}

fn dead(text: impl Into<String>) -> ScriptError {
    ScriptError::bare(ErrorKind::Worker, text)
}
