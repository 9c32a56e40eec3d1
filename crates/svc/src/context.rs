//! Chooses the server and the credential of a command: from saved contexts, from the environment, or
//! through the agent of the space.

mod file;
mod resolve;

pub use file::{Context, Contexts, write_private};
pub use resolve::{
    Connection, Emitter, Via, connect, find_agent, find_agent_socket, for_calls, for_events,
    to_server,
};
