//! What grows with an installation: methods, links, and all of them coming back at once.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use serde_json::json;
use svc_protocol::link::{self, Control};
use svc_testkit::{
    RawLink, SimulatedAgents, TestServer, TestUser, raise_open_files_limit, resident_bytes,
    simulated_registration,
};

/// Requests and links under way at the same time.
const AT_ONCE: usize = 64;
/// Links that come back at the same time; a listener's queue holds about as many.
const STORM_AT_ONCE: usize = 1_000;
const REGISTRATIONS: usize = 300;

/// What many idle links cost.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    pub count: usize,
    /// Of the server with all links up, in bytes.
    pub memory: u64,
    pub memory_before: u64,
    pub linking: Duration,
    /// From the restarted server's first word until every link is back.
    pub storm: Duration,
}

/// Times of registering ten methods on a link of a server that has many, in microseconds. The way
/// to the server and back is in them.
pub async fn registration(server: &TestServer, owner: &TestUser) -> anyhow::Result<Vec<f64>> {
    let space = owner.space("registering").await;
    let mut link = RawLink::connect(server.address(), &space.agent_token).await;
    let welcome = link.hello(&[link::VERSION]).await;
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

pub async fn links(count: usize) -> anyhow::Result<Links> {
    raise_open_files_limit();
    let mut server = TestServer::start().await;
    let user = server.user("ann").await;
    let tokens = user.create_spaces(count, AT_ONCE).await;
    let memory_before = resident_bytes(server.id());
    let begun = Instant::now();
    let agents = SimulatedAgents::link(server.address(), tokens.clone(), 1, AT_ONCE).await;
    let linking = begun.elapsed();
    check(&user, count).await?;
    let memory = resident_bytes(server.id());
    server.kill9();
    drop(agents);
    server.start_again().await;
    let begun = Instant::now();
    let agents = SimulatedAgents::link(server.address(), tokens, 1, STORM_AT_ONCE).await;
    let storm = begun.elapsed();
    check(&user, count).await?;
    ensure!(agents.len() == count, "{} links are back", agents.len());
    Ok(Links {
        count,
        memory,
        memory_before,
        linking,
        storm,
    })
}

/// A call through the last of the links.
async fn check(user: &TestUser, count: usize) -> anyhow::Result<()> {
    let method = format!("s{}.m0", count - 1);
    let answer = user.call(&method, json!({"x": 1})).await;
    if answer["result"] != json!({"x": 1}) {
        bail!("`{method}` answered {answer}");
    }
    Ok(())
}
