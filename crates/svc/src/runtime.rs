//! The async runtime of a command, and the signals that end it.

use std::{num::NonZeroUsize, path::PathBuf};

use svc_crypto::random;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use crate::exit::{Failure, OrFail};

/// Exit code of a process that Ctrl-C ended at once, by the convention of shells.
pub const INTERRUPTED: i32 = 130;
const UNSTARTABLE: &str = "cannot start the runtime";

/// On Linux, prevents other processes of the same user from reading the environment and memory of
/// this process, which contain credentials. The main threat is a program that this process starts
/// for a user. Root can still read both.
pub fn hide_environment() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other programs of this user can read this process's environment");
        }
    }
}

/// The path of this program.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().or_fail("cannot determine the path of this program")
}

pub fn random_bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    random::fill(&mut bytes).or_fail("the system provides no random numbers")?;
    Ok(bytes)
}

/// A runtime with one thread, for the agent and for short commands.
pub fn single() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .or_fail(UNSTARTABLE)
}

/// A runtime for the server. The number of threads depends on the cores, unless it is given.
pub fn with_workers(workers: Option<NonZeroUsize>) -> Result<Runtime, Failure> {
    let workers = workers.map_or_else(default_workers, NonZeroUsize::get);
    if workers == 1 {
        return single();
    }
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .or_fail(UNSTARTABLE)
}

/// One thread per core, but only one thread on a machine with at most two cores: there, a second
/// thread costs more than it gains (measured).
fn default_workers() -> usize {
    match std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
        0..=2 => 1,
        cores => cores,
    }
}

/// Returns a token that SIGTERM or Ctrl-C cancels. A later Ctrl-C ends the process at once.
///
/// The task that waits for signals runs as long as the runtime. No other task awaits it, because it
/// owns no data that must be saved.
pub fn shutdown_on_signals() -> Result<CancellationToken, Failure> {
    let listen = |kind| signal(kind).or_fail("cannot listen for signals");
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let token = CancellationToken::new();
    let shutdown = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        token.cancel();
        interrupt.recv().await;
        std::process::exit(INTERRUPTED);
    });
    Ok(shutdown)
}
