//! The method server: reads requests from stdin and writes answers to stdout, until stdin ends or a
//! signal arrives.

use std::{
    io::{self, BufReader},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use svc_protocol::{
    env,
    jsonrpc::{LINE_BYTES_MAX, READY_LINE},
};
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
    seat::{Seat, SeatContext},
    setup::{Program, Setup},
    watch::watch,
};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
    runtime,
};

/// Maximum bytes of requests that wait for a worker. A full queue blocks the reader, and then the
/// agent cannot send more.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum waiting requests per worker: enough that no worker waits for the reader.
const JOBS_PER_WORKER: usize = 2;
/// The time limit for writing the last answers.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of the buffer of stdin.
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
        is_under_agent: shell.environment.get(env::AGENT_SOCKET).is_some(),
    };
    let runtime = runtime::single()?;
    let outcome = runtime.block_on(server.serve(program));
    runtime.shutdown_background();
    outcome
}

/// The command line that runs this program as a worker.
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
    /// Files to watch; `None` without `--watch`.
    watched: Option<Vec<PathBuf>>,
    /// Whether an agent started this process. Only an agent gets the line `$/ready`.
    is_under_agent: bool,
}

impl MethodServer {
    async fn serve(self, program: Program) -> Outcome {
        let shutdown = runtime::shutdown_on_signals()?;
        let bounds = self.bounds;
        let shared = Arc::new(SeatContext {
            jobs: Jobs::new(QUEUE_BYTES_MAX, JOBS_PER_WORKER * bounds.workers),
            worker: self.worker,
            timeout_seconds: bounds.timeout_seconds,
            working_folder: self.setup.environment.working_folder.clone(),
        });
        let (answers, lines) = mpsc::channel(bounds.workers);
        let mut written = write_on_a_thread(lines);
        if self.is_under_agent {
            // The channel is new, so it has room.
            let _ = answers.try_send(format!("{READY_LINE}\n").into_bytes());
        }
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
        // When stdin ends, the reader closes the queue. Then the seats serve the rest and end.
        tokio::select! {
            () = &mut all_served => {}
            _ = &mut written => return Err(stdout_closed()),
            () = shutdown.cancelled() => {
                shared.jobs.close();
                // No request takes longer than the timeout.
                let all = timeout(bounds.timeout() + END_TIMEOUT, &mut all_served);
                tokio::select! {
                    _ = all => {}
                    _ = &mut written => return Err(stdout_closed()),
                }
            }
        }
        others.shutdown().await;
        // When the last sender is dropped, the writer writes the remaining answers and ends.
        drop(answers);
        match timeout(END_TIMEOUT, written).await {
            Ok(Ok(false)) => Err(stdout_closed()),
            _ => Ok(Exit::Ok),
        }
    }
}

fn stdout_closed() -> Failure {
    Failure::failed("stdout is closed: the answers cannot be written")
}

/// Writes answers to stdout until every sender is dropped. The receiver gets `true` if all answers
/// were written.
fn write_on_a_thread(lines: mpsc::Receiver<Vec<u8>>) -> oneshot::Receiver<bool> {
    let (done, written) = oneshot::channel();
    thread::spawn(move || {
        let all = answers::write_all(lines, &mut io::stdout().lock());
        // An error means that the server no longer waits.
        let _ = done.send(all);
    });
    written
}

/// Reads stdin to its end, then closes the queue. After a signal the thread stays blocked until the
/// process ends: a read of stdin cannot be cancelled.
fn read_on_a_thread(shared: Arc<SeatContext>, answers: mpsc::WeakSender<Vec<u8>>) {
    thread::spawn(move || {
        let answer = |line| {
            if let Some(answers) = answers.upgrade() {
                // An error means that stdout is closed, which ends the method server.
                let _ = answers.blocking_send(line);
            }
        };
        let mut input = BufReader::with_capacity(READ_BYTES, io::stdin());
        if let Err(error) = requests::read(&mut input, LINE_BYTES_MAX, &shared.jobs, answer) {
            eprintln!("cannot read standard input: {error}");
        }
        shared.jobs.close();
    });
}
