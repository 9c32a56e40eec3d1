//! The web interface in a real browser; `cargo verify browser` runs only these tests.
#![allow(clippy::unwrap_used)]

mod browser;
// The providers to sign in with are installed like the judges of `tests/it`.
#[allow(dead_code)]
#[path = "../it/judge.rs"]
mod judge;
