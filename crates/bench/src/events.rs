//! The cost of events: emits under load, deliveries to many receivers, and the time from the
//! acknowledgement of an event to its first attempt. For comparison, a loop measures the disk: it
//! appends one record at a time and waits until the record is durable.

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use bytes::Bytes;
use serde_json::json;
use svc_testkit::{TempDir, TestReceiver, TestServer, TestUser};
use tokio::task::JoinSet;

use crate::connection::Connection;

/// How long emits are measured.
pub const RUN: Duration = Duration::from_secs(5);
/// Deliveries to each receiver: the maximum that a lane may hold.
const WAITING: usize = 100;
const FIRST_ATTEMPTS: usize = 200;
pub const DRAIN_LIMIT: Duration = Duration::from_secs(120);
/// The interval at which arrived deliveries are counted.
const COUNTING: Duration = Duration::from_millis(5);

pub async fn run(clients: usize, receivers: usize) -> anyhow::Result<()> {
    let commits = bare_commits()?;
    println!("bare loop: {commits:.0} synced appends/s");
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .config_table("events", "emits_per_second = 1000000")
        .start()
        .await;
    let user = server.user("ann").await;
    let Emits { rate, p50, p99, .. } = emits(std::slice::from_ref(&user), clients).await?;
    println!(
        "emits: {clients} clients, {rate:.0}/s ({:.1} times the bare loop), p50 {p50:.2?}, p99 {p99:.2?}",
        rate / commits,
    );
    let owner = server.user("bob").await;
    let Deliveries {
        total,
        rate,
        emitted,
    } = deliveries(&[owner], clients, receivers, DRAIN_LIMIT).await?;
    println!(
        "deliveries: {total} to {receivers} receivers, {rate:.0}/s from the first emit on \
         ({:.0}/s emitted meanwhile, all acknowledged after {emitted:.1?})",
        total as f64 / emitted.as_secs_f64(),
    );
    first_attempts(&user).await
}

/// Results of emits.
pub struct Emits {
    pub count: usize,
    pub rate: f64,
    pub p50: Duration,
    pub p99: Duration,
}

/// Results of deliveries.
pub struct Deliveries {
    pub total: usize,
    /// Deliveries per second, counted from the first emit.
    pub rate: f64,
    /// Time until all emits were acknowledged.
    pub emitted: Duration,
}

/// Synced appends per second: the limit of a writer without group commit.
fn bare_commits() -> anyhow::Result<f64> {
    let folder = TempDir::with_prefix("svc-bench-")?;
    let mut file = std::fs::File::create(folder.path().join("log"))?;
    let (record, begun) = ([b'x'; 512], Instant::now());
    let mut count = 0_u32;
    while begun.elapsed() < Duration::from_secs(1) {
        file.write_all(&record)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

fn emit_body(kind: &str) -> Bytes {
    let body = json!({"type": kind, "payload": {"text": "x".repeat(400)}});
    Bytes::from(body.to_string())
}

async fn emit(connection: &mut Connection, body: &Bytes) -> anyhow::Result<()> {
    let (status, _) = connection.post("/api/events/emit", body).await?;
    ensure!(status == 202, "an emit answered {status}");
    Ok(())
}

/// Measures emits without a sink. Each client has one emit in flight. `users` has one user for each
/// server.
pub async fn emits(users: &[TestUser], clients: usize) -> anyhow::Result<Emits> {
    let mut running = JoinSet::new();
    let begun = Instant::now();
    for user in users.iter().cycle().take(clients) {
        let mut connection = Connection::open(user).await?;
        running.spawn(async move {
            let (body, mut took) = (emit_body("bench.emit"), Vec::new());
            while begun.elapsed() < RUN {
                let sent = Instant::now();
                emit(&mut connection, &body).await?;
                took.push(sent.elapsed());
            }
            anyhow::Ok(took)
        });
    }
    let mut took = Vec::new();
    for one in running.join_all().await {
        took.extend(one?);
    }
    let rate = took.len() as f64 / begun.elapsed().as_secs_f64();
    took.sort_unstable();
    Ok(Emits {
        count: took.len(),
        rate,
        p50: percentile(&took, 50),
        p99: percentile(&took, 99),
    })
}

/// Emits as many events for each receiver as its lane can hold, and measures the deliveries until
/// all have arrived, or until `limit`.
pub async fn deliveries(
    users: &[TestUser],
    clients: usize,
    receivers: usize,
    limit: Duration,
) -> anyhow::Result<Deliveries> {
    let mut hooks = Vec::new();
    for n in 0..receivers {
        let hook = TestReceiver::start().await;
        let pattern = format!("custom.bench.d{n}");
        users[0]
            .webhook(&format!("d{n}"), &pattern, &hook.url("/hook"))
            .await;
        hooks.push(hook);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let total = receivers * WAITING;
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for user in users.iter().cycle().take(clients) {
        let (mut connection, next) = (Connection::open(user).await?, Arc::clone(&next));
        running.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= total || begun.elapsed() > limit {
                    return anyhow::Ok(());
                }
                let body = emit_body(&format!("bench.d{}", n % receivers));
                emit(&mut connection, &body).await?;
            }
        });
    }
    for one in running.join_all().await {
        one?;
    }
    let emitted = begun.elapsed();
    let arrived = || hooks.iter().map(|hook| hook.count("/hook")).sum::<usize>();
    while arrived() < total && begun.elapsed() < limit {
        tokio::time::sleep(COUNTING).await;
    }
    let total = arrived();
    let took = begun.elapsed();
    let most = hooks.iter().map(|hook| hook.peak("/hook")).max();
    ensure!(most == Some(1), "a receiver had two requests at once");
    Ok(Deliveries {
        total,
        rate: total as f64 / took.as_secs_f64(),
        emitted,
    })
}

/// Measures the time from the acknowledgement of an event to its arrival, one event at a time on an
/// idle server.
async fn first_attempts(user: &TestUser) -> anyhow::Result<()> {
    let hook = TestReceiver::start().await;
    user.webhook("first", "custom.bench.first", &hook.url("/hook"))
        .await;
    let (mut connection, body) = (Connection::open(user).await?, emit_body("bench.first"));
    let mut took = Vec::new();
    for n in 0..FIRST_ATTEMPTS {
        emit(&mut connection, &body).await?;
        let committed = Instant::now();
        while hook.count("/hook") <= n {
            ensure!(committed.elapsed() < DRAIN_LIMIT, "no attempt came");
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        let arrived = hook
            .received("/hook")
            .pop()
            .context("the receiver has not stored the attempt")?
            .began;
        // The attempt may overtake the acknowledgement.
        took.push(arrived.saturating_duration_since(committed));
    }
    took.sort_unstable();
    println!(
        "first attempt: p50 {:.2?}, p99 {:.2?} after the acknowledgement",
        percentile(&took, 50),
        percentile(&took, 99)
    );
    Ok(())
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}
