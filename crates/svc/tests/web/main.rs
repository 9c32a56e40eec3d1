//! The web interface in a real browser; `cargo verify browser` runs these tests alone.
#![allow(clippy::unwrap_used)]

mod browser;
