//! Measures registrations on a server with many methods.

use std::time::Instant;

use anyhow::ensure;
use svc_link::Control;
use svc_testkit::{RawLink, TestServer, TestUser, simulated_registration};

const REGISTRATIONS: usize = 300;

/// The microseconds that each registration of ten methods takes, including the round trip.
pub async fn measure(server: &TestServer, owner: &TestUser) -> anyhow::Result<Vec<f64>> {
    let space = owner.space("registering").await;
    let mut link = RawLink::connect(server.address(), &space.agent_token).await;
    let welcome = link.hello(&[svc_link::VERSION]).await;
    ensure!(matches!(welcome, Control::Welcome(_)), "{welcome:?}");
    let mut times = Vec::new();
    for _ in 0..REGISTRATIONS {
        let registration = simulated_registration(10);
        let begun = Instant::now();
        let answer = link.register(registration).await;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        ensure!(matches!(answer, Control::Registered(_)), "{answer:?}");
    }
    Ok(times)
}
