//! Worker processes of our own binary, each running one script at a time.
//!
//! Cast: [`child::main`] is the process itself (`svc script-worker`), which [`confine`] limits and
//! whose memory the [`gauge`] measures; [`Worker`] is one seen from its parent; [`Pool`] keeps a
//! few for sandboxed jobs, never one for two owners. They speak frames over stdin and stdout
//! ([`protocol`]).
//!
//! Invariant: whatever a script does ends with its process at the latest, and that one is ended
//! by its parent.

pub mod child;
mod complaints;
mod confine;
mod gauge;
mod output;
mod pool;
mod process;
pub mod protocol;
mod questions;
mod self_test;

pub(crate) use confine::without_memory_limit;
pub use pool::{Job, JobHost, Outcome, Pool, PoolOptions};
pub(crate) use process::WORKER_VARIABLES;
pub use process::{NoHost, Patience, Program, Surroundings, Worker};
