//! The agent's two listeners for programs of the space: loopback TCP, which must reject requests
//! from web pages, and a Unix socket. Only the user who runs the agent and root may use them; the
//! setting `agent.loopback` changes this for loopback TCP.

mod bind;
mod event;
mod gate;
mod loopback;
mod packages;
mod problem;
mod proxy;
mod serve;
mod socket;
mod space;
mod tcp_peer;

pub use bind::{BindError, Listeners};
pub use event::Events;
pub use gate::LoopbackAccess;
pub use packages::PackageRoute;
pub use proxy::Proxy;
pub use serve::{serve_loopback, serve_socket};
pub use socket::{SocketError, SocketFile};
pub use space::SpaceApi;

#[cfg(test)]
pub mod tests;
