//! A simulation of delivery: one to three servers of a zone share a database, emit events and
//! deliver them, while servers are killed, frozen and restarted, commits fail and receivers
//! misbehave.
//!
//! The delivery engine, the store and its statements are those of the product. The clock is
//! simulated, so that an hour passes in milliseconds, and one thread runs everything. `journal`
//! records what the receivers see and checks some promises during the run; `checks` compares the
//! journal with the database.

mod checks;
mod journal;
mod receiver;
mod server;
mod world;

use svc_simulation::{Run, check_is_found, check_is_repeatable, check_promises};
use svc_store::simulated::PlantedFault;

use self::world::{Fault, World};

fn simulate(seed: u64) -> Run {
    Run::of(seed, World::run(seed, None))
}

#[test]
fn simulation_keeps_the_promises_of_delivery() {
    check_promises("simulation_keeps_the_promises_of_delivery", simulate);
}

#[test]
fn simulation_of_delivery_depends_on_its_seed_only() {
    check_is_repeatable(simulate);
}

fn check_finds(fault: Fault, promises: &[&str]) {
    let with_fault = |seed| Run::of(seed, World::run(seed, Some(fault)));
    check_is_found(promises, with_fault, simulate);
}

#[test]
fn simulation_finds_a_missing_fence_check() {
    let fault = Fault::Store(PlantedFault::FenceNotChecked);
    check_finds(
        fault,
        &["one in flight:", "order:", "attempts:", "capacity:"],
    );
}

#[test]
fn simulation_finds_an_acknowledgement_before_the_commit() {
    let fault = Fault::Store(PlantedFault::EarlyAcknowledgement);
    check_finds(fault, &["at least once:"]);
}

#[test]
fn simulation_finds_a_lost_wake_up() {
    check_finds(Fault::LostWakeUp, &["prompt:"]);
}
