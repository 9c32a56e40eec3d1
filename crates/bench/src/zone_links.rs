//! The links of a zone in which every agent links to every server: memory of the servers, and the time
//! until a server that joins has its links.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use svc_core::ServerId;
use svc_testkit::{
    SimulatedZoneAgents, TestPostgres, TestServerBuilder, TestZone, raise_open_files_limit,
    resident_bytes,
};

pub const USAGE: &str = "zone-links [AGENTS] [METHODS PER AGENT]";

const SERVERS: usize = 3;
/// The member that leaves and joins. It has side links only.
const JOINING: usize = 2;
/// Requests and links in flight at the same time.
const AT_ONCE: usize = 64;
const LIMIT: Duration = Duration::from_secs(180);

pub async fn run(agents: usize, methods: usize) -> anyhow::Result<()> {
    ensure!(
        agents > 0 && methods > 0,
        "at least one agent with one method is required"
    );
    raise_open_files_limit();
    let postgres = TestPostgres::find().context("PostgreSQL is required")?;
    // All simulated agents have the same address.
    let start = |builder: TestServerBuilder| {
        let builder = builder.large_quotas().announced();
        builder.config("max_connections_per_address = 1000000")
    };
    let mut zone = TestZone::start_with(postgres, SERVERS, start).await;
    let joining = id_of(&zone, JOINING).await?;
    let user = zone.server(0).user("ann").await;
    let tokens = user.create_spaces(agents, AT_ONCE).await;
    let before = memory(&zone);
    let homes = [0, 1].map(|member| zone.server(member).address());
    let begun = Instant::now();
    let linked = SimulatedZoneAgents::link(&homes, tokens, methods, AT_ONCE).await;
    let homes_linked = begun.elapsed();
    let all = wait(&linked, joining, agents, begun).await?;
    println!(
        "{agents} agents with {methods} methods each and {SERVERS} servers: home links in {homes_linked:.1?}, all links of the last server in {all:.1?}"
    );
    for (member, (before, after)) in before.into_iter().zip(memory(&zone)).enumerate() {
        println!(
            "server {member}: {} MiB before, {} MiB after: {} bytes for each agent",
            before >> 20,
            after >> 20,
            after.saturating_sub(before) / agents as u64
        );
    }
    zone.server_mut(JOINING).terminate().await;
    zone.restart(JOINING).await;
    let joined = wait(&linked, joining, agents, Instant::now()).await?;
    println!("a server that was stopped and joins again has all its links after {joined:.1?}");
    zone.kill(JOINING);
    zone.restart(JOINING).await;
    let joined = wait(&linked, joining, agents, Instant::now()).await?;
    println!("a server that was killed and joins again has all its links after {joined:.1?}");
    let method = format!("s{}.m0", agents - 1);
    let answer = user
        .at(zone.server(JOINING))
        .call(&method, json!({"x": 1}))
        .await;
    ensure!(answer["result"] == json!({"x": 1}), "{answer}");
    Ok(())
}

fn memory(zone: &TestZone) -> Vec<u64> {
    let members = 0..SERVERS;
    members
        .map(|member| resident_bytes(zone.server(member).id()))
        .collect()
}

/// Waits until the server has a side link of every agent.
async fn wait(
    linked: &SimulatedZoneAgents,
    server: ServerId,
    agents: usize,
    since: Instant,
) -> anyhow::Result<Duration> {
    while linked.sides_of(server) < agents {
        let found = linked.sides_of(server);
        ensure!(since.elapsed() < LIMIT, "{found} of {agents} side links");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(since.elapsed())
}

async fn id_of(zone: &TestZone, member: usize) -> anyhow::Result<ServerId> {
    let listed = zone.admin(member).get("/api/servers").await.expect(200);
    let listed = listed.json();
    let servers = listed["servers"].as_array().context("a list")?;
    let this = servers.iter().find(|server| server["is_this"] == true);
    let id = this.and_then(|this| this["id"].as_str()).context("an id")?;
    id.parse().ok().context("an id")
}
