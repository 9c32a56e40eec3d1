//! A pool of sandboxed workers: started when needed, kept for a short time, never shared between
//! owners.
//!
//! There are never more workers than `workers_max`, idle workers included. If necessary, an idle
//! worker of another owner is ended before a new worker starts. A worker whose script hit a limit
//! is not used again.

mod idle;

use std::{future::Future, time::Duration};

use svc_protocol::jsonrpc::Progress;
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::Instant,
};
use uuid::Uuid;

use self::idle::Idle;
use super::{
    NoHost, Program, WorkTimeout, Worker, WorkerEnvironment, protocol::ToWorker, self_check,
};
use crate::{Raise, ScriptError, Setting, Source};

/// The end of an output that was cut.
const CUT: &str = "\n[cut]";

#[derive(Clone, Debug)]
pub struct PoolOptions {
    pub program: Program,
    /// The maximum number of scripts that run at the same time.
    pub workers_max: usize,
    /// How long an idle worker waits for the next script of its owner.
    pub idle: Duration,
    /// A script that does not stop at its time limit is killed after this additional time.
    pub kill_after: Duration,
    /// The maximum size of the kept output of a script, in bytes.
    pub output_max: usize,
}

/// One script to run, and its owner.
#[derive(Clone, Debug)]
pub struct Job {
    pub owner: Uuid,
    pub setting: Setting,
    pub script: Source,
    /// Called with `params` after the script ran.
    pub function: Option<String>,
    pub params: String,
}

/// Performs the operations of a script. See [`crate::Host`] for their names.
pub trait JobHost: Send + Sync {
    fn library(&self, module: &str) -> impl Future<Output = Result<Option<Source>, Raise>> + Send;

    fn call(
        &self,
        operation: &str,
        argument: &str,
    ) -> impl Future<Output = Result<String, Raise>> + Send;

    /// Handles a progress report. The worker waits meanwhile.
    fn progress(&self, _: &Progress) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

#[derive(Clone, Debug)]
pub struct Outcome {
    /// `false` if no worker could be started, or if the pool was closed before the script ended.
    pub ran: bool,
    /// The function's result as JSON text. `None` without a function.
    pub result: Result<Option<String>, ScriptError>,
    /// The output, cut at the limit.
    pub output: String,
    pub elapsed: Duration,
}

pub struct Pool {
    options: PoolOptions,
    slots: Semaphore,
    idle: Idle,
    closing: watch::Sender<bool>,
}

impl Pool {
    pub fn new(mut options: PoolOptions) -> Self {
        let most = u32::MAX as usize;
        options.workers_max = options
            .workers_max
            .clamp(1, Semaphore::MAX_PERMITS.min(most));
        Self {
            slots: Semaphore::new(options.workers_max),
            idle: Idle::new(options.idle),
            closing: watch::channel(false).0,
            options,
        }
    }

    /// Checks in real workers that the limits are enforced. An error names a limit that is not
    /// enforced.
    pub async fn self_check(&self) -> Result<(), String> {
        let _slot = self.slots.acquire().await.map_err(|_| closed().message)?;
        self.idle.make_room(self.options.workers_max - 1).await;
        self_check::run(&self.options).await
    }

    /// The number of running scripts.
    pub fn running(&self) -> usize {
        self.options.workers_max - self.slots.available_permits()
    }

    /// The number of workers that wait for the next script of their owner.
    pub fn idle(&self) -> usize {
        self.idle.count()
    }

    /// Waits for a slot and runs a job. The setting's `time` limits the run in wall-clock time,
    /// including the time in which the script waits for the host.
    pub async fn run(&self, job: Job, host: &impl JobHost) -> Outcome {
        let patience = WorkTimeout {
            time: job.setting.limits.time,
            kill_after: self.options.kill_after,
        };
        let work = ToWorker::Run {
            setting: job.setting,
            script: job.script,
            function: job.function,
            params: job.params,
        };
        self.run_work(job.owner, &work, patience, host).await
    }

    /// Waits for a slot and checks that the embedded engine can compile a script. The worker is
    /// killed if the check takes longer than `time`.
    pub async fn check(&self, owner: Uuid, script: Source, time: Duration) -> Outcome {
        let patience = WorkTimeout {
            time: Some(time),
            kill_after: Duration::ZERO,
        };
        let work = ToWorker::Check { script };
        self.run_work(owner, &work, patience, &NoHost).await
    }

    async fn run_work(
        &self,
        owner: Uuid,
        work: &ToWorker,
        patience: WorkTimeout,
        host: &impl JobHost,
    ) -> Outcome {
        let mut closing = self.closing.subscribe();
        let mut outcome = Outcome {
            ran: false,
            result: Err(closed()),
            output: String::new(),
            elapsed: Duration::ZERO,
        };
        tokio::select! {
            biased;
            // Dropping the other branch kills its worker.
            _ = closing.wait_for(|&closing| closing) => {}
            () = self.run_into(owner, work, patience, host, &mut outcome) => {}
        }
        outcome
    }

    async fn run_into(
        &self,
        owner: Uuid,
        work: &ToWorker,
        patience: WorkTimeout,
        host: &impl JobHost,
        outcome: &mut Outcome,
    ) {
        let Ok(slot) = self.slots.acquire().await else {
            return;
        };
        let start = Instant::now();
        let mut worker = match self.worker_of(owner, &slot).await {
            Ok(worker) => worker,
            Err(error) => {
                outcome.result = Err(error);
                return;
            }
        };
        let mut kept = CappedOutput::new(self.options.output_max);
        let print = |_, text: &str| kept.add(text);
        outcome.result = worker.run(work, host, print, patience).await;
        outcome.ran = true;
        outcome.output = kept.text;
        outcome.elapsed = start.elapsed();
        if worker.is_usable() {
            self.idle.put(owner, worker);
        } else {
            worker.stop().await;
        }
    }

    /// Returns an idle worker of this owner, or starts a new one.
    async fn worker_of(
        &self,
        owner: Uuid,
        _slot: &SemaphorePermit<'_>,
    ) -> Result<Worker, ScriptError> {
        if let Some(worker) = self.idle.take(owner) {
            return Ok(worker);
        }
        // Every running script, including this one, holds a permit.
        self.idle
            .make_room(self.options.workers_max - self.running())
            .await;
        let worker = Worker::start(&self.options.program, WorkerEnvironment::Nothing).await?;
        if let Some(warning) = worker.warning() {
            self.idle.warn_once(warning);
        }
        Ok(worker)
    }

    /// Whether the pool is closed for new scripts.
    pub fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Ends every worker.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        // Taking all permits waits for the end of every run.
        let all = u32::try_from(self.options.workers_max).unwrap_or(u32::MAX);
        drop(self.slots.acquire_many(all).await);
        self.slots.close();
        self.idle.close().await;
    }
}

/// The kept part of an output.
struct CappedOutput {
    text: String,
    bytes_max: usize,
    cut: bool,
}

impl CappedOutput {
    fn new(bytes_max: usize) -> Self {
        Self {
            text: String::new(),
            bytes_max,
            cut: false,
        }
    }

    fn add(&mut self, text: &str) {
        if self.cut {
            return;
        }
        self.text.push_str(text);
        if self.text.len() > self.bytes_max {
            self.cut = true;
            let room = self.bytes_max.saturating_sub(CUT.len());
            self.text.truncate(self.text.floor_char_boundary(room));
            self.text.push_str(CUT);
        }
    }
}

fn closed() -> ScriptError {
    ScriptError::worker("scripts are not run any more: svc is stopping")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_cut_at_its_limit_and_marked() {
        let mut kept = CappedOutput::new(10);
        kept.add("0123456789");
        assert_eq!(kept.text, "0123456789");
        kept.add("é");
        assert_eq!(kept.text, "0123\n[cut]");
        kept.add("more");
        assert_eq!(kept.text, "0123\n[cut]");
    }
}
