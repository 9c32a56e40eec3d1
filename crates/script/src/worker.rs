//! Worker processes, which run the same binary as their parent. Each worker runs one script at a
//! time.
//!
//! Parts: [`child::main`] is the process itself (`svc script-worker`). [`confine`] limits the
//! process, and the [`gauge`] measures its memory. [`Worker`] is the parent's handle. [`Pool`]
//! keeps a few workers for sandboxed jobs and never shares a worker between owners. Parent and
//! worker exchange frames over stdin and stdout ([`protocol`]).
//!
//! Invariant: a script ends at the latest with its process, and the parent can always end the
//! process.

pub mod child;
mod confine;
mod gauge;
mod output;
mod pool;
mod process;
mod request_limit;
mod self_check;
mod stderr_tail;

pub(crate) use confine::without_memory_limit;
pub use pool::{Job, JobHost, Outcome, Pool, PoolOptions};
pub(crate) use process::WORKER_VARIABLES;
pub use process::{NoHost, Program, WorkTimeout, Worker, WorkerEnvironment};
pub use svc_protocol::worker as protocol;
