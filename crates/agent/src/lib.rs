//! The agent: the process of `svc` inside a space.
//!
//! The agent holds the links to the servers of its zone, supervises the space's method server, and
//! serves programs of the space on two listeners. It runs every script in a separate process. It
//! never imports the server. On disk it keeps only its discovery file, its socket and its packages,
//! and removes them when it ends. The file of the startup script exists only while the script runs.

mod agent;
mod backoff;
mod child;
mod discovery;
mod guard;
mod health;
mod link;
mod link_status;
mod local_api;
mod log;
mod method_server;
mod outbox;
mod packages;
mod policy;
mod registration;
mod script;
mod server_api;
mod servers;
mod startup;

pub use agent::{Error, Exit, Options, run};
pub use backoff::Backoff;
pub use guard::watch_agent;
pub use local_api::{BindError, LoopbackAccess, SocketError};
pub use method_server::{ChildLine, LineReader};
pub use policy::{EmitRetry, Policy};
