//! The effect of an attack by one user on another user.
//!
//! A victim calls, emits, lists and logs in at a fixed, modest rate. An attacker, in its own
//! process, does one harmful thing at a fixed rate. The victim is measured in three windows, one
//! after the other: without an attack, during the attack, and beside a control process. The control
//! process only uses CPU time: as much as the attack used in the attacker and in the server. So the
//! third window shows the effect of the lost CPU time alone.

mod attacker;
mod attacks;
mod burn;
mod report;
mod victim;

pub use self::{attacker::attack, burn::burn};

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use svc_testkit::{TestServer, peak_resident_mib, raise_open_files_limit, resident_mib};
use tokio::time::sleep;

use self::{
    attacker::{Attacker, Brief},
    attacks::Attack,
    burn::Burner,
    report::Row,
    victim::{Measured, Victim},
};
use crate::calls::processes::cpu_times;

pub const USAGE: &str = "neighbours [--seconds N] [--only ATTACK]";
/// The default length of a window.
const SECONDS: u64 = 8;
/// Time for an attack to take effect before it is measured.
const WARM_UP: Duration = Duration::from_secs(1);

struct Settings {
    window: Duration,
    only: Option<String>,
}

impl Settings {
    fn parse(mut args: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut settings = Self {
            window: Duration::from_secs(SECONDS),
            only: None,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--seconds" => settings.window = Duration::from_secs(value()?.parse()?),
                "--only" => settings.only = Some(value()?),
                _ => bail!("usage: svc-bench {USAGE}"),
            }
        }
        Ok(settings)
    }
}

pub async fn run(args: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let settings = Settings::parse(args)?;
    let attacks: Vec<Attack> = Attack::ALL
        .into_iter()
        .filter(|attack| {
            let only = settings.only.as_deref();
            only.is_none_or(|only| only == attack.name())
        })
        .collect();
    ensure!(
        !attacks.is_empty(),
        "no attack has that name; there are: {}",
        Attack::ALL.map(Attack::name).join(", ")
    );
    raise_open_files_limit();
    let mut rows = Vec::new();
    for attack in attacks {
        // Each attack has its own server, so that attacks do not influence each other.
        let row = measure(attack, settings.window)
            .await
            .with_context(|| format!("attack `{}`", attack.name()))?;
        report::print_row(&row);
        rows.push(row);
    }
    report::print(&rows);
    let failed: Vec<_> = rows
        .iter()
        .filter(|row| row.attacked.failures > 0)
        .map(|row| row.attack.name())
        .collect();
    ensure!(
        failed.is_empty(),
        "requests of the victim failed during these attacks: {}",
        failed.join(", ")
    );
    Ok(())
}

async fn measure(attack: Attack, window: Duration) -> anyhow::Result<Row> {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .config_table("events", "emits_per_second = 1000000")
        .start()
        .await;
    let victim = Victim::start(&server).await?;
    let hanging = TcpListener::bind("127.0.0.1:0")?;
    let brief = Brief::prepare(attack, &server, &victim, &hanging).await?;
    // Warm-up: the first calls and logins are slower than the rest.
    victim.measure(WARM_UP).await;
    let (quiet, server_quiet) = timed(&server, victim.measure(window)).await?;
    let (memory_before, disk_before) = (resident_mib(server.id()), disk_mib(&server)?);
    let attacker = Attacker::start(attack, &brief).await?;
    sleep(WARM_UP).await;
    let (begun, before) = (Instant::now(), attacker.cpu_time()?);
    let (attacked, server_attacked) = timed(&server, victim.measure(window)).await?;
    let cost = (attacker.cpu_time()? - before).as_secs_f64() / begun.elapsed().as_secs_f64();
    attacker.stop().await?;
    let memory_mib = peak_resident_mib(server.id()).saturating_sub(memory_before);
    let disk_mib = disk_mib(&server)?.saturating_sub(disk_before);
    let cores = cost + (server_attacked - server_quiet).max(0.0);
    let burner = Burner::start(cores)?;
    sleep(WARM_UP).await;
    let control = victim.measure(window).await;
    burner.stop().await?;
    Ok(Row {
        attack,
        cores,
        quiet,
        attacked,
        control,
        memory_mib,
        disk_mib,
    })
}

/// The size of the server's data folder.
fn disk_mib(server: &TestServer) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(server.data_dir())? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes >> 20)
}

/// Returns the measurements, and the number of cores that the server used.
async fn timed(
    server: &TestServer,
    measuring: impl Future<Output = Measured>,
) -> anyhow::Result<(Measured, f64)> {
    let used = || anyhow::Ok(cpu_times(&[server.id()])?.into_iter().sum::<Duration>());
    let (begun, before) = (Instant::now(), used()?);
    let measured = measuring.await;
    let took = used()?.saturating_sub(before);
    Ok((measured, took.as_secs_f64() / begun.elapsed().as_secs_f64()))
}
