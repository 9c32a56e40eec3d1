//! The pace of one sink: how many deliveries per second one webhook makes. Compares an older build,
//! this build, and a bare client that posts bodies of about the same size.
//!
//! A replay queues each burst, so that no emits run during the deliveries. The pace is measured
//! from the first arrival of a burst to its last arrival.

use std::{
    convert::Infallible,
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt, Full};
use hyper::{client::conn::http1 as client, server::conn::http1 as server, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use svc_testkit::{TempDir, TestServer};
use tokio::net::{TcpListener, TcpStream};

pub const USAGE: &str = "events --one-sink [OLD_SVC] [ROUNDS]";

/// Deliveries in a burst: the maximum that a queue holds.
const BURST: usize = 100;
const BURSTS: usize = 10;
const LIMIT: Duration = Duration::from_secs(120);
/// How long the receiver takes to answer in the comparison of strict order with order by key.
const SLOW_RECEIVER: Duration = Duration::from_millis(50);

/// A library that delays each `fsync` and `fdatasync` by 2 ms. It slows the commits of old and new
/// builds alike.
const SLOW_DISK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slow(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    usleep(2000);
    return real(fd);
}
int fdatasync(int fd) { return slow("fdatasync", fd); }
int fsync(int fd) { return slow("fsync", fd); }
"#;

/// One program to measure: a build of `svc`, or the bare client.
#[derive(Clone)]
struct Case {
    name: String,
    /// `None` for the bare client.
    program: Option<PathBuf>,
    /// The `delivery` object of the sink; null for the defaults.
    delivery: Value,
    receiver_takes: Duration,
}

pub async fn run(old: Option<&Path>, rounds: usize) -> anyhow::Result<()> {
    let new = svc_testkit::svc_program();
    let case = |name: &str, program: Option<&Path>, delivery: Value| Case {
        name: name.to_owned(),
        program: program.map(Path::to_owned),
        delivery,
        receiver_takes: Duration::ZERO,
    };
    let mut cases = Vec::new();
    if let Some(old) = old {
        ensure!(old.is_file(), "`{}` is not a program", old.display());
        cases.push(case("old", Some(old), Value::Null));
    }
    cases.push(case(
        "new, max_repeats 1",
        Some(&new),
        json!({"max_repeats": 1}),
    ));
    cases.push(case("new, default", Some(&new), Value::Null));
    cases.push(case(
        "new, max_repeats 64",
        Some(&new),
        json!({"max_repeats": 64}),
    ));
    let mut with_bare = cases.clone();
    with_bare.push(case("bare client", None, Value::Null));
    let folder = TempDir::with_prefix("svc-bench-")?;
    compare("receiver answers at once", &with_bare, rounds, None).await?;
    let slow_disk = build_slow_disk(folder.path())?;
    compare(
        "receiver answers at once, commits take 2 ms longer",
        &cases,
        rounds,
        Some(&slow_disk),
    )
    .await?;
    let key = json!({"ordering": "key", "key": "event.id", "in_flight": 16});
    let mut keyed = vec![
        case("strict", Some(&new), Value::Null),
        case("by key, 16 in flight", Some(&new), key),
    ];
    for case in &mut keyed {
        case.receiver_takes = SLOW_RECEIVER;
    }
    compare("receiver takes 50 ms", &keyed, rounds.min(3), None).await
}

/// Measures every case once in each round. Prints the median of each case, and its ratio to the
/// median of the first case.
async fn compare(
    title: &str,
    cases: &[Case],
    rounds: usize,
    slow_disk: Option<&Path>,
) -> anyhow::Result<()> {
    let mut paces = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (case, paces) in cases.iter().zip(&mut paces) {
            paces.push(measure(case, slow_disk).await?);
        }
    }
    println!("{title}: deliveries/s, median of {rounds} rounds (lowest to highest)");
    let mut first = None;
    for (case, mut paces) in cases.iter().zip(paces) {
        paces.sort_by(f64::total_cmp);
        let middle = paces[paces.len() / 2];
        let first = *first.get_or_insert(middle);
        println!(
            "  {:<22} {middle:>8.0} ({:.0} to {:.0}), {:.1} times `{}`",
            case.name,
            paces[0],
            paces[paces.len() - 1],
            middle / first,
            cases[0].name,
        );
    }
    Ok(())
}

async fn measure(case: &Case, slow_disk: Option<&Path>) -> anyhow::Result<f64> {
    let receiver = Receiver::start(case.receiver_takes).await?;
    let Some(program) = &case.program else {
        return bare(&receiver).await;
    };
    // An environment variable selects the `svc` program, so each case runs in a process of its own.
    let brief = json!({
        "receiver": receiver.address, "delivery": case.delivery, "slow_disk": slow_disk,
        "bursts": if case.receiver_takes.is_zero() { BURSTS } else { 1 },
    });
    let mut host = Command::new(std::env::current_exe()?)
        .args(["one-sink-host", &brief.to_string()])
        .env(svc_testkit::PROGRAM_VARIABLE, std::path::absolute(program)?)
        .stdin(Stdio::null())
        .spawn()?;
    let ended = tokio::task::spawn_blocking(move || host.wait()).await??;
    ensure!(ended.success(), "`{}` failed", case.name);
    receiver.pace()
}

/// `svc-bench one-sink-host`: runs a service that makes the bursts.
pub async fn host(brief: &str) -> anyhow::Result<()> {
    let brief: Value = serde_json::from_str(brief)?;
    let mut server = TestServer::builder().allow_loopback_webhooks();
    if let Some(library) = brief["slow_disk"].as_str() {
        server = server.env("LD_PRELOAD", library);
    }
    let server = server.start().await;
    let user = server.user("ann").await;
    let address = brief["receiver"].as_str().context("a receiver")?;
    let mut sink = json!({
        "name": "one", "type": "webhook", "patterns": ["custom.bench"], "active": false,
        "webhook": {"url": format!("http://{address}/hook")},
    });
    if !brief["delivery"].is_null() {
        sink["delivery"] = brief["delivery"].clone();
    }
    let sink = user.sink(sink).await;
    for _ in 0..BURST {
        user.emit("bench", json!({"text": "x".repeat(400)})).await;
    }
    sink.patch(json!({"active": true})).await;
    for _ in 0..brief["bursts"].as_u64().unwrap_or(1) {
        let path = format!("{}/replay", sink.path());
        user.post(&path, json!({})).await.expect(200);
        let began = Instant::now();
        while sink.record().await["queue_depth"] != 0 {
            ensure!(began.elapsed() < LIMIT, "a burst did not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// The bare client: posts as many bodies as all bursts have, over one connection.
async fn bare(receiver: &Receiver) -> anyhow::Result<f64> {
    let stream = TcpStream::connect(receiver.address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut body = String::new();
    write!(body, "{}", json!({"data": {"text": "x".repeat(400)}}))?;
    let body = Bytes::from(body);
    for _ in 0..BURST * BURSTS {
        let request = http::Request::post("/hook").body(Full::new(body.clone()))?;
        sender.ready().await?;
        sender.send_request(request).await?.collect().await?;
    }
    receiver.pace()
}

fn build_slow_disk(folder: &Path) -> anyhow::Result<PathBuf> {
    let (source, library) = (folder.join("slow.c"), folder.join("slow.so"));
    std::fs::write(&source, SLOW_DISK)?;
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .context("cannot run the C compiler `cc`, which builds the slow disk")?;
    ensure!(built.success(), "the slow disk does not compile");
    Ok(library)
}

fn note(arrivals: &Mutex<Vec<Instant>>) {
    let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    arrivals.push(Instant::now());
}

/// A receiver that keeps connections open and notes when requests arrive.
struct Receiver {
    address: SocketAddr,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Receiver {
    async fn start(takes: Duration) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let arrivals = Arc::<Mutex<Vec<Instant>>>::default();
        let noted = Arc::clone(&arrivals);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let arrivals = Arc::clone(&noted);
                let answer = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                    let arrivals = Arc::clone(&arrivals);
                    async move {
                        let _ = request.into_body().collect().await;
                        note(&arrivals);
                        if !takes.is_zero() {
                            tokio::time::sleep(takes).await;
                        }
                        Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
                    }
                });
                tokio::spawn(server::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        Ok(Self { address, arrivals })
    }

    /// Deliveries per second, measured from the first to the last arrival of each burst.
    fn pace(&self) -> anyhow::Result<f64> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spent = Duration::ZERO;
        let mut count = 0;
        for burst in arrivals.chunks(BURST) {
            if let (Some(first), Some(last)) = (burst.first(), burst.last()) {
                spent += *last - *first;
                count += burst.len() - 1;
            }
        }
        ensure!(count > 0 && !spent.is_zero(), "nothing arrived");
        Ok(count as f64 / spent.as_secs_f64())
    }
}
