//! The product from outside: the real `svc` program, real HTTP, real processes.
//!
//! One folder per subject. The name of a test for a rule of the specification starts with the name
//! of the rule (`v3_`, `d2_`). If the rule has no name, the name of the test starts with the
//! section (`s6_5_`). So `cargo it v3` and `cargo it 6_5` find the test. Every test has its own
//! server, data folder and ports, and waits for conditions. A test waits for a fixed time only
//! if there is no condition: to check that something does not happen, or to act at a certain time,
//! such as shortly before a period ends.
#![allow(clippy::unwrap_used)]

mod agents;
mod audit;
mod calls;
mod cli;
mod events;
mod examples;
mod faults;
mod http;
mod identity;
mod judge;
mod mcp;
mod methods;
mod oauth;
mod oidc;
mod operations;
mod records;
mod scripts;
mod second_factor;
mod snapshot;
mod sources;
mod spaces;
mod web;
mod zone;

use std::time::Duration;

/// Time limit for effects that should come at once. Long, because the machine may be busy.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn the_program_under_test_is_the_one_cargo_built() {
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_svc"));
    assert_eq!(svc_testkit::svc_program(), built);
}
