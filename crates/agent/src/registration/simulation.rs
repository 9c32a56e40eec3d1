//! A simulation of supervision: method servers that exit, crash in the middle of a line, hang,
//! write garbage, answer twice or start slowly, while registrations replace each other and callers
//! call, time out and give up.
//!
//! The registrar, the routes, the supervision, the call tables and the framing are those of the
//! product. Programs and the server are simulated, and there is no network. The tests check these
//! promises. Each call gets one answer, and the answer is true. A call is executed at most once,
//! and only by a program of its own registration. A method server has one program at a time. In
//! serial mode one call is executed at a time, also while a registration is replaced. Restarts keep
//! their delays. Nothing takes longer than its limit, and no program outlives the agent.

pub mod bench;
mod order;
pub mod server;
mod world;

use svc_simulation::{Run, check_is_found, check_is_repeatable, check_promises};

use self::{bench::Fault, world::World};

fn simulate(seed: u64) -> Run {
    Run::of(seed, World::run(seed, None))
}

#[test]
fn simulation_keeps_the_promises_of_supervision() {
    check_promises("simulation_keeps_the_promises_of_supervision", simulate);
}

#[test]
fn simulation_of_supervision_depends_on_its_seed_only() {
    check_is_repeatable(simulate);
}

fn check_finds(fault: Fault, promises: &[&str]) {
    let with_fault = |seed| Run::of(seed, World::run(seed, Some(fault)));
    check_is_found(promises, with_fault, simulate);
}

#[test]
fn simulation_finds_a_registration_that_does_not_wait_for_the_replaced_one() {
    check_finds(Fault::NotHeld, &["one at a time:"]);
}

#[test]
fn simulation_finds_restarts_without_delays() {
    check_finds(Fault::NoRestartDelays, &["restarts:"]);
}

#[test]
fn simulation_finds_a_hung_method_server_that_is_not_restarted() {
    check_finds(Fault::HangsForEver, &["in time:"]);
}
