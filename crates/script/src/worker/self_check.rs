//! Checks in real workers that their limits are enforced. Runs before any script of a user runs.

use std::time::Duration;

use super::{
    NoHost, PoolOptions, WorkTimeout, Worker, WorkerEnvironment,
    protocol::{Probe, ToWorker},
};
use crate::{Abilities, ErrorKind, Flavour, Limits, ScriptError, Setting, Source};

/// Time limit of the script that loops forever.
const TIME: Duration = Duration::from_millis(500);
/// Memory limit of both test scripts, well below the hard limit of a worker.
const MEMORY_BYTES: usize = 32 * 1024 * 1024;

/// If a limit is not enforced, returns an error that says which.
pub(super) async fn run(options: &PoolOptions) -> Result<(), String> {
    let fires =
        |name: &str, kind: ErrorKind, ended: Result<Option<String>, ScriptError>| match ended {
            Err(error) if error.kind == kind => Ok(()),
            Err(error) => Err(format!(
                "the {name} limit was not enforced: {}",
                error.message
            )),
            Ok(_) => Err(format!("the {name} limit was not enforced")),
        };
    let loops = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n";
    let eats = "kept = []\nwhile True:\n    kept.append('x' * 1000 + str(len(kept)))\n";
    fires(
        "time",
        ErrorKind::TimeLimit,
        try_out(options, loops, TIME).await,
    )?;
    // Enough time to fill the memory on a machine under load.
    let eaten = try_out(options, eats, TIME * 40).await;
    fires("memory", ErrorKind::MemoryLimit, eaten)?;
    check_confinement(options).await
}

async fn try_out(
    options: &PoolOptions,
    text: &str,
    time: Duration,
) -> Result<Option<String>, ScriptError> {
    let mut worker = Worker::start(&options.program, WorkerEnvironment::Nothing).await?;
    let work = ToWorker::Run {
        setting: Setting {
            flavour: Flavour::Tool,
            abilities: Abilities::None,
            limits: Limits {
                time: Some(time),
                memory_bytes: Some(MEMORY_BYTES),
                ..Limits::SANDBOX
            },
            args: vec!["self_test.py".to_owned()],
        },
        script: Source {
            file: "self_test.py".to_owned(),
            text: text.to_owned(),
        },
        function: None,
        params: "null".to_owned(),
    };
    let patience = WorkTimeout {
        time: Some(time),
        kill_after: options.kill_after,
    };
    let done = worker.run(&work, &NoHost, |_, _| {}, patience).await;
    worker.stop().await;
    done
}

/// Checks that a worker cannot open files, open sockets or start processes. If this machine cannot
/// filter system calls, the worker has a warning: the warning is logged, and the check passes.
async fn check_confinement(options: &PoolOptions) -> Result<(), String> {
    let mut worker = Worker::start(&options.program, WorkerEnvironment::Nothing)
        .await
        .map_err(|error| error.message)?;
    let warning = worker.warning().map(str::to_owned);
    let patience = WorkTimeout {
        time: Some(Duration::from_secs(10)),
        kill_after: options.kill_after,
    };
    let tried = worker
        .run(&ToWorker::Probe, &NoHost, |_, _| {}, patience)
        .await;
    worker.stop().await;
    if let Some(warning) = warning {
        tracing::warn!(warning, "scripts run without full confinement");
        return Ok(());
    }
    let answer = tried.map_err(|error| error.message)?.unwrap_or_default();
    let probe: Probe = serde_json::from_str(&answer)
        .map_err(|error| format!("the confinement was not tested: {error}"))?;
    match probe {
        Probe {
            open_file: false,
            open_socket: false,
            start_process: false,
        } => Ok(()),
        open => Err(format!("a sandboxed worker is not confined: {open:?}")),
    }
}
