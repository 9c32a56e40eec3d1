//! The runtime a command runs on, and the signals that end it.

use std::{num::NonZeroUsize, path::PathBuf};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure};

/// Exit code of a process ended by Ctrl-C without an orderly end, as shells count it.
pub const INTERRUPTED: i32 = 130;

/// Keeps other processes of the same user from reading this one's environment and memory, where
/// credentials are: above all the programs that it starts for users. Root can still read them.
pub fn hide_environment() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other programs of this user can read this process's environment");
        }
    }
}

/// The file of this very program.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Failure, "cannot tell where this program is").why(error)
    })
}

/// One thread: what the agent and every short command run on.
pub fn single() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(unstartable)
}

/// As many threads as the server is to have.
pub fn with_workers(workers: usize) -> Result<Runtime, Failure> {
    if workers <= 1 {
        return single();
    }
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(unstartable)
}

fn unstartable(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failure, "cannot start the runtime").why(error)
}

/// 0 means: one on a small machine, where a second costs more than it gives (measured), else one
/// per core.
pub fn workers_or_default(configured: usize) -> usize {
    if configured > 0 {
        return configured;
    }
    match std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
        0..=2 => 1,
        cores => cores,
    }
}

/// A token that is cancelled by SIGTERM or Ctrl-C; a second Ctrl-C ends the process at once.
///
/// The task that watches lives as long as the runtime: it owns nothing that needs an orderly end.
pub fn shutdown_on_signals() -> Result<CancellationToken, Failure> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| Failure::new(Exit::Failure, "cannot listen for signals").why(error))
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_number_of_workers_is_taken_as_it_is() {
        assert_eq!(workers_or_default(7), 7);
        assert!(workers_or_default(0) >= 1);
    }
}
