//! The whole agent against a server's end of the link that is played by the test.

mod fake_server;
mod link;
mod registration;
