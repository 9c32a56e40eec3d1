//! The whole agent with a fake server: the test controls the server's end of the link.

mod api;
mod fake_server;
mod link;
mod packages;
mod progress;
mod registration;
mod script_registration;
mod servers;
mod sides;
mod startup;
mod test_agent;
