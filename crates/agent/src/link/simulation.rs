//! A simulation of links: connections that are refused, slow, cut in the middle of a frame, or
//! silent for longer than the heartbeat, and servers that refuse, restart and answer late.
//! Meanwhile users replace the registration, and callers call, time out and give up.
//!
//! The agent's link with its reconnects, the registrar with its restores, the supervision, and both
//! ends of `svc_link` with handshake, frames, heartbeats and goodbyes are those of the product. The
//! network, the server's decisions and the programs are simulated. The tests check the promises of
//! the simulation of supervision, and these. After the disturbances, the agent is linked, and the
//! server has the registration that the user was last told to be in force. Every call ends with one
//! answer or with the loss of its link. A link does not time out while frames arrive. The attempts
//! to link keep their delays.

mod attempts;
mod network;
mod server;
mod wire;
mod world;

pub use self::network::Network;

use svc_simulation::{Run, check_is_found, check_is_repeatable, check_promises};

use self::world::{Fault, World};

fn simulate(seed: u64) -> Run {
    Run::of(seed, World::run(seed, None))
}

#[test]
fn simulation_keeps_the_promises_of_links() {
    check_promises("simulation_keeps_the_promises_of_links", simulate);
}

#[test]
fn simulation_of_links_depends_on_its_seed_only() {
    check_is_repeatable(simulate);
}

fn check_finds(fault: Fault, promises: &[&str]) {
    let with_fault = |seed| Run::of(seed, World::run(seed, Some(fault)));
    check_is_found(promises, with_fault, simulate);
}

#[test]
fn simulation_finds_a_registration_that_is_not_restored() {
    check_finds(Fault::NotRestored, &["registrations:"]);
}

#[test]
fn simulation_finds_calls_that_are_sent_again_after_a_lost_link() {
    check_finds(Fault::SentAgain, &["at most once:", "right program:"]);
}

#[test]
fn simulation_finds_reconnects_without_delays() {
    check_finds(Fault::NoReconnectDelays, &["reconnects:"]);
}
