//! The call journal with many rows, on both databases: the time to read a page of the calls that
//! match a filter, the size of a row, and the time of other writes while old rows are removed. The
//! rows are real calls of methods that do not exist, so that no agent is needed.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use futures_util::future::join_all;
use serde_json::{Value, json};
use svc_testkit::{TestPostgres, TestServer, TestServerBuilder, TestUser, TestZone};

pub const USAGE: &str = "journal [ROWS]";

/// Owners of the rows. Each owner has the same number of rows.
const OWNERS: usize = 10;
const METHODS: usize = 97;
/// Requests in a batch.
const BATCH: usize = 50;
/// Batches in one round, of all owners together. The next round starts after all answers of this
/// round have arrived, so that no row is dropped.
const BATCHES_AT_ONCE: usize = 40;
/// The number of requests with which each filter is measured.
const REQUESTS: usize = 50;

pub async fn run(rows: usize) -> anyhow::Result<()> {
    let rows_of_owner = rows / OWNERS;
    ensure!(
        rows_of_owner >= BATCH,
        "use at least {} rows",
        OWNERS * BATCH
    );
    let configure = |builder: TestServerBuilder| {
        let limit = format!("rows_per_owner = {rows_of_owner}");
        builder
            .config_table("journal", &limit)
            .config_table("events", "emits_per_second = 1000000")
    };
    println!("| | filter | median ms | slowest ms |\n|---|---|---|---|");
    let embedded = configure(TestServer::builder()).start().await;
    let admin = embedded.admin().await;
    let file = |server: &TestServer| folder_bytes(&server.data_dir());
    let before = file(&embedded)?;
    measure("embedded", &embedded, &admin, rows_of_owner).await?;
    let per_row = (file(&embedded)? - before) / rows as u64;
    println!("embedded: {per_row} bytes of the data folder for each row");

    let postgres = TestPostgres::own_durable().context("this benchmark requires PostgreSQL")?;
    let zone = TestZone::start_with(&postgres, 1, configure).await;
    measure("PostgreSQL", zone.server(0), zone.admin(0), rows_of_owner).await?;
    let size = "SELECT pg_total_relation_size('call_blocks') + pg_total_relation_size('call_block_callers')";
    let bytes: u64 = postgres.sql(&zone.database().name, size).trim().parse()?;
    println!("PostgreSQL: {} bytes for each row", bytes / rows as u64);
    Ok(())
}

async fn measure(
    engine: &str,
    server: &TestServer,
    admin: &TestUser,
    rows_of_owner: usize,
) -> anyhow::Result<()> {
    let names: Vec<_> = (0..OWNERS).map(|number| format!("owner{number}")).collect();
    let owners = join_all(names.iter().map(|name| server.user(name))).await;
    let began = Instant::now();
    fill(admin, &owners, rows_of_owner / BATCH).await?;
    let rate = (rows_of_owner * OWNERS) as f64 / began.elapsed().as_secs_f64();
    println!("{engine}: {rate:.0} calls recorded per second");
    pages(engine, admin, &owners[0]).await?;

    let quiet = write_times(admin, Duration::from_secs(5)).await;
    report(engine, "an emit, journal at rest", &quiet);
    // The journal is full now: for new rows, the server removes old ones.
    let mut busy = Vec::new();
    let flood = fill(admin, &owners, rows_of_owner / BATCH / 4);
    let mut flood = std::pin::pin!(flood);
    loop {
        tokio::select! {
            filled = &mut flood => {
                filled?;
                break;
            }
            times = write_times(admin, Duration::from_millis(100)) => busy.extend(times),
        }
    }
    report(engine, "an emit, while rows are written and removed", &busy);
    Ok(())
}

/// Sends `batches` batches for each owner, and waits until the journal has the last call.
async fn fill(admin: &TestUser, owners: &[TestUser], batches: usize) -> anyhow::Result<()> {
    let steps = BATCHES_AT_ONCE / OWNERS;
    for first in (0..batches).step_by(steps) {
        let number = steps.min(batches - first);
        let calls = owners.iter().map(|owner| async move {
            for batch in first..first + number {
                owner.call_raw(batch_of(batch)).await.expect(200);
            }
        });
        join_all(calls).await;
    }
    let last = format!("last.{batches}");
    owners[0].call(&last, json!({})).await;
    let path = format!("/api/calls?method={last}&limit=1");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let page = admin.get(&path).await.expect(200).json();
        if page["calls"]
            .as_array()
            .is_some_and(|calls| !calls.is_empty())
        {
            ensure!(
                page["dropped"] == 0,
                "{} rows were dropped",
                page["dropped"]
            );
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the last call is not recorded");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn batch_of(batch: usize) -> Value {
    let request = |number: usize| {
        let method = format!("m{}", (batch * BATCH + number) % METHODS);
        json!({"jsonrpc": "2.0", "method": method, "params": {"n": number}, "id": number})
    };
    (0..BATCH).map(request).collect()
}

async fn pages(engine: &str, admin: &TestUser, owner: &TestUser) -> anyhow::Result<()> {
    let newest = admin.get("/api/calls?limit=100").await.expect(200).json();
    let at = newest["calls"][99]["at"]
        .as_str()
        .context("a recorded call has no time")?
        .to_owned();
    for (reader, name, query) in [
        (admin, "newest 100 of all owners", "?limit=100".to_owned()),
        (
            admin,
            "one method of all owners",
            "?method=m7&limit=100".to_owned(),
        ),
        (
            admin,
            "one method of one owner",
            "?method=m7&owner=owner3&limit=100".to_owned(),
        ),
        (admin, "one caller", "?caller=owner5&limit=100".to_owned()),
        (admin, "before a time", format!("?until={at}&limit=100")),
        (
            owner,
            "own calls of one method",
            "?method=m9&limit=100".to_owned(),
        ),
        (
            admin,
            "a filter without matches",
            "?outcome=timeout&limit=100".to_owned(),
        ),
        (
            admin,
            "a summary of all callers",
            "/summary?by=caller".to_owned(),
        ),
        (
            owner,
            "a summary of one method of one owner",
            "/summary?by=credential&method=m9".to_owned(),
        ),
    ] {
        let path = format!("/api/calls{query}");
        let mut times = Vec::with_capacity(REQUESTS);
        for _ in 0..REQUESTS {
            let began = Instant::now();
            reader.get(&path).await.expect(200);
            times.push(began.elapsed());
        }
        report(engine, name, &times);
    }
    Ok(())
}

/// Emits one event after the other for the time `during`. Returns the time of each emit.
async fn write_times(user: &TestUser, during: Duration) -> Vec<Duration> {
    let (end, mut times) = (Instant::now() + during, Vec::new());
    while Instant::now() < end {
        let began = Instant::now();
        user.emit("journal", json!({})).await;
        times.push(began.elapsed());
    }
    times
}

fn report(engine: &str, name: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    let (median, slowest) = (ms(sorted.get(sorted.len() / 2)), ms(sorted.last()));
    println!("| {engine} | {name} | {median:.1} | {slowest:.1} |");
}

fn folder_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?.metadata()?;
        if entry.is_file() {
            bytes += entry.len();
        }
    }
    Ok(bytes)
}
