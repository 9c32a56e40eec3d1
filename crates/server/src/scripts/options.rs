//! The limits of a run, and the size of the pool of workers.

use std::time::Duration;

/// Limits of the scripts that the server runs for users: sinks and tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptOptions {
    /// Time limit of one run.
    pub time: Duration,
    /// Memory limit of one run.
    pub memory_bytes: usize,
    /// Scripts that run at the same time; at least 1.
    pub workers: usize,
    /// How long a worker process without work waits for the next script of its owner.
    pub idle: Duration,
    /// A script that does not stop at its time limit is killed after this further time.
    pub kill_after: Duration,
    /// How long a script waits for a slot.
    pub wait: Duration,
}

impl Default for ScriptOptions {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5),
            memory_bytes: 128 * 1024 * 1024,
            workers: std::thread::available_parallelism().map_or(2, usize::from),
            idle: Duration::from_secs(5),
            kill_after: Duration::from_millis(500),
            wait: Duration::from_secs(30),
        }
    }
}
