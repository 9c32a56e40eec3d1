//! Measures a zone in which every agent links to every server: the memory of the servers, and the
//! time until a server that joins has all its links.

use std::{
    net::SocketAddr,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::ServerId;
use svc_testkit::{
    SimulatedZoneAgents, TestPostgres, TestServerBuilder, TestZone, raise_open_files_limit,
    resident_bytes,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

pub const USAGE: &str = "zone-links [AGENTS] [METHODS PER AGENT]";

const SERVERS: usize = 3;
/// The server that leaves and joins again. It has side links only.
const JOINING: usize = 2;
/// How many spaces are created at the same time, and how many agents of one process link at the
/// same time.
const AT_ONCE: usize = 64;
const LIMIT: Duration = Duration::from_secs(180);
/// Agents in one process. A process can often open only 20,000 files, and each agent has a link to
/// each server.
const AGENTS_PER_PROCESS: usize = 5_000;

pub async fn run(agents: usize, methods: usize) -> anyhow::Result<()> {
    ensure!(
        agents > 0 && methods > 0,
        "at least one agent with one method is required"
    );
    raise_open_files_limit();
    let postgres = TestPostgres::find().context("PostgreSQL is required")?;
    let start = |builder: TestServerBuilder| builder.large_quotas().announced();
    let mut zone = TestZone::start_with(postgres, SERVERS, start).await;
    let joining = id_of(&zone, JOINING).await?;
    let user = zone.server(0).user("ann").await;
    let tokens = user.create_spaces(agents, AT_ONCE).await;
    let before = memory(&zone);
    let homes = [0, 1].map(|member| zone.server(member).address());
    let begun = Instant::now();
    let mut linked = Agents::link(&homes, &tokens, methods).await?;
    let homes_linked = begun.elapsed();
    let all = wait(&mut linked, joining, agents, begun).await?;
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
    let joined = wait(&mut linked, joining, agents, Instant::now()).await?;
    println!("a server that was stopped and joins again has all its links after {joined:.1?}");
    zone.kill(JOINING);
    zone.restart(JOINING).await;
    let joined = wait(&mut linked, joining, agents, Instant::now()).await?;
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

/// Waits until the server has a side link of every agent. Returns the time since `since`.
async fn wait(
    linked: &mut Agents,
    server: ServerId,
    agents: usize,
    since: Instant,
) -> anyhow::Result<Duration> {
    loop {
        let found = linked.sides_of(server).await?;
        if found >= agents {
            return Ok(since.elapsed());
        }
        ensure!(since.elapsed() < LIMIT, "{found} of {agents} side links");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The simulated agents, in processes of their own.
struct Agents {
    processes: Vec<AgentProcess>,
}

struct AgentProcess {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Killed when dropped.
    _process: Child,
}

/// The first line that a process of agents reads. The process answers with a line when all its
/// agents are linked. Each later line is the id of a server. The process answers with the number of
/// side links to this server.
#[derive(Serialize, Deserialize)]
struct Brief {
    homes: Vec<SocketAddr>,
    tokens: Vec<String>,
    methods: usize,
}

impl Agents {
    async fn link(homes: &[SocketAddr], tokens: &[String], methods: usize) -> anyhow::Result<Self> {
        let mut processes = Vec::new();
        for tokens in tokens.chunks(AGENTS_PER_PROCESS) {
            let brief = Brief {
                homes: homes.to_vec(),
                tokens: tokens.to_vec(),
                methods,
            };
            processes.push(AgentProcess::start(&brief).await?);
        }
        for process in &mut processes {
            process.read().await?;
        }
        Ok(Self { processes })
    }

    async fn sides_of(&mut self, server: ServerId) -> anyhow::Result<usize> {
        let mut sum = 0;
        for process in &mut self.processes {
            process
                .input
                .write_all(format!("{server}\n").as_bytes())
                .await?;
            sum += process.read().await?.parse::<usize>()?;
        }
        Ok(sum)
    }
}

impl AgentProcess {
    async fn start(brief: &Brief) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("zone-agents")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut input = process.stdin.take().context("stdin is a pipe")?;
        let output = process.stdout.take().context("stdout is a pipe")?;
        input
            .write_all(serde_json::to_string(brief)?.as_bytes())
            .await?;
        input.write_all(b"\n").await?;
        Ok(Self {
            input,
            output: BufReader::new(output).lines(),
            _process: process,
        })
    }

    async fn read(&mut self) -> anyhow::Result<String> {
        let line = self.output.next_line().await?;
        line.context("a process of agents ended")
    }
}

/// `svc-bench zone-agents`: a process of simulated agents.
pub async fn agents() -> anyhow::Result<()> {
    raise_open_files_limit();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let brief = lines.next_line().await?.context("a brief")?;
    let brief: Brief = serde_json::from_str(&brief)?;
    let linked =
        SimulatedZoneAgents::link(&brief.homes, brief.tokens, brief.methods, AT_ONCE).await;
    println!("linked");
    while let Some(server) = lines.next_line().await? {
        let server: ServerId = server.parse().ok().context("an id")?;
        println!("{}", linked.sides_of(server));
    }
    Ok(())
}

async fn id_of(zone: &TestZone, member: usize) -> anyhow::Result<ServerId> {
    let listed = zone.admin(member).get("/api/servers").await.expect(200);
    let listed = listed.json();
    let servers = listed["servers"].as_array().context("a list")?;
    let this = servers.iter().find(|server| server["is_this"] == true);
    let id = this.and_then(|this| this["id"].as_str()).context("an id")?;
    id.parse().ok().context("an id")
}
