//! Limits of a run and sizes of the pool of workers.

use std::time::Duration;

/// Scripts of users that the server runs: sinks and tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptOptions {
    /// Time of one run.
    pub time: Duration,
    /// Memory of one run.
    pub memory_bytes: usize,
    /// Scripts that run at once; at least 1.
    pub workers: usize,
    /// How long a worker waits for the next script of its owner.
    pub idle: Duration,
    /// After its time, a script that does not stop by itself is killed this much later.
    pub kill_after: Duration,
    /// How long a script waits for its turn.
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
