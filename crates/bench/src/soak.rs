//! Puts a mixed load on a server for hours. Checks that no error occurs, and that memory, file
//! descriptors, threads and the database do not keep growing.
//!
//! The load is light (about a third of the capacity of two cores), so that a run can last a night
//! while the machine does other work. The settings bound everything that a server stores, except
//! its audit log, so that a steady state is reached within minutes.

mod hook;
mod load;
mod tally;
mod trend;
mod watch;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use svc_testkit::{
    RegistrationToml, TestServer, TestUser, fixture, method, raise_open_files_limit,
};
use tokio::sync::watch as channel;

use self::{
    hook::Hook,
    load::Load,
    tally::Tally,
    watch::{SAMPLE_EVERY, Watch},
};

pub const USAGE: &str = "soak [--hours N | --minutes N]";
const MINUTE: Duration = Duration::from_secs(60);
/// The maximum number of errors of the server's log that are printed.
const ERRORS_SHOWN: usize = 20;

/// Bounds of the stored events and of the journal, which a light load reaches within minutes. The
/// load never reaches the quota of sinks.
const QUOTAS: &str = "event_bytes = 2000000\nsinks = 1000\n";
const JOURNAL: &str = "rows_per_owner = 2000\n";

fn duration(mut args: impl Iterator<Item = String>) -> anyhow::Result<Duration> {
    let mut length = 10 * MINUTE;
    while let Some(arg) = args.next() {
        let unit = match arg.as_str() {
            "--hours" => 60 * MINUTE,
            "--minutes" => MINUTE,
            _ => bail!("usage: svc-bench {USAGE}"),
        };
        let value = args
            .next()
            .with_context(|| format!("{arg} needs a value"))?;
        let number: f64 = value
            .parse()
            .with_context(|| format!("`{value}` is not a number"))?;
        ensure!(
            number > 0.0 && number <= 10_000.0,
            "`{value}` is not between 0 and 10000"
        );
        length = unit.mul_f64(number);
    }
    Ok(length)
}

pub async fn run(args: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let length = duration(args)?;
    raise_open_files_limit();
    let mut server = TestServer::builder()
        .embedded()
        .allow_loopback_webhooks()
        .config_table("quotas", QUOTAS)
        .config_table("journal", JOURNAL)
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lasting").await;
    let mut agent = space.publish(registration(0)).await;
    let processes = [("server", server.id()), ("agent", agent.process().id())];
    let mut watch = Watch::new(&processes, server.data_dir());

    let (tally, stop) = (Arc::new(Tally::default()), channel::Sender::new(false));
    let load = Load {
        user: ann.clone(),
        tally: tally.clone(),
        stop: stop.subscribe(),
        hook: Hook::start().await?,
    };
    println!(
        "a mixed load for {:.0} minutes",
        length.as_secs_f64() / 60.0
    );
    let (began, mut lines) = (Instant::now(), 0);
    let watching = async {
        while began.elapsed() < length {
            tokio::time::sleep(SAMPLE_EVERY).await;
            watch.sample(tally.audited());
            if began.elapsed() >= MINUTE * (lines + 1) {
                lines += 1;
                println!("{}  errors {}", watch.line(), tally.failed());
            }
        }
        stop.send_replace(true);
    };
    tokio::join!(watching, load.run(&agent));
    check_calls(&ann).await?;
    let growing = watch.report();
    println!("\ndone: {}", tally.summary());
    agent.stop().await;
    server.terminate().await;
    let log = server.log();
    let logged: Vec<&str> = log
        .lines()
        .filter(|line| line.contains(" ERROR "))
        .collect();
    for error in logged.iter().take(ERRORS_SHOWN) {
        println!("unexpected: {error}");
    }
    ensure!(
        tally.failed() == 0 && logged.is_empty(),
        "{} requests failed, and the server logged {} errors",
        tally.failed(),
        logged.len()
    );
    ensure!(
        growing.is_empty(),
        "growing without end: {}",
        growing.join("; ")
    );
    println!("no trend, no error");
    Ok(())
}

/// The methods of the space that exists during the whole run. Their set changes with `n`.
fn registration(n: u64) -> RegistrationToml {
    let mut registration = fixture().with(method("echo", "echo").mcp_tool());
    for extra in 0..n % 3 {
        registration = registration.with(method(&format!("extra.n{extra}"), "echo"));
    }
    registration
}

/// Checks that the server still works after the load.
async fn check_calls(user: &TestUser) -> anyhow::Result<()> {
    let answer = user.call("echo", serde_json::json!({"x": 1})).await;
    ensure!(answer["result"]["x"] == 1, "`echo` answered {answer}");
    Ok(())
}
