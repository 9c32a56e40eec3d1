//! Compares two builds of `svc`: CPU time per call at 64 connections, in interleaved rounds.
//!
//! Three services run at the same time: the old build twice and this build once. The difference
//! between the two old services is noise. A difference between the old build and this build counts
//! only if it is larger than this noise.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::{
    cases::{Case, Target},
    cores::Cores,
    exchange::body,
    shuffle::Shuffle,
    stage::{SMALL, Service},
};

pub const USAGE: &str = "compare OLD_SVC [ROUNDS]";
const CONNECTIONS: usize = 64;
const ROUNDS_MIN: usize = 9;
/// A round measures each service this many times. The result of a round is the mean.
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

/// `svc-bench compare-host`: runs a service until stdin ends.
pub async fn host() -> anyhow::Result<()> {
    let service = Service::start(1_000).await?;
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

pub async fn run(old: &Path, rounds: usize) -> anyhow::Result<()> {
    ensure!(
        rounds >= ROUNDS_MIN,
        "at least {ROUNDS_MIN} rounds are required"
    );
    ensure!(old.is_file(), "`{}` is not a program", old.display());
    let new = svc_testkit::svc_program();
    let names = ["old", "old again", "new"];
    let mut hosts = Vec::new();
    let mut cases = Vec::new();
    for (name, program) in names.into_iter().zip([old, old, &new]) {
        let (child, host) = start(program).with_context(|| format!("the service `{name}`"))?;
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
        let mut sums = vec![PerCall::default(); cases.len()];
        for _ in 0..SLICES {
            for index in shuffle.order(cases.len()) {
                let slice = cases[index].slice(&cores).await?;
                for (sum, cpu) in sums[index].iter_mut().zip(slice.cpu) {
                    *sum += cpu / SLICES as f64;
                }
            }
        }
        // The first round is a warm-up.
        if round > 0 {
            for (sum, all) in sums.into_iter().zip(&mut per_call) {
                all.push(sum);
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
    print(&names, &per_call);
    Ok(())
}

fn start(program: &Path) -> anyhow::Result<(Child, Host)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("compare-host")
        .env(svc_testkit::PROGRAM_VARIABLE, std::path::absolute(program)?)
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
        let (low, middle, high) = quartiles(pairs.map(|(one, old)| sum(one) / sum(old)).collect());
        println!("  {name} / old: {middle:.3} (quartiles {low:.3} to {high:.3})");
    }
}

fn quartiles(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    (at(1), at(2), at(3))
}
