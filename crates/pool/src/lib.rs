//! [`FairPool`]: a few threads that users share fairly.
//!
//! For work that would block an async thread: computations of more than about a millisecond, and
//! blocking system calls. Waiting users take turns. The number of threads and the jobs of each user
//! are limited. The threads are not shared with the store or with Tokio's blocking pool. This crate
//! never decides what a job computes or how the server answers if a job is refused.

mod queue;
#[cfg(test)]
mod tests;

use std::{
    hash::Hash,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use svc_core::UserId;
use thiserror::Error;
use tokio::sync::oneshot;
use tracing::warn;

use self::queue::{Job, Queue};

/// The stack of each thread. Only the part that a job uses occupies memory. The server parses and
/// evaluates user text on these threads only, because a stack overflow ends the process.
pub const STACK_BYTES: usize = 8 * 1024 * 1024;
/// The target of log records. The name is older than this crate. It is kept, because operators
/// filter by it.
const LOG_TARGET: &str = "svc_server::fair_pool";
/// How long one job works on a list of items, so that other users get the thread.
const TURN_MAX: Duration = Duration::from_millis(100);

/// Size and bounds of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    /// Name of the threads.
    pub name: &'static str,
    /// The maximum number of threads. They are started when needed.
    pub threads: usize,
    /// The maximum number of jobs of one user that run at the same time.
    pub running_per_user: usize,
    /// The maximum number of jobs of one user that wait or run.
    pub jobs_per_user: usize,
    /// The maximum number of waiting jobs of all users.
    pub waiting_max: usize,
    /// If true and `waiting_max` is reached, a new job replaces the newest waiting job of the user
    /// with the most waiting jobs, provided that this user has at least two more than the user of
    /// the new job.
    pub evicts: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PoolError {
    #[error(
        "you have {limit} requests in progress that need much processor time; one user may have {limit}; try again in a moment"
    )]
    UserFull { limit: usize },
    #[error("too many requests wait for processor time on this server; try again in a moment")]
    Full,
    #[error("the work failed inside the server")]
    Failed,
}

/// `U` identifies a user. Cheap to clone; the threads end with the last clone.
pub struct FairPool<U: PoolUser = UserId>(Arc<Handle<U>>);

pub trait PoolUser: Copy + Eq + Hash + Send + 'static {}

impl<U: Copy + Eq + Hash + Send + 'static> PoolUser for U {}

impl<U: PoolUser> Clone for FairPool<U> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Ends the threads when it is dropped.
struct Handle<U: PoolUser>(Arc<Shared<U>>);

struct Shared<U> {
    options: PoolOptions,
    queue: Mutex<Queue<U>>,
    /// Signalled when a job is queued, and when the pool is closed.
    queued: Condvar,
}

/// Set when the caller of a job stops waiting. Long work checks it and stops.
#[derive(Clone, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Works on items until [`TURN_MAX`] has passed or the caller of the job has stopped waiting.
    /// Returns the results of the first items, of at least one. The caller submits another job for
    /// the rest.
    pub fn work_in_turn<I, T>(&self, items: &[I], work: impl FnMut(&I) -> T) -> Vec<T> {
        let began = Instant::now();
        let is_over = |done: usize| done > 0 && (self.is_set() || began.elapsed() > TURN_MAX);
        let items = items.iter().enumerate();
        let items = items.take_while(|(done, _)| !is_over(*done));
        items.map(|(_, item)| item).map(work).collect()
    }
}

/// Sets the flag when the caller stops waiting.
struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl<U: PoolUser> FairPool<U> {
    pub fn new(options: PoolOptions) -> Self {
        Self(Arc::new(Handle(Arc::new(Shared {
            options,
            queue: Mutex::new(Queue::new(&options)),
            queued: Condvar::new(),
        }))))
    }

    /// Runs `work` on a thread of the pool, as a job of a user. Fails at once if the user has too
    /// many jobs or the queue is full. Dropping the future cancels the job.
    pub async fn run<T: Send + 'static>(
        &self,
        user: U,
        work: impl FnOnce(&Cancelled) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        self.submit(user, work, true).await
    }

    /// Like [`run`](Self::run), without a limit on the number of jobs. For work that is limited
    /// elsewhere and must not fail because its user is busy, such as deliveries and registrations.
    pub async fn run_unbounded<T: Send + 'static>(
        &self,
        user: U,
        work: impl FnOnce(&Cancelled) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        self.submit(user, work, false).await
    }

    async fn submit<T: Send + 'static>(
        &self,
        user: U,
        work: impl FnOnce(&Cancelled) -> T + Send + 'static,
        is_bounded: bool,
    ) -> Result<T, PoolError> {
        let (sender, receiver) = oneshot::channel();
        let cancelled = Cancelled::default();
        let _cancel = CancelOnDrop(cancelled.clone());
        let job: Job = Box::new(move || {
            if cancelled.is_set() {
                return;
            }
            // The panic hook has reported the panic. The thread continues with the next job.
            let done = catch_unwind(AssertUnwindSafe(|| work(&cancelled)));
            let _ = sender.send(done.ok());
        });
        self.0.0.enqueue(user, job, is_bounded)?;
        // The sender is dropped without a result if another job has replaced this one, or if the
        // pool was closed.
        let done = receiver.await.map_err(|_| PoolError::Full)?;
        done.ok_or(PoolError::Failed)
    }
}

impl<U: PoolUser> Shared<U> {
    fn enqueue(self: &Arc<Self>, user: U, job: Job, is_bounded: bool) -> Result<(), PoolError> {
        let options = &self.options;
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Err(PoolError::Failed);
        }
        if is_bounded {
            if queue.jobs_of(user) >= options.jobs_per_user {
                return Err(PoolError::UserFull {
                    limit: options.jobs_per_user,
                });
            }
            if queue.waiting() >= options.waiting_max
                && !(options.evicts && queue.evict_for(user).is_some())
            {
                return Err(PoolError::Full);
            }
        }
        if queue.idle == 0 && queue.threads < options.threads.max(1) {
            match self.start_thread() {
                Ok(()) => queue.threads += 1,
                Err(error) => {
                    warn!(
                        target: LOG_TARGET,
                        "cannot start a thread of the `{}` pool: {error}",
                        options.name
                    );
                    if queue.threads == 0 {
                        return Err(PoolError::Failed);
                    }
                }
            }
        } else if queue.idle > 0 {
            // Decremented here, not by the thread, so that the next job wakes another thread.
            queue.idle -= 1;
            self.queued.notify_one();
        }
        queue.push(user, job);
        Ok(())
    }

    fn start_thread(self: &Arc<Self>) -> io::Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new()
            .name(self.options.name.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || shared.serve())
            .map(drop)
    }

    /// Runs jobs until the pool is closed.
    fn serve(&self) {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_closed {
                return;
            }
            match queue.next() {
                Some((user, job)) => {
                    MutexGuard::unlocked(&mut queue, job);
                    queue.finished(user);
                }
                None => {
                    queue.idle += 1;
                    self.queued.wait(&mut queue);
                }
            }
        }
    }
}

impl<U: PoolUser> Drop for Handle<U> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.is_closed = true;
        // Dropping the waiting jobs drops their senders, which ends the wait of the callers.
        let waiting = queue.take_all();
        drop(queue);
        drop(waiting);
        self.0.queued.notify_all();
    }
}
