//! Counts instructions per call with callgrind. Other work on the machine does not change this
//! count. Counting is slow, so it runs only with `--instructions`.

use std::path::Path;

use anyhow::{Context, ensure};
use svc_testkit::{RegistrationToml, TestServer, TestUser, method, under};

use super::{
    cases::{Case, Target},
    exchange::body,
    load,
};

/// The numbers of calls in the two runs. The difference between the runs is the cost of the calls
/// alone, without the start and the end of the processes.
const FEW: usize = 500;
const MANY: usize = 2_500;

pub async fn run() -> anyhow::Result<()> {
    let few = count(FEW).await?;
    let many = count(MANY).await?;
    let each = |few: u64, many: u64| (many.saturating_sub(few)) as f64 / (MANY - FEW) as f64;
    let (server, agent) = (each(few.0, many.0), each(few.1, many.1));
    println!(
        "instructions per call, one connection, in the processes themselves (not the kernel):"
    );
    println!(
        "server {server:>9.0}\nagent  {agent:>9.0}\nboth   {:>9.0}",
        server + agent
    );
    Ok(())
}

/// Instructions of a server and an agent for this many calls.
async fn count(calls: usize) -> anyhow::Result<(u64, u64)> {
    let folder = tempfile::tempdir()?;
    let out = |name: &str| folder.path().join(name);
    let tool = |name: &str| {
        let file = format!("--callgrind-out-file={}", out(name).display());
        ["valgrind", "--tool=callgrind", "-q", &file].map(str::to_owned)
    };
    let words = tool("server");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut server = TestServer::builder().under(&words).start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let words = tool("agent");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let command = under(&words, &space.agent_command(space.folder()));
    let mut agent = space.spawn_command(space.folder(), command);
    agent.wait_until_linked().await;
    let program = std::env::current_exe()?;
    let registration =
        RegistrationToml::of(&program, &["echo-method-server"]).with(method("echo", "echo"));
    agent.register(registration).await.expect(0);
    serial_calls(&server, &ann, calls).await?;
    agent.stop().await;
    server.terminate().await;
    Ok((instructions(&out("server"))?, instructions(&out("agent"))?))
}

async fn serial_calls(server: &TestServer, user: &TestUser, calls: usize) -> anyhow::Result<()> {
    let target = Target {
        address: server.address(),
        token: user.token.clone(),
        processes: Vec::new(),
    };
    let case = Case::new("counted", &target, 1, body("echo", 100, 1)).await?;
    let times = tokio::task::spawn_blocking(move || {
        load::run_many(case.target.address, &case.exchange, calls)
    });
    let times = times.await.context("the load generator failed")??;
    ensure!(times == calls, "{times} answers");
    Ok(())
}

fn instructions(file: &Path) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(file)
        .context("callgrind left no figures; is valgrind installed?")?;
    let total = text.lines().find_map(|line| {
        let rest = line
            .strip_prefix("totals:")
            .or_else(|| line.strip_prefix("summary:"));
        rest?.trim().parse().ok()
    });
    total.context("callgrind's file has no total")
}
