//! Runs scripts of users in worker processes and answers their requests.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use svc_core::{Permission, TraceContext, UserId};
use svc_script::{
    Abilities, ErrorKind, Flavour, Limits, ScriptError, Setting, Source,
    worker::{Job, Outcome, Pool, PoolOptions, Program},
};
use svc_store::Store;
use thiserror::Error;
use tracing::{error, info};

use super::{
    api::InternalApi,
    host::{RunHost, find_active},
    options::ScriptOptions,
    report::{OUTPUT_BYTES_MAX, cut},
    sandbox_check::SandboxCheck,
    slots::{ScriptSlot, ScriptSlots, WaitingDelivery},
};
use crate::{identity::Directory, metrics::Metrics};

/// Maximum size of a tool's result.
const RESULT_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Run {
    pub what: RunInput,
    /// The user for whom the script acts.
    pub user: UserId,
    pub libraries: Libraries,
    pub script: Source,
    /// The trace that requests of the script continue.
    pub trace: Option<Box<TraceContext>>,
}

#[derive(Clone, Debug)]
pub enum RunInput {
    /// Calls `main` with these params (JSON).
    Tool { params: String },
    /// Runs the script for this event (the JSON of `svc.event`).
    Sink { event: String },
}

impl RunInput {
    fn label(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tool",
            Self::Sink { .. } => "sink",
        }
    }
}

/// Where a script's imports are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Libraries {
    /// The user's own libraries, then global ones.
    Of(UserId),
    /// Only global libraries. For global scripts, so that their users cannot replace an imported
    /// library.
    Global,
}

/// Why a script was not run, or was not run to its end.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unavailable {
    /// The sandbox failed its self-test on this machine.
    #[error("scripts do not run on this server: {0}")]
    SandboxFailed(String),
    #[error("too many scripts are running; try again in a moment")]
    Busy,
    /// The user is deleted, inactive, or lacks the permission for the script.
    #[error("{0}")]
    User(String),
    /// No worker ran the script.
    #[error("{0}")]
    NotRun(String),
    /// The server is stopping and may have interrupted the script.
    #[error("scripts are not run any more: svc is stopping")]
    Stopping,
}

pub struct ScriptRunner {
    pool: Pool,
    /// Whether the limits of a worker are effective. No script runs before the self-test succeeds.
    sandbox: SandboxCheck,
    slots: ScriptSlots,
    store: Store,
    directory: Arc<Directory>,
    api: Arc<InternalApi>,
    metrics: Arc<Metrics>,
    pub(super) options: ScriptOptions,
}

impl ScriptRunner {
    /// `program` is this binary: its command `script-worker` runs a worker. `wake` resumes a lane
    /// that waits for a slot.
    pub fn new(
        program: PathBuf,
        options: ScriptOptions,
        store: Store,
        directory: Arc<Directory>,
        api: Arc<InternalApi>,
        metrics: Arc<Metrics>,
        wake: impl Fn(WaitingDelivery) + Send + Sync + 'static,
    ) -> Self {
        let options = ScriptOptions {
            workers: options.workers.max(1),
            ..options
        };
        let memory_mb = options.memory_bytes.div_ceil(1024 * 1024).to_string();
        let args = ["script-worker", "--sandbox", "--memory-mb", &memory_mb];
        let pool = Pool::new(PoolOptions {
            program: Program {
                path: program,
                args: args.map(OsString::from).to_vec(),
            },
            workers_max: options.workers,
            idle: options.idle,
            kill_after: options.kill_after,
            output_max: OUTPUT_BYTES_MAX,
        });
        Self {
            pool,
            sandbox: SandboxCheck::default(),
            slots: ScriptSlots::new(options.workers, wake),
            store,
            directory,
            api,
            metrics,
            options,
        }
    }

    /// Tests that a worker enforces its limits. A successful test is not repeated. After a failed
    /// test, a later script repeats it. No script runs before a test succeeds.
    pub async fn test_sandbox(&self) -> Result<(), Unavailable> {
        let test = async || {
            let tested = self.pool.self_check().await;
            match &tested {
                Ok(()) => info!("the sandbox for scripts of users passed its self-test"),
                Err(reason) => error!(
                    "scripts of users do not run, because the sandbox failed its self-test: {reason}"
                ),
            }
            tested
        };
        self.sandbox
            .get(test)
            .await
            .map_err(Unavailable::SandboxFailed)
    }

    /// Waits for a slot and runs a script. A failed script is an `Ok` outcome. An error means that
    /// the script was not run, or was interrupted because the server stops.
    pub async fn run(&self, run: Run) -> Result<Outcome, Unavailable> {
        let label = run.what.label();
        match self.wait(run.user).await {
            Ok(slot) => self.run_in(slot, run).await,
            Err(unavailable) => {
                self.metrics
                    .scripts
                    .count_run(label, "unavailable", Duration::ZERO);
                Err(unavailable)
            }
        }
    }

    /// Waits for a slot, up to [`ScriptOptions::wait`].
    pub async fn wait(&self, user: UserId) -> Result<ScriptSlot, Unavailable> {
        self.check_user(user, None)?;
        self.slot(user).await
    }

    async fn slot(&self, user: UserId) -> Result<ScriptSlot, Unavailable> {
        let slot = async {
            self.test_sandbox().await?;
            Ok(self.slots.take(user).await)
        };
        let waiting = tokio::time::timeout(self.options.wait, slot);
        waiting.await.map_err(|_| Unavailable::Busy)?
    }

    /// Returns a slot for a delivery of a lane, without waiting for one. `Busy` means that the lane
    /// is queued and will be woken.
    pub async fn enter(
        &self,
        user: UserId,
        waiting: WaitingDelivery,
    ) -> Result<ScriptSlot, Unavailable> {
        self.test_sandbox().await?;
        self.slots.enter(user, waiting).ok_or(Unavailable::Busy)
    }

    /// Compiles a source in a worker. The outer error means that the source was not compiled at
    /// all.
    pub(super) async fn compile(
        &self,
        user: UserId,
        script: Source,
    ) -> Result<Result<(), ScriptError>, Unavailable> {
        let _slot = self.slot(user).await?;
        let _running = self.metrics.scripts.running();
        let outcome = self.pool.check(user.0, script, self.options.time).await;
        match outcome.result {
            Err(error) if !outcome.ran => Err(self.not_run(&error)),
            compiled => Ok(compiled.map(drop)),
        }
    }

    /// Runs a script that has a slot.
    pub async fn run_in(&self, slot: ScriptSlot, run: Run) -> Result<Outcome, Unavailable> {
        let label = run.what.label();
        let outcome = self.attempt(slot, run).await;
        let (name, took) = match &outcome {
            Ok(outcome) => (outcome_label(&outcome.result), outcome.elapsed),
            Err(_) => ("unavailable", Duration::ZERO),
        };
        self.metrics.scripts.count_run(label, name, took);
        outcome
    }

    async fn attempt(&self, _slot: ScriptSlot, run: Run) -> Result<Outcome, Unavailable> {
        let (flavour, function, params, event) = match run.what {
            RunInput::Tool { params } => (Flavour::Tool, Some("main".to_owned()), params, None),
            RunInput::Sink { event } => (Flavour::Sink, None, "{}".to_owned(), Some(event)),
        };
        // Check the user again, because the wait for the slot may have been long.
        self.check_user(run.user, None)?;
        let host = RunHost {
            trace: run.trace,
            ..self.host(run.user, run.libraries, event)
        };
        let _running = self.metrics.scripts.running();
        let job = Job {
            owner: run.user.0,
            setting: Setting {
                flavour,
                abilities: Abilities::None,
                limits: Limits {
                    time: Some(self.options.time),
                    memory_bytes: Some(self.options.memory_bytes),
                    ..Limits::SANDBOX
                },
                args: vec![run.script.file.clone()],
            },
            script: run.script,
            function,
            params,
        };
        let mut outcome = self.pool.run(job, &host).await;
        if let (false, Err(error)) = (outcome.ran, &outcome.result) {
            return Err(self.not_run(error));
        }
        cut(&mut outcome.output);
        outcome.result = outcome.result.and_then(bounded);
        Ok(outcome)
    }

    fn not_run(&self, error: &ScriptError) -> Unavailable {
        if self.pool.is_closing() {
            Unavailable::Stopping
        } else {
            Unavailable::NotRun(error.message.clone())
        }
    }

    /// Checks that the user is active and holds the permission that the script needs.
    pub fn check_user(&self, id: UserId, needs: Option<Permission>) -> Result<(), Unavailable> {
        let user = find_active(&self.directory, id).map_err(Unavailable::User)?;
        match needs {
            Some(needs) if !user.permissions.contains(needs) => Err(Unavailable::User(format!(
                "user `{}`, for whom this script runs, does not hold the permission `{needs}`",
                user.name
            ))),
            _ => Ok(()),
        }
    }

    /// The host for a script that runs for this user.
    pub(super) fn host(
        &self,
        user: UserId,
        libraries: Libraries,
        event: Option<String>,
    ) -> RunHost {
        RunHost {
            store: self.store.clone(),
            directory: self.directory.clone(),
            api: self.api.clone(),
            user,
            libraries,
            event,
            trace: None,
        }
    }

    /// Ends every worker. No script runs afterwards.
    pub async fn close(&self) {
        self.api.close();
        self.pool.close().await;
    }
}

fn bounded(result: Option<String>) -> Result<Option<String>, ScriptError> {
    match result {
        Some(text) if text.len() > RESULT_BYTES_MAX => Err(ScriptError::bare(
            ErrorKind::Exception,
            format!(
                "ValueError: the result has {} bytes; at most {RESULT_BYTES_MAX} are allowed",
                text.len()
            ),
        )),
        result => Ok(result),
    }
}

fn outcome_label(result: &Result<Option<String>, ScriptError>) -> &'static str {
    let Err(error) = result else {
        return "ok";
    };
    match error.kind {
        ErrorKind::Syntax | ErrorKind::Unsupported => "invalid",
        ErrorKind::Exception | ErrorKind::Exit(_) | ErrorKind::Rpc(_) => "failed",
        ErrorKind::TimeLimit => "time_limit",
        ErrorKind::MemoryLimit => "memory_limit",
        ErrorKind::HostCallLimit => "host_call_limit",
        ErrorKind::Worker => "worker_died",
    }
}
