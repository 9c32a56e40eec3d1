//! The web interface in a real browser; `cargo verify browser` runs only these tests.
#![allow(clippy::unwrap_used)]

mod browser;
// Installs the OpenID Connect providers that the tests sign in with.
#[allow(dead_code)]
#[path = "../it/judge.rs"]
mod judge;
