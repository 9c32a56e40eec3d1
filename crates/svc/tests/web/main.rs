//! The web interface in a real browser; `cargo verify browser` runs only these tests.
#![allow(clippy::unwrap_used)]

mod browser;
