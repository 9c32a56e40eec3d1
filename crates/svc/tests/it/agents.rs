//! Agents: their local API, their link to the server, and the machine they run on (spec 4.2).

mod link;
mod link_hostile;
mod local_api;
mod local_machine;
mod reconnect;
mod servers;
