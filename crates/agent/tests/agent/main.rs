//! The whole agent against a server end of the link that the test controls.

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
