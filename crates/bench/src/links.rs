//! The cost of many idle links, and the time until all of them are back after a crash.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use serde_json::{Value, json};
use svc_testkit::{SimulatedAgents, TestServer, TestUser, raise_open_files_limit, resident_bytes};

/// Spaces that are created, or links that are opened, at the same time.
const AT_ONCE: usize = 64;
/// Links that reconnect at the same time.
const STORM_AT_ONCE: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub struct Links {
    pub count: usize,
    /// Memory of the server with all links, in bytes.
    pub memory: u64,
    pub memory_before: u64,
    pub linking: Duration,
    /// Time from the moment when the restarted server is ready until every link is back.
    pub storm: Duration,
}

impl Links {
    pub fn bytes_each(&self) -> u64 {
        self.memory.saturating_sub(self.memory_before) / self.count.max(1) as u64
    }

    pub fn json(&self) -> Value {
        json!({
            "links": self.count,
            "server_bytes": self.memory,
            "server_bytes_before": self.memory_before,
            "linking_s": self.linking.as_secs_f64(),
            "storm_s": self.storm.as_secs_f64(),
        })
    }
}

pub async fn run(count: usize, methods: usize) -> anyhow::Result<()> {
    let links = measure(count, methods).await?;
    println!(
        "{count} links with {methods} methods each, linked in {:.1?}",
        links.linking
    );
    println!(
        "server memory before {} MiB, after {} MiB: {} bytes for an idle link and its methods",
        links.memory_before >> 20,
        links.memory >> 20,
        links.bytes_each()
    );
    println!(
        "all of them back in {:.1?} after the server was killed and restarted",
        links.storm
    );
    Ok(())
}

/// Links `count` agents with `methods` methods each, kills and restarts the server, and links the
/// agents again.
pub async fn measure(count: usize, methods: usize) -> anyhow::Result<Links> {
    ensure!(
        count > 0 && methods > 0,
        "at least one link with one method is required"
    );
    raise_open_files_limit();
    let mut server = TestServer::builder().large_quotas().start().await;
    let user = server.user("ann").await;
    let tokens = user.create_spaces(count, AT_ONCE).await;
    let memory_before = resident_bytes(server.id());
    let begun = Instant::now();
    let agents = SimulatedAgents::link(server.address(), tokens.clone(), methods, AT_ONCE).await;
    let linking = begun.elapsed();
    check(&user, count).await?;
    let memory = resident_bytes(server.id());
    server.kill9();
    drop(agents);
    server.start_again().await;
    let begun = Instant::now();
    let agents = SimulatedAgents::link(server.address(), tokens, methods, STORM_AT_ONCE).await;
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

/// Checks a call through the last link.
async fn check(user: &TestUser, count: usize) -> anyhow::Result<()> {
    let method = format!("s{}.m0", count - 1);
    let answer = user.call(&method, json!({"x": 1})).await;
    if answer["result"] != json!({"x": 1}) {
        bail!("`{method}` answered {answer}");
    }
    Ok(())
}
