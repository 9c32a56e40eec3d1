//! Stored scripts, and running those that run on the server: sinks and tools.
//!
//! Cast: [`Scripts`] is how people manage and try them; [`ScriptRunner`] runs one in a worker
//! process, within its limits, and answers what it asks as the user it runs for; [`StoredTools`] lists
//! and runs those that are tools; [`InternalApi`] is the port to the server's own API, which the HTTP
//! layer opens. Startup scripts and libraries are kept here and run elsewhere: in spaces.
//!
//! Invariant: no line of a script runs in this process. A script is never more than the user it
//! runs for is at that moment, and less than they are: it reaches no credentials, no users, no
//! management of spaces.

mod api;
pub mod check;
mod error;
mod event;
mod host;
mod options;
mod power;
mod proof;
mod report;
mod runner;
mod service;
mod tools;
mod trying;
mod turns;

#[cfg(test)]
pub(crate) mod tests;

pub use api::{ActsFor, InternalApi};
pub use check::Untaken;
pub use error::ScriptsError;
pub use event::event_json;
pub use options::ScriptOptions;
pub use power::withheld_from;
pub use report::{OUTPUT_BYTES_MAX, fault, outline};
pub use runner::{Libraries, Run, ScriptRunner, Unavailable, What};
pub use service::{Scripts, libraries_of, source_of};
pub use tools::{ScriptTool, StoredTools};
pub use turns::Waiting;
