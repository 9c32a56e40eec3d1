//! The agent: the process of ours inside a space.
//!
//! It holds the link to the server, runs and supervises the space's method server, and listens
//! twice for programs of the space. It never imports the server, and keeps nothing on disk but
//! the files by which others find it while it runs.

mod agent;
mod backoff;
mod clock;
mod discovery;
mod health;
mod link;
mod local_api;
mod log;
mod method_server;
mod policy;
mod registration;
mod startup;

pub use agent::{Error, Exit, Options, run};
pub use backoff::Backoff;
pub use local_api::{BindError, SocketError};
pub use policy::Policy;
