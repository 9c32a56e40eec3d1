//! A zone whose database is on another machine. Measures emits and deliveries per second with a
//! delay between the servers and PostgreSQL, for one to three servers and for an older build.
//!
//! A proxy delays every byte in both directions and counts the SQL statements. If the delay is
//! long, the rate is limited by the delay and not by the CPU. Each round measures every case once.
//! PostgreSQL runs with `fsync`.

mod delay;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use svc_testkit::{TestPostgres, TestServer};

use self::delay::DelayProxy;
use crate::events;

pub const USAGE: &str = "zone [OLD_SVC] [ROUNDS] [CLIENTS] [DELAYS]";

/// Delays in each direction, in milliseconds.
pub const DELAYS: &str = "0,1,2,5";
const SERVERS: [usize; 3] = [1, 2, 3];
/// Number of webhook receivers. Each receives up to 100 deliveries.
const RECEIVERS: usize = 16;
/// The maximum time for which deliveries are measured.
const DELIVERY_LIMIT: Duration = Duration::from_secs(10);
/// How often the waits for locks are counted.
const SAMPLING: Duration = Duration::from_millis(100);

/// One zone to measure.
struct Case {
    name: &'static str,
    program: PathBuf,
    delay: u64,
    servers: usize,
}

/// The figures of a case, one for each round.
#[derive(Default)]
struct Figures {
    emits: Vec<f64>,
    p99: Vec<f64>,
    deliveries: Vec<f64>,
    statements: Vec<f64>,
    lock_waits: Vec<f64>,
}

pub async fn run(
    old: Option<&Path>,
    rounds: usize,
    clients: usize,
    delays: &str,
) -> anyhow::Result<()> {
    let new = svc_testkit::svc_program();
    let mut cases = Vec::new();
    for delay in delays.split(',') {
        let delay = delay.parse().with_context(|| format!("delay `{delay}`"))?;
        for servers in SERVERS {
            let case = |name, program: &Path| Case {
                name,
                program: program.to_owned(),
                delay,
                servers,
            };
            cases.extend(old.map(|old| case("old", old)));
            cases.push(case("new", &new));
        }
    }
    let mut figures: Vec<_> = cases.iter().map(|_| Figures::default()).collect();
    for round in 1..=rounds {
        for (case, figures) in cases.iter().zip(&mut figures) {
            figures.add(&measure(case, clients).await?);
        }
        eprintln!("round {round} of {rounds}");
    }
    println!(
        "{clients} clients, {RECEIVERS} receivers, medians of {rounds} rounds; each round measures every row"
    );
    println!(
        "| delay each way | servers | build | emits/s | ratio to the old build | p99 of an emit | deliveries/s | statements per emit | waits for locks |"
    );
    println!("|--:|--:|---|--:|--:|--:|--:|--:|--:|");
    let mut base = None;
    for (case, figures) in cases.iter().zip(&mut figures) {
        let emits = median(&mut figures.emits);
        if case.name == "old" {
            base = Some(emits);
        }
        println!(
            "| {} ms | {} | {} | {emits:.0} | {} | {:.0} ms | {:.0} | {:.1} | {:.1} |",
            case.delay,
            case.servers,
            case.name,
            base.map_or("-".to_owned(), |base| format!("{:.1}", emits / base)),
            median(&mut figures.p99),
            median(&mut figures.deliveries),
            median(&mut figures.statements),
            median(&mut figures.lock_waits),
        );
    }
    Ok(())
}

impl Figures {
    fn add(&mut self, measured: &Value) {
        for (list, name) in [
            (&mut self.emits, "emits"),
            (&mut self.p99, "p99"),
            (&mut self.deliveries, "deliveries"),
            (&mut self.statements, "statements"),
            (&mut self.lock_waits, "lock_waits"),
        ] {
            list.push(measured[name].as_f64().unwrap_or_default());
        }
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Measures one case in a process of its own, because an environment variable selects the `svc`
/// program.
async fn measure(case: &Case, clients: usize) -> anyhow::Result<Value> {
    let brief = json!({"delay": case.delay, "servers": case.servers, "clients": clients});
    let host = Command::new(std::env::current_exe()?)
        .args(["zone-host", &brief.to_string()])
        .env(
            svc_testkit::PROGRAM_VARIABLE,
            std::path::absolute(&case.program)?,
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let ended = tokio::task::spawn_blocking(move || host.wait_with_output()).await??;
    ensure!(ended.status.success(), "`{}` failed: {brief}", case.name);
    let text = String::from_utf8_lossy(&ended.stdout);
    let last = text.lines().last().context("figures")?;
    Ok(serde_json::from_str(last)?)
}

/// `svc-bench zone-host`: runs one zone, and prints its figures.
pub async fn host(brief: &str) -> anyhow::Result<()> {
    let brief: Value = serde_json::from_str(brief)?;
    let number = |name: &str| brief[name].as_u64().unwrap_or(1);
    let clients = usize::try_from(number("clients"))?;
    let postgres = TestPostgres::own_durable().context("this benchmark requires PostgreSQL")?;
    let database = postgres.database();
    let proxy = DelayProxy::start(postgres.port(), Duration::from_millis(number("delay"))).await?;
    let url = database.url.replace(
        &format!(":{}/", postgres.port()),
        &format!(":{}/", proxy.port),
    );
    let mut servers = Vec::new();
    for _ in 0..number("servers") {
        let server = TestServer::builder()
            .allow_loopback_webhooks()
            .config_table("events", "emits_per_second = 1000000")
            .database_url(&format!("{url}?sslmode=disable"));
        servers.push(server.start().await);
    }
    let user = servers[0].user("ann").await;
    let users: Vec<_> = servers.iter().map(|server| user.at(server)).collect();
    let before = proxy.statements();
    let (emits, lock_waits) = tokio::join!(
        events::emits(&users, clients),
        lock_waits(&postgres, &database.name)
    );
    let emits = emits?;
    let statements = (proxy.statements() - before) as f64 / emits.count as f64;
    let deliveries = events::deliveries(&users, clients, RECEIVERS, DELIVERY_LIMIT).await?;
    let figures = json!({
        "emits": emits.rate, "p99": emits.p99.as_secs_f64() * 1_000.0, "statements": statements,
        "lock_waits": lock_waits, "deliveries": deliveries.rate,
    });
    println!("{figures}");
    Ok(())
}

/// The average number of sessions that wait for a lock, while the emits run.
async fn lock_waits(postgres: &TestPostgres, database: &str) -> f64 {
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'"
    );
    let (mut samples, mut sum) = (0.0, 0.0);
    let began = std::time::Instant::now();
    while began.elapsed() < events::RUN {
        let count: f64 = postgres
            .sql(database, &waiting)
            .trim()
            .parse()
            .unwrap_or(0.0);
        sum += count;
        samples += 1.0;
        tokio::time::sleep(SAMPLING).await;
    }
    sum / samples
}
