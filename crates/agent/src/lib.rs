//! The agent: the process of ours inside a space.
//!
//! It holds the link to the server, runs and supervises the space's method server, and listens
//! twice for programs of the space. Scripts it runs in processes of their own, never in itself.
//! It never imports the server, and keeps nothing on disk but the files by which others find it,
//! and its packages, while it runs.

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
mod private;
mod registration;
mod script;
mod server_api;
mod servers;
mod startup;

pub use agent::{Error, Exit, Options, run};
pub use backoff::Backoff;
pub use guard::watch_agent;
pub use local_api::{BindError, SocketError};
pub use policy::Policy;
