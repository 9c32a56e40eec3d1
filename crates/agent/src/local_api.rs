//! The agent's two listeners for programs of the space: loopback TCP, which must reject requests
//! from web pages, and a Unix socket, which only the user who runs the agent (or root) may use.

mod bind;
mod event;
mod loopback;
mod packages;
mod problem;
mod proxy;
mod serve;
mod socket;
mod space;

pub use bind::{BindError, Listeners};
pub use event::Events;
pub use packages::PackageRoute;
pub use proxy::Proxy;
pub use serve::{serve_loopback, serve_socket};
pub use socket::{SocketError, SocketFile};
pub use space::SpaceApi;

#[cfg(test)]
pub mod tests;
