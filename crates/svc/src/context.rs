//! Whom the CLI speaks to: saved contexts, the environment, or the agent of the space it runs in.

mod file;
mod resolve;

pub use file::{Context, Contexts, write_private};
pub use resolve::{
    Connection, Emitter, Via, connect, find_agent, find_agent_socket, for_calls, for_events,
    to_server,
};
