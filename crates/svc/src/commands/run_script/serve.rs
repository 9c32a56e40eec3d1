//! The method server: lines in, lines out, until stdin ends or a signal comes.

use std::{
    io::{self, BufReader},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use svc_protocol::jsonrpc::LINE_BYTES_MAX;
use svc_script::worker::Program as WorkerProgram;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::timeout,
};

use super::{
    Bounds, answers,
    jobs::Jobs,
    requests,
    seat::{Seat, Shared},
    setup::{Program, Setup},
    watch::watch,
};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
    runtime,
};

/// Requests that wait for a worker; the reader waits beyond that, and so does whoever writes.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The same by number: enough that no worker waits for the reader.
const JOBS_PER_WORKER: usize = 2;
/// After the last answer, or after the time of every request: what writing them may take.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

pub fn run(
    shell: &Shell,
    file: PathBuf,
    args: Vec<String>,
    bounds: Bounds,
    is_watched: bool,
) -> Outcome {
    let setup = Setup {
        file,
        args,
        context: shell.globals.context.clone(),
        environment: shell.environment.clone(),
        bounds,
    };
    let ran = setup.run();
    let program = match ran.outcome {
        Ok(program) => program,
        Err(error) => return Ok(error.report()),
    };
    let server = MethodServer {
        worker: worker_program(bounds)?,
        setup: Arc::new(setup),
        bounds,
        watched: is_watched.then_some(ran.files),
    };
    let runtime = runtime::single()?;
    let outcome = runtime.block_on(server.serve(program));
    runtime.shutdown_background();
    outcome
}

/// This program, as the process of a worker.
fn worker_program(bounds: Bounds) -> Result<WorkerProgram, Failure> {
    let path = runtime::own_program()?;
    let memory = bounds.memory_mb.to_string();
    let args = ["script-worker", "--space", "--memory-mb", &memory];
    Ok(WorkerProgram {
        path,
        args: args.map(Into::into).to_vec(),
    })
}

struct MethodServer {
    worker: WorkerProgram,
    setup: Arc<Setup>,
    bounds: Bounds,
    /// Files to look after.
    watched: Option<Vec<PathBuf>>,
}

impl MethodServer {
    async fn serve(self, program: Program) -> Outcome {
        let shutdown = runtime::shutdown_on_signals()?;
        let bounds = self.bounds;
        let shared = Arc::new(Shared {
            jobs: Jobs::new(QUEUE_BYTES_MAX, JOBS_PER_WORKER * bounds.workers),
            worker: self.worker,
            timeout_seconds: bounds.timeout_seconds,
        });
        let (answers, lines) = mpsc::channel(bounds.workers);
        let mut written = write_on_a_thread(lines);
        read_on_a_thread(Arc::clone(&shared), answers.downgrade());
        let (sender, program) = watch::channel(Arc::new(program));
        let mut seats = JoinSet::new();
        for _ in 0..bounds.workers {
            let seat = Seat::new(Arc::clone(&shared), program.clone(), answers.clone());
            seats.spawn(seat.run());
        }
        let mut others = JoinSet::new();
        if let Some(files) = self.watched {
            others.spawn(watch(self.setup, files, sender));
        }
        let all_served = async {
            while let Some(ended) = seats.join_next().await {
                if let Err(panic) = ended
                    && panic.is_panic()
                {
                    std::panic::resume_unwind(panic.into_panic());
                }
            }
        };
        tokio::pin!(all_served);
        // The reader closes the queue when stdin ends.
        tokio::select! {
            () = &mut all_served => {}
            _ = &mut written => return Err(nobody_reads()),
            () = shutdown.cancelled() => {
                shared.jobs.close();
                // Each request has its own time; none has more than that.
                let all = timeout(bounds.timeout() + END_TIMEOUT, &mut all_served);
                tokio::select! {
                    _ = all => {}
                    _ = &mut written => return Err(nobody_reads()),
                }
            }
        }
        others.shutdown().await;
        // The last sender: what was sent is written, and that is the end.
        drop(answers);
        match timeout(END_TIMEOUT, written).await {
            Ok(Ok(false)) => Err(nobody_reads()),
            _ => Ok(Exit::Ok),
        }
    }
}

fn nobody_reads() -> Failure {
    Failure::new(Exit::Failure, "nobody reads the answers any more")
}

/// Writes answers to stdout as long as there is a sender of them; whether all could be written.
fn write_on_a_thread(lines: mpsc::Receiver<Vec<u8>>) -> oneshot::Receiver<bool> {
    let (done, written) = oneshot::channel();
    thread::spawn(move || {
        let all = answers::write_all(lines, &mut io::stdout().lock());
        // An error means that the server did not wait for it.
        let _ = done.send(all);
    });
    written
}

/// Reads stdin to its end, then closes the queue. After a signal it is left where it is: nothing
/// wakes a thread that waits for its input, but the end of the process.
fn read_on_a_thread(shared: Arc<Shared>, answers: mpsc::WeakSender<Vec<u8>>) {
    thread::spawn(move || {
        let answer = |line| {
            if let Some(answers) = answers.upgrade() {
                // An error means that nobody reads answers any more, which ends us all.
                let _ = answers.blocking_send(line);
            }
        };
        let mut input = BufReader::with_capacity(READ_BYTES, io::stdin());
        if let Err(error) = requests::read(&mut input, LINE_BYTES_MAX, &shared.jobs, answer) {
            eprintln!("standard input cannot be read: {error}");
        }
        shared.jobs.close();
    });
}
