//! A seat is a task of the method server with at most one worker process. It takes one job after
//! the other, runs it in the worker, and sends the answer.
//!
//! A handler can at worst crash the worker of its seat. Then the seat answers with an error, and
//! starts a new worker for the next job.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use svc_protocol::jsonrpc::{LINE_BYTES_MAX, Progress, progress_line};
use svc_script::{
    ErrorKind, Raise, ScriptError, Source,
    worker::{
        JobHost, NoHost, Program as WorkerProgram, WorkTimeout, Worker, WorkerEnvironment,
        protocol::ToWorker,
    },
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout_at},
};

use super::{
    answers::{self, Fault},
    jobs::{Job, Jobs},
    setup::Program,
};
use crate::commands::own_script::print_to_stderr;

/// Time limit for a worker to load the program. Loading usually takes much less.
const LOAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Shared by all seats.
pub struct SeatContext {
    pub jobs: Jobs,
    pub worker: WorkerProgram,
    pub timeout_seconds: u32,
    pub working_folder: PathBuf,
}

pub struct Seat {
    shared: Arc<SeatContext>,
    program: watch::Receiver<Arc<Program>>,
    answers: mpsc::Sender<Vec<u8>>,
    worker: Option<LoadedWorker>,
}

/// A worker, and the program that it has loaded.
struct LoadedWorker {
    worker: Worker,
    program: Arc<Program>,
}

impl Seat {
    pub fn new(
        shared: Arc<SeatContext>,
        program: watch::Receiver<Arc<Program>>,
        answers: mpsc::Sender<Vec<u8>>,
    ) -> Self {
        Self {
            shared,
            program,
            answers,
            worker: None,
        }
    }

    /// Serves jobs until the queue is closed and empty.
    pub async fn run(mut self) {
        while let Some(job) = self.shared.jobs.next().await {
            let outcome = self.serve(&job).await;
            if let Err(fault) = &outcome {
                log(&job, fault, &self.shared.working_folder);
            }
            let Some(id) = &job.id else { continue };
            // An error means that stdout is closed, which ends the method server.
            let line = answers::line(&outcome, id, &self.shared.working_folder);
            let _ = self.answers.send(line).await;
        }
        if let Some(loaded) = self.worker.take() {
            loaded.worker.stop().await;
        }
    }

    async fn serve(&mut self, job: &Job) -> Result<String, Fault> {
        let timeout_seconds = self.shared.timeout_seconds;
        let timed_out = |sent| Fault::TimedOut {
            timeout_seconds,
            sent,
        };
        let until = Instant::from_std(job.arrived) + Duration::from_secs(timeout_seconds.into());
        let program = Arc::clone(&self.program.borrow());
        let host = Reporter {
            id: job.id.as_deref(),
            lines: self.answers.clone(),
        };
        let Some(handler) = program.routes.get(&job.method) else {
            return Err(Fault::MethodNotFound);
        };
        let worker = match timeout_at(until, self.ready(&program)).await {
            Ok(ready) => ready.map_err(Fault::Script)?,
            Err(_) => return Err(timed_out(false)),
        };
        let work = ToWorker::Invoke {
            handler: handler.clone(),
            params: job.params.clone().unwrap_or_else(|| "{}".to_owned()),
            trace: job.trace.clone(),
        };
        let patience = patience(until.saturating_duration_since(Instant::now()));
        let mut line = OpenLine::default();
        let print = |_, text: &str| line.print(text);
        let done = worker.run(&work, &host, print, patience).await;
        line.end();
        match done {
            Ok(result) => {
                let result = result.unwrap_or_else(|| "null".to_owned());
                let bytes = result.len();
                // The line also has the id, and fixed members of less than 64 bytes.
                let others = job.id.as_ref().map_or(0, String::len) + 64;
                match bytes <= LINE_BYTES_MAX.saturating_sub(others) {
                    true => Ok(result),
                    false => Err(Fault::TooLarge { bytes }),
                }
            }
            Err(error) if matches!(error.kind, ErrorKind::TimeLimit) => Err(timed_out(true)),
            Err(error) => Err(Fault::Script(error)),
        }
    }

    /// Returns a worker that has loaded the program. Starts one if necessary.
    async fn ready(&mut self, program: &Arc<Program>) -> Result<&mut Worker, ScriptError> {
        let is_usable = |loaded: &mut LoadedWorker| {
            Arc::ptr_eq(&loaded.program, program) && loaded.worker.is_usable()
        };
        if !self.worker.as_mut().is_some_and(is_usable) {
            // A worker of an earlier program still has the modules of that program. It is not used
            // again.
            if let Some(former) = self.worker.take() {
                former.worker.stop().await;
            }
            let mut worker =
                Worker::start(&self.shared.worker, WorkerEnvironment::Inherited).await?;
            let print = |_, text: &str| print_to_stderr(text);
            let loading = worker.run(&program.load, &NoHost, print, patience(LOAD_TIMEOUT));
            loading.await?;
            self.worker = Some(LoadedWorker {
                worker,
                program: Arc::clone(program),
            });
        }
        let loaded = self.worker.as_mut().expect("a worker was started above");
        Ok(&mut loaded.worker)
    }
}

/// Forwards the progress reports of a request to the agent.
struct Reporter<'a> {
    /// `None` for a notification, whose progress is not reported.
    id: Option<&'a str>,
    lines: mpsc::Sender<Vec<u8>>,
}

impl JobHost for Reporter<'_> {
    async fn library(&self, module: &str) -> Result<Option<Source>, Raise> {
        NoHost.library(module).await
    }

    async fn call(&self, operation: &str, argument: &str) -> Result<String, Raise> {
        NoHost.call(operation, argument).await
    }

    async fn progress(&self, progress: &Progress) {
        if let Some(id) = self.id {
            // An error means that stdout is closed, which ends the method server.
            let _ = self.lines.send(progress_line(progress, id)).await;
        }
    }
}

/// The worker is killed at once after this time.
fn patience(time: Duration) -> WorkTimeout {
    WorkTimeout {
        time: Some(time),
        kill_after: Duration::ZERO,
    }
}

/// Whether the output of a request ends in the middle of a line. The agent stores the log in lines,
/// so the output of the next request must begin a new line.
#[derive(Default)]
struct OpenLine(bool);

impl OpenLine {
    fn print(&mut self, text: &str) {
        print_to_stderr(text);
        self.0 = !text.ends_with('\n');
    }

    fn end(self) {
        if self.0 {
            print_to_stderr("\n");
        }
    }
}

/// Prints a fault on stderr, which the agent keeps in the space's log. Faults that the caller's
/// answer explains completely are printed only for notifications, which get no answer.
fn log(job: &Job, fault: &Fault, folder: &Path) {
    let text = match (fault.to_log(), &job.id) {
        (Some(text), _) => text,
        (None, None) => fault.to_object(folder).message,
        (None, Some(_)) => return,
    };
    let mut name = job.method.clone();
    name.retain(|character| !character.is_control());
    print_to_stderr(&format!("`{name}` failed: {text}\n"));
}
