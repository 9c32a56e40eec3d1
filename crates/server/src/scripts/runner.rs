//! Runs scripts of users in worker processes, and answers what they ask.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use svc_core::UserId;
use svc_script::{
    Abilities, ErrorKind, Flavour, Limits, ScriptError, Setting, Source,
    worker::{Job, Outcome, Pool, PoolOptions, Program},
};
use thiserror::Error;
use tokio::sync::OnceCell;
use tracing::{error, info};

use super::{check::Checker, host::RunHost, report::OUTPUT_BYTES_MAX, report::cut, turns::Turns};
use crate::{
    http::InternalApi, identity::Directory, metrics::Metrics, options::ScriptOptions, store::Store,
};

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
    /// Whom it would act for is gone or not active.
    #[error("{0}")]
    User(String),
}

pub struct ScriptRunner {
    pool: Pool,
    /// Set once the limits of a worker have been seen to hold. Until then, nothing runs.
    proved: OnceCell<()>,
    turns: Turns,
    /// Looks at sources before they are stored.
    pub checker: Checker,
    store: Store,
    directory: Arc<Directory>,
    api: Arc<InternalApi>,
    metrics: Arc<Metrics>,
    options: ScriptOptions,
}

impl ScriptRunner {
    /// `program` is this binary, whose command `script-worker` is a worker.
    pub fn new(
        program: PathBuf,
        options: ScriptOptions,
        store: Store,
        directory: Arc<Directory>,
        api: Arc<InternalApi>,
        metrics: Arc<Metrics>,
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
            proved: OnceCell::new(),
            turns: Turns::new(options.workers),
            checker: Checker::new(options.workers),
            store,
            directory,
            api,
            metrics,
            options,
        }
    }

    /// Has a worker prove that its limits hold, once. A failure is not remembered: the next script
    /// has it tried again, and does not run before it holds.
    pub async fn prove(&self) -> Result<(), Unavailable> {
        let prove = || async {
            self.pool.self_test().await.map_err(|reason| {
                error!(
                    "scripts of users do not run, because their sandbox does not hold: {reason}"
                );
                Unavailable::Unproved(reason)
            })?;
            info!("the sandbox for scripts of users holds");
            Ok(())
        };
        self.proved.get_or_try_init(prove).await.copied()
    }

    /// Runs a script. One that fails is an outcome; an error says why none was started.
    pub async fn run(&self, run: Run) -> Result<Outcome, Unavailable> {
        let label = run.what.label();
        let outcome = self.attempt(run).await;
        let (name, took) = match &outcome {
            Ok(outcome) => (outcome_label(&outcome.result), outcome.elapsed),
            Err(_) => ("unavailable", Duration::ZERO),
        };
        self.metrics.scripts.ran(label, name, took);
        outcome
    }

    async fn attempt(&self, run: Run) -> Result<Outcome, Unavailable> {
        let (flavour, function, params, event) = match run.what {
            What::Tool { params } => (Flavour::Tool, Some("main".to_owned()), params, None),
            What::Sink { event } => (Flavour::Sink, None, "{}".to_owned(), Some(event)),
        };
        let host = self.host(run.user, run.libraries, event);
        host.check_user()
            .map_err(|refused| Unavailable::User(refused.message))?;
        self.prove().await?;
        let waiting = tokio::time::timeout(self.options.wait, self.turns.take(run.user));
        let _turn = waiting.await.map_err(|_| Unavailable::Busy)?;
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
        cut(&mut outcome.output);
        outcome.result = outcome.result.and_then(bounded);
        Ok(outcome)
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
