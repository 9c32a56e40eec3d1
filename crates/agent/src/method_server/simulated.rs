//! Simulated programs of method servers. They exit, crash in the middle of a line, hang, write
//! garbage, answer twice, ignore the end of stdin, or start slowly. A seed decides which.
//!
//! [`Ledger`] records what happens to each call and checks the promises.

mod ledger;
mod program;
mod stdin;

pub use self::{
    ledger::{CallEnd, Ledger},
    stdin::SimulatedStdin,
};

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use svc_simulation::Random;
use tokio::io::{DuplexStream, duplex};
use tokio_util::sync::CancellationToken;

use self::{
    program::{Character, RunningProgram},
    stdin::pipe,
};
use super::{Setup, pipe::PipeEnd, process::Pipes};

/// Size of the pipes of stdout and stderr.
const OUTPUT_BYTES: usize = 64 * 1024;

/// Starts the programs of one agent.
pub struct Programs {
    pub ledger: Arc<Ledger>,
    random: Mutex<Random>,
    /// Whether programs behave well from now on.
    is_calm: AtomicBool,
    /// A fault: a new registration gets calls while the replaced method server still works.
    pub forgets_to_hold: bool,
}

/// A program that was just started.
pub struct Started {
    pub id: u32,
    pub program: SimulatedProgram,
    pub pipes: Pipes<DuplexStream, DuplexStream>,
}

impl Programs {
    pub fn new(ledger: Arc<Ledger>, random: Random, forgets_to_hold: bool) -> Self {
        Self {
            ledger,
            random: Mutex::new(random),
            is_calm: AtomicBool::new(false),
            forgets_to_hold,
        }
    }

    pub fn calm_down(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
    }

    fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    /// Starts the program of a registration. The first argument of its command is the number of
    /// the registration.
    pub fn start(self: &Arc<Self>, setup: &Setup) -> io::Result<Started> {
        let number = setup
            .definition
            .args
            .first()
            .and_then(|arg| arg.parse().ok());
        let registration = number.expect("the number of the registration");
        let character = Character::draw(&mut self.random.lock(), self.is_calm());
        if character.fails_to_start {
            self.ledger.fails_to_start(registration);
            return Err(io::ErrorKind::NotFound.into());
        }
        let id = self.ledger.starts(registration, setup.in_flight_max());
        let (stdin, reader) = pipe(character.has_small_pipe);
        let (stdout, stdout_writer) = duplex(OUTPUT_BYTES);
        let (stderr, stderr_writer) = duplex(OUTPUT_BYTES);
        let program = SimulatedProgram::default();
        let running = RunningProgram {
            id,
            programs: Arc::clone(self),
            character,
            stdin: reader,
            stdout: Some(stdout_writer),
            stderr: stderr_writer,
        };
        tokio::spawn(program.0.clone().run(running));
        Ok(Started {
            id,
            program,
            pipes: Pipes {
                stdin: PipeEnd::Simulated(stdin),
                stdout,
                stderr,
            },
        })
    }
}

/// The agent's handle on a simulated program. Dropping it kills the program.
#[derive(Default)]
pub struct SimulatedProgram(ProgramSignals);

#[derive(Clone, Default)]
struct ProgramSignals {
    terminated: CancellationToken,
    killed: CancellationToken,
    exited: CancellationToken,
    status: Arc<Mutex<ExitStatus>>,
}

impl ProgramSignals {
    async fn run(self, program: RunningProgram) {
        let (id, ledger) = (program.id, Arc::clone(&program.programs.ledger));
        let heeds_term = !program.character.ignores_term;
        let status = tokio::select! {
            biased;
            () = self.killed.cancelled() => ExitStatus::from_raw(9),
            () = self.terminated.cancelled(), if heeds_term => ExitStatus::from_raw(15),
            code = program.run() => ExitStatus::from_raw(code << 8),
        };
        ledger.ends(id, status);
        *self.status.lock() = status;
        self.exited.cancel();
    }
}

impl SimulatedProgram {
    pub async fn wait(&self) -> ExitStatus {
        self.0.exited.cancelled().await;
        *self.0.status.lock()
    }

    pub fn terminate(&self) {
        self.0.terminated.cancel();
    }

    pub fn kill(&self) {
        self.0.killed.cancel();
    }
}

impl Drop for SimulatedProgram {
    fn drop(&mut self) {
        self.kill();
    }
}
