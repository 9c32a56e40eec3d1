//! Registrations that replace each other quickly. Each of these orders was once broken: a method
//! server got calls while an older one still worked, although one of the two is serial.

use std::{sync::Arc, time::Duration};

use svc_simulation::{Random, Run, Trace};
use tokio::time::sleep;

use super::{
    bench::{Bench, CallLimit, call_payload, register_file, space},
    server::{DirectServer, LINK},
};
use crate::{link_status::LinkStatus, outbox::Caller, policy::Policy};

/// Enough calls for several seconds of work.
const CALLS: u64 = 8;

enum Step {
    Register(CallLimit),
    /// Sends calls to the registration in force.
    Call,
    Unregister,
}

async fn perform(seed: u64, steps: &[Step]) -> Arc<Trace> {
    let mut random = Random::new(seed);
    let bench = Bench::new(&mut random, Policy::default(), None);
    bench.status.send_replace(LinkStatus {
        link: Some(LINK),
        space: Some(space()),
        ..LinkStatus::default()
    });
    let server = DirectServer::start(&bench, Random::new(random.number()));
    bench.programs.calm_down();
    server.calm_down();
    let mut calls = 0;
    for (number, step) in (1..).zip(steps) {
        match step {
            Step::Register(limit) => {
                let registered = bench.registrar.register(register_file(number, *limit));
                registered.await.expect("a program that starts");
            }
            Step::Call => {
                for _ in 0..CALLS {
                    calls += 1;
                    let current = server.current().expect("a registration");
                    let payload = call_payload(current.generation, calls, &mut random);
                    // The end of the call is in the ledger.
                    drop(bench.ledger.sends(calls, current.number));
                    let (link, frame) = (LINK, calls);
                    let caller = Caller { link, frame };
                    bench.registrar.routes.call(caller, payload);
                }
            }
            Step::Unregister => {
                let removed = bench.registrar.unregister(None);
                removed.await.expect("the server accepts it");
            }
        }
    }
    sleep(Duration::from_secs(60)).await;
    bench.finish().await;
    bench.trace
}

fn check(steps: &[Step]) {
    for seed in 0..20 {
        let run = Run::of(seed, perform(seed, steps));
        assert_eq!(run.broken, Vec::<String>::new(), "{}", run.trace.join("\n"));
    }
}

#[test]
fn two_quick_registrations_wait_for_a_serial_one() {
    check(&[
        Step::Register(CallLimit::One),
        Step::Call,
        Step::Register(CallLimit::None),
        Step::Register(CallLimit::None),
        Step::Call,
    ]);
}

#[test]
fn a_serial_registration_waits_for_all_older_ones() {
    check(&[
        Step::Register(CallLimit::Two),
        Step::Call,
        Step::Register(CallLimit::None),
        Step::Register(CallLimit::One),
        Step::Call,
    ]);
}

#[test]
fn a_registration_after_a_removal_waits_for_the_older_serial_one() {
    check(&[
        Step::Register(CallLimit::One),
        Step::Call,
        Step::Register(CallLimit::None),
        Step::Unregister,
        Step::Register(CallLimit::None),
        Step::Call,
    ]);
}
