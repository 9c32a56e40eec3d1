//! Compares services: CPU time per call at 64 connections, in interleaved rounds.
//!
//! All services run at the same time. The first two are equal, so their difference is noise. A
//! difference between other services counts only if it is larger than this noise.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use svc_testkit::{TestReceiver, TestServer};

use super::{
    cases::{Case, Target},
    cores::Cores,
    exchange::body,
    processes,
    shuffle::Shuffle,
    stage::{SMALL, Service},
};

pub const USAGE: &str = "compare OLD_SVC [ROUNDS] | observe [ROUNDS]";
const CONNECTIONS: usize = 64;
const ROUNDS_MIN: usize = 9;
/// Slices of each service in a round.
const SLICES: usize = 4;

const PROCESSES: [&str; 3] = ["server", "agent", "method server"];

/// Microseconds of CPU of each process, per call.
type PerCall = [f64; PROCESSES.len()];

/// A service that another process runs: its address, a token and the ids of its processes.
#[derive(Serialize, Deserialize)]
struct Host {
    address: std::net::SocketAddr,
    token: String,
    processes: Vec<u32>,
}

/// A service to compare.
struct Candidate<'a> {
    name: &'a str,
    program: &'a Path,
    /// Variables of the server's environment.
    settings: Vec<(&'a str, &'a str)>,
}

/// `svc-bench compare-host`: runs a service until stdin ends. `settings` is a JSON list of pairs:
/// variables of the server's environment.
pub async fn host(settings: &str) -> anyhow::Result<()> {
    let settings: Vec<(String, String)> = serde_json::from_str(settings)?;
    let mut server = TestServer::builder();
    for (name, value) in &settings {
        server = server.env(name, value);
    }
    let service = Service::start_on(server, 1_000).await?;
    let Target {
        address,
        token,
        processes,
    } = service.target.clone();
    let host = Host {
        address,
        token,
        processes,
    };
    println!("{}", serde_json::to_string(&host)?);
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()))
        .await??;
    drop(service);
    Ok(())
}

/// Compares an old build with this build.
pub async fn run(old: &Path, rounds: usize) -> anyhow::Result<()> {
    ensure!(old.is_file(), "`{}` is not a program", old.display());
    let new = svc_testkit::svc_program();
    let candidate = |name, program| Candidate {
        name,
        program,
        settings: Vec::new(),
    };
    compare(
        &[
            candidate("old", old),
            candidate("old again", old),
            candidate("new", &new),
        ],
        rounds,
    )
    .await
}

/// Compares a server that records no calls with two other servers: one records every call in the
/// call journal, the other also exports one call of a hundred as a trace.
pub async fn observe(rounds: usize) -> anyhow::Result<()> {
    let collector = TestReceiver::start().await;
    let collector_url = collector.url("");
    let program = svc_testkit::svc_program();
    let candidate = |name, settings| Candidate {
        name,
        program: &program,
        settings,
    };
    let off = ("SVC_JOURNAL_ROWS", "0");
    let traces = vec![
        ("SVC_TRACES_OTLP_URL", collector_url.as_str()),
        ("SVC_TRACES_SAMPLE", "0.01"),
    ];
    compare(
        &[
            candidate("off", vec![off]),
            candidate("off again", vec![off]),
            candidate("journal", Vec::new()),
            candidate("traces", traces),
        ],
        rounds,
    )
    .await?;
    let exports = collector.count("/v1/traces");
    ensure!(exports > 0, "no trace was exported");
    println!("`traces` has the journal too; its server made {exports} exports");
    Ok(())
}

async fn compare(candidates: &[Candidate<'_>], rounds: usize) -> anyhow::Result<()> {
    ensure!(
        rounds >= ROUNDS_MIN,
        "at least {ROUNDS_MIN} rounds are required"
    );
    let mut hosts = Vec::new();
    let mut cases = Vec::new();
    for candidate in candidates {
        let name = candidate.name;
        let (child, host) = start(candidate).with_context(|| format!("the service `{name}`"))?;
        hosts.push(child);
        let target = Target {
            address: host.address,
            token: host.token,
            processes: host.processes,
        };
        cases.push(Case::new(name, &target, CONNECTIONS, body("echo", SMALL, 1)).await?);
    }
    let cores = Cores::arrange(&cases, true);
    let mut shuffle = Shuffle::seeded();
    let mut per_call: Vec<Vec<PerCall>> = vec![Vec::new(); cases.len()];
    for round in 0..=rounds {
        let before = cpu_times(&cases)?;
        let mut calls = vec![0; cases.len()];
        for _ in 0..SLICES {
            for index in shuffle.order(cases.len()) {
                calls[index] += cases[index].slice(&cores).await?.calls;
            }
        }
        // Includes the work that a service does after its calls, such as writing the call journal.
        let after = cpu_times(&cases)?;
        // The first round is a warm-up.
        if round > 0 {
            for (index, all) in per_call.iter_mut().enumerate() {
                all.push(std::array::from_fn(|process| {
                    let spent = after[index][process].saturating_sub(before[index][process]);
                    spent.as_secs_f64() * 1e6 / calls[index] as f64
                }));
            }
        }
        eprint!("\rround {round} of {rounds}");
    }
    eprintln!();
    cores.release()?;
    for mut child in hosts {
        drop(child.stdin.take());
        child.wait()?;
    }
    let names: Vec<_> = candidates.iter().map(|candidate| candidate.name).collect();
    print(&names, &per_call);
    Ok(())
}

/// The CPU time of the processes of each case so far.
fn cpu_times(cases: &[Case]) -> anyhow::Result<Vec<Vec<Duration>>> {
    cases
        .iter()
        .map(|case| processes::cpu_times(&case.target.processes))
        .collect()
}

fn start(candidate: &Candidate<'_>) -> anyhow::Result<(Child, Host)> {
    let program = std::path::absolute(candidate.program)?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg("compare-host")
        .arg(serde_json::to_string(&candidate.settings)?)
        .env(svc_testkit::PROGRAM_VARIABLE, program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let host = serde_json::from_str(&line).context("the service did not start")?;
    Ok((child, host))
}

fn print(names: &[&str], per_call: &[Vec<PerCall>]) {
    println!(
        "CPU per call at {CONNECTIONS} connections, {} rounds of {SLICES} slices",
        per_call[0].len()
    );
    let sum = |round: &PerCall| round.iter().sum::<f64>();
    for (name, rounds) in names.iter().zip(per_call) {
        let (low, middle, high) = quartiles(rounds.iter().map(sum).collect());
        let processes = PROCESSES.iter().enumerate().map(|(index, process)| {
            let (_, middle, _) = quartiles(rounds.iter().map(|round| round[index]).collect());
            format!("{process} {middle:.2}")
        });
        let processes = processes.collect::<Vec<_>>().join(", ");
        println!("  {name:<12}{middle:>8.2} us (quartiles {low:.2} to {high:.2}): {processes}");
    }
    for (name, rounds) in names.iter().zip(per_call).skip(1) {
        let pairs = rounds.iter().zip(&per_call[0]);
        let ratios = pairs.map(|(one, first)| sum(one) / sum(first));
        let (low, middle, high) = quartiles(ratios.collect());
        let first = names[0];
        println!("  {name} / {first}: {middle:.3} (quartiles {low:.3} to {high:.3})");
    }
}

fn quartiles(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    (at(1), at(2), at(3))
}
