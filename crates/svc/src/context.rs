//! Chooses the server and the credential of a command: from saved contexts, from the environment,
//! or through the agent of the space.

mod file;
mod link_wait;
mod resolve;

pub use file::{Context, Contexts, write_private};
pub use link_wait::wait_for_link;
pub use resolve::{
    Connection, Emitter, Via, connect, find_agent, find_agent_socket, for_calls, for_events,
    to_server,
};
