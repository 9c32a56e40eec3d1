//! The whole agent against a server's end of the link that is played by the test.

mod api;
mod fake_server;
mod link;
mod packages;
mod progress;
mod registration;
mod script_registration;
mod servers;
mod startup;
mod test_agent;
