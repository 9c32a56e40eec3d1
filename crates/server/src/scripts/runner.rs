//! Runs scripts of users in worker processes, and answers what they ask.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use svc_core::{Permission, UserId};
use svc_script::{
    Abilities, ErrorKind, Flavour, Limits, ScriptError, Setting, Source,
    worker::{Job, Outcome, Pool, PoolOptions, Program},
};
use svc_store::Store;
use thiserror::Error;
use tracing::{error, info};

use super::{
    api::InternalApi,
    host::RunHost,
    options::ScriptOptions,
    proof::Proof,
    report::{OUTPUT_BYTES_MAX, cut},
    turns::{Turn, Turns, Waiting},
};
use crate::{identity::Directory, metrics::Metrics};

/// Bytes of what a tool returns.
const RESULT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One script to run.
#[derive(Clone, Debug)]
pub struct Run {
    pub what: What,
    /// Whom it acts for.
    pub user: UserId,
    pub libraries: Libraries,
    pub script: Source,
}

#[derive(Clone, Debug)]
pub enum What {
    /// Calls `main` with these params (JSON).
    Tool { params: String },
    /// Runs the script for this event (JSON, as `svc.event` shows it).
    Sink { event: String },
}

impl What {
    fn label(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tool",
            Self::Sink { .. } => "sink",
        }
    }
}

/// Where a script's imports are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Libraries {
    /// The user's own, then global ones.
    Of(UserId),
    /// For global scripts: whoever runs one cannot put something else in the place of what it
    /// imports.
    Global,
}

/// Why a script was not even started.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unavailable {
    /// The sandbox does not hold on this machine.
    #[error("scripts do not run on this server: {0}")]
    Unproved(String),
    #[error("too many scripts are running; try again in a moment")]
    Busy,
    /// Whom it would act for is gone, not active, or may not have it run any more.
    #[error("{0}")]
    User(String),
    /// There was no worker for it.
    #[error("{0}")]
    NotRun(String),
    /// The server stops, and may have cut it off.
    #[error("scripts are not run any more: svc is stopping")]
    Stopping,
}

pub struct ScriptRunner {
    pool: Pool,
    /// That the limits of a worker hold. Until then, nothing runs.
    proof: Proof,
    turns: Turns,
    store: Store,
    directory: Arc<Directory>,
    api: Arc<InternalApi>,
    metrics: Arc<Metrics>,
    pub(super) options: ScriptOptions,
}

impl ScriptRunner {
    /// `program` is this binary, whose command `script-worker` is a worker. `wake` resumes a lane
    /// that waits for a slot.
    pub fn new(
        program: PathBuf,
        options: ScriptOptions,
        store: Store,
        directory: Arc<Directory>,
        api: Arc<InternalApi>,
        metrics: Arc<Metrics>,
        wake: impl Fn(Waiting) + Send + Sync + 'static,
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
            proof: Proof::default(),
            turns: Turns::new(options.workers, wake),
            store,
            directory,
            api,
            metrics,
            options,
        }
    }

    /// Has a worker prove that its limits hold, once. After a failure a later script has it tried
    /// again, and does not run before it holds.
    pub async fn prove(&self) -> Result<(), Unavailable> {
        let test = async || {
            let tested = self.pool.self_test().await;
            match &tested {
                Ok(()) => info!("the sandbox for scripts of users holds"),
                Err(reason) => error!(
                    "scripts of users do not run, because their sandbox does not hold: {reason}"
                ),
            }
            tested
        };
        self.proof.get(test).await.map_err(Unavailable::Unproved)
    }

    /// Runs a script when it is its turn. One that fails is an outcome; an error says why none was
    /// run.
    pub async fn run(&self, run: Run) -> Result<Outcome, Unavailable> {
        let label = run.what.label();
        match self.wait(run.user).await {
            Ok(turn) => self.run_in(turn, run).await,
            Err(unavailable) => {
                self.metrics
                    .scripts
                    .ran(label, "unavailable", Duration::ZERO);
                Err(unavailable)
            }
        }
    }

    /// Waits for a turn, for a while.
    pub async fn wait(&self, user: UserId) -> Result<Turn, Unavailable> {
        self.check_user(user, None)?;
        self.turn(user).await
    }

    async fn turn(&self, user: UserId) -> Result<Turn, Unavailable> {
        let turn = async {
            self.prove().await?;
            Ok(self.turns.take(user).await)
        };
        let waiting = tokio::time::timeout(self.options.wait, turn);
        waiting.await.map_err(|_| Unavailable::Busy)?
    }

    /// A turn for what waits in a lane, or at once why there is none: `Busy` means that the lane
    /// stands in line and is woken.
    pub async fn enter(&self, user: UserId, waiting: Waiting) -> Result<Turn, Unavailable> {
        self.prove().await?;
        self.turns.enter(user, waiting).ok_or(Unavailable::Busy)
    }

    /// Compiles a source in a worker, as it is before it runs. An error of the outer kind says why
    /// it was not even tried.
    pub(super) async fn compile(
        &self,
        user: UserId,
        script: Source,
    ) -> Result<Result<(), ScriptError>, Unavailable> {
        let _turn = self.turn(user).await?;
        let _running = self.metrics.scripts.running();
        let outcome = self.pool.check(user.0, script, self.options.time).await;
        match outcome.result {
            Err(error) if !outcome.ran => Err(self.not_run(&error)),
            compiled => Ok(compiled.map(drop)),
        }
    }

    /// Runs a script whose turn it is.
    pub async fn run_in(&self, turn: Turn, run: Run) -> Result<Outcome, Unavailable> {
        let label = run.what.label();
        let outcome = self.attempt(turn, run).await;
        let (name, took) = match &outcome {
            Ok(outcome) => (outcome_label(&outcome.result), outcome.elapsed),
            Err(_) => ("unavailable", Duration::ZERO),
        };
        self.metrics.scripts.ran(label, name, took);
        outcome
    }

    async fn attempt(&self, _turn: Turn, run: Run) -> Result<Outcome, Unavailable> {
        let (flavour, function, params, event) = match run.what {
            What::Tool { params } => (Flavour::Tool, Some("main".to_owned()), params, None),
            What::Sink { event } => (Flavour::Sink, None, "{}".to_owned(), Some(event)),
        };
        // It may have been a while since they came into line.
        self.check_user(run.user, None)?;
        let host = self.host(run.user, run.libraries, event);
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

    /// A script runs for users who are active, and hold what it needs besides.
    pub fn check_user(&self, id: UserId, needs: Option<Permission>) -> Result<(), Unavailable> {
        let host = self.host(id, Libraries::Global, None);
        host.check_user()
            .map_err(|refused| Unavailable::User(refused.message))?;
        let user = self.directory.find_user(id);
        match (user, needs) {
            (Some(user), Some(needs)) if !user.permissions.contains(needs) => {
                Err(Unavailable::User(format!(
                    "user `{}`, for whom this script runs, does not hold the permission `{needs}`",
                    user.name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whoever answers a script that runs for this user.
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
        }
    }

    /// Ends every worker; nothing runs after it.
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
