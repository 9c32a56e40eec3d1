//! One seat: takes a job, has its worker process do it, and answers.
//!
//! A handler can at worst end its own worker: the seat answers for it and starts another one with
//! the next job.

use std::{sync::Arc, time::Duration};

use svc_protocol::link::LINE_BYTES_MAX;
use svc_script::{
    ErrorKind, ScriptError,
    worker::{
        NoHost, Patience, Program as WorkerProgram, Surroundings, Worker, protocol::ToWorker,
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
use crate::commands::own_script::print_aside;

/// Taking a snapshot is quick; a worker that does not is of no use.
const LOAD_TIMEOUT: Duration = Duration::from_secs(20);

/// What all seats share.
pub struct Shared {
    pub jobs: Jobs,
    pub worker: WorkerProgram,
    pub timeout_seconds: u32,
}

pub struct Seat {
    shared: Arc<Shared>,
    program: watch::Receiver<Arc<Program>>,
    answers: mpsc::Sender<Vec<u8>>,
    worker: Option<Loaded>,
}

/// A worker, and what it has taken.
struct Loaded {
    worker: Worker,
    program: Arc<Program>,
}

impl Seat {
    pub fn new(
        shared: Arc<Shared>,
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

    /// Works until no more jobs come.
    pub async fn run(mut self) {
        while let Some(job) = self.shared.jobs.next().await {
            let outcome = self.serve(&job).await;
            if let Err(fault) = &outcome {
                log(&job, fault);
            }
            let Some(id) = &job.id else { continue };
            // An error means that nobody reads answers any more, which ends us all.
            let _ = self.answers.send(answers::line(&outcome, id)).await;
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
        };
        let patience = Patience {
            time: Some(until.saturating_duration_since(Instant::now())),
            kill_after: Duration::ZERO,
        };
        let done = worker.run(&work, &NoHost, aside, patience).await;
        match done {
            Ok(result) => {
                let result = result.unwrap_or_else(|| "null".to_owned());
                let bytes = result.len();
                // The rest of the line is its id and a few words.
                let room =
                    LINE_BYTES_MAX.saturating_sub(job.id.as_ref().map_or(0, String::len) + 64);
                if bytes > room {
                    return Err(Fault::TooLarge { bytes });
                }
                Ok(result)
            }
            Err(ScriptError {
                kind: ErrorKind::TimeLimit,
                ..
            }) => Err(timed_out(true)),
            Err(error) => Err(Fault::Script(error)),
        }
    }

    /// A worker that has taken the program.
    async fn ready(&mut self, program: &Arc<Program>) -> Result<&mut Worker, ScriptError> {
        let usable = match &mut self.worker {
            Some(loaded) => Arc::ptr_eq(&loaded.program, program) && loaded.worker.is_usable(),
            None => false,
        };
        if !usable {
            // A worker of a former program ends with it: what it loaded goes too.
            if let Some(former) = self.worker.take() {
                former.worker.stop().await;
            }
            let mut worker = Worker::start(&self.shared.worker, Surroundings::Inherited).await?;
            let patience = Patience {
                time: Some(LOAD_TIMEOUT),
                kill_after: Duration::ZERO,
            };
            worker.run(&program.load, &NoHost, aside, patience).await?;
            self.worker = Some(Loaded {
                worker,
                program: Arc::clone(program),
            });
        }
        let loaded = self.worker.as_mut().expect("it was just put there");
        Ok(&mut loaded.worker)
    }
}

fn aside(_: svc_script::Stream, text: &str) {
    print_aside(text);
}

/// On stderr, which the agent keeps in the space's log. A notification has no other way to tell.
fn log(job: &Job, fault: &Fault) {
    let text = match (fault.to_log(), &job.id) {
        (Some(text), _) => text,
        (None, None) => fault.to_object().message,
        (None, Some(_)) => return,
    };
    let mut name = job.method.clone();
    name.retain(|character| !character.is_control());
    print_aside(&format!("`{name}` failed: {text}\n"));
}
