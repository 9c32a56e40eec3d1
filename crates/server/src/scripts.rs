//! Stores scripts, and runs sink and tool scripts. Startup scripts are only stored here: agents run
//! them in spaces. Libraries are scripts that other scripts import, on the server and in spaces.
//!
//! [`Scripts`] manages and tests scripts for users. [`ScriptRunner`] runs a script in a worker
//! process, within limits, and answers its requests as the user for whom it runs. [`StoredTools`]
//! lists and runs tool scripts. [`InternalApi`] gives scripts access to the server's own API, once
//! the HTTP router exists.
//!
//! Invariant: no line of a script runs in this process. A script never has a permission that its
//! user does not have at that moment, and it has no access to credentials, users or the
//! management of spaces.

mod api;
pub mod check;
mod event;
mod host;
mod options;
mod power;
mod report;
mod runner;
mod sandbox_check;
mod service;
mod slots;
mod tools;
mod trial;

#[cfg(test)]
pub(crate) mod tests;

pub use api::{ActingUser, InternalApi};
pub use check::SourceRejected;
pub use event::{event_json, sample_event};
pub use options::ScriptOptions;
pub use power::withheld_from;
pub use report::{OUTPUT_BYTES_MAX, fault, outline};
pub use runner::{Libraries, Run, RunInput, ScriptRunner, Unavailable};
pub use service::{Scripts, libraries_of, source_of};
pub use slots::WaitingDelivery;
pub use tools::StoredTools;
