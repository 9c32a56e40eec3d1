//! The cost of a script method server. The same handlers run in the embedded engine (a
//! new evaluator per request) and in CPython. A method server in Rust that echoes its params is
//! measured for comparison.
//!
//! The methods are called in turn, each for a short slice of time, so that other work on the
//! machine disturbs all of them alike.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use bytes::Bytes;
use serde_json::{Value, json};
use svc_script::{Abilities, Evaluator, Flavour, Host, Limits, Raise, Setting, Source, Stream};
use svc_testkit::{TestServer, TestUser, fixture, method};

use crate::connection::Connection;

const SLICE: Duration = Duration::from_millis(500);
const HANDLERS: &str = include_str!("scripts/handlers.py");
const SETUP: &str = include_str!("scripts/setup.py");
const CPYTHON: &str = include_str!("scripts/cpython.py");

pub async fn run(rounds: usize) -> anyhow::Result<()> {
    fresh_evaluators()?;
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut agents = Vec::new();
    for (space, registration) in [
        (
            "embedded",
            serving("svc", &["run-script", "--json-rpc", "setup.py"]),
        ),
        ("cpython", serving("python3", &["cpython.py"])),
    ] {
        let space = ann.space(space).await;
        space.write("handlers.py", HANDLERS);
        space.write("setup.py", SETUP);
        space.write("cpython.py", CPYTHON);
        let agent = space.publish(registration).await;
        // Keep the space: dropping it removes its folder.
        agents.push((space, agent));
    }
    let space = ann.space("rust").await;
    let echo = fixture().with(method("rust.echo", "echo"));
    let agent = space.publish(echo).await;
    agents.push((space, agent));

    let params = json!({"query": "note 1", "limit": 5});
    let cases = [
        "embedded.search",
        "cpython.search",
        "embedded.echo",
        "cpython.echo",
        "rust.echo",
    ];
    println!(
        "\n{:<17} {:>8} {:>10} {:>10} {:>10}",
        "method", "callers", "calls/s", "p50", "p99"
    );
    for callers in [1, 16] {
        let mut samples: Vec<Vec<Duration>> = vec![Vec::new(); cases.len()];
        let mut spent = vec![Duration::ZERO; cases.len()];
        for _ in 0..rounds {
            for (index, case) in cases.iter().enumerate() {
                let begun = Instant::now();
                samples[index].extend(slice(&ann, case, &params, callers).await?);
                spent[index] += begun.elapsed();
            }
        }
        for (index, case) in cases.iter().enumerate() {
            let times = &mut samples[index];
            times.sort_unstable();
            let rate = times.len() as f64 / spent[index].as_secs_f64();
            println!(
                "{case:<17} {callers:>8} {rate:>10.0} {:>10.0?} {:>10.0?}",
                at(times, 50),
                at(times, 99)
            );
        }
    }
    Ok(())
}

/// A registration of the two handlers under the space's name.
fn serving(command: &str, args: &[&str]) -> String {
    let mut text = format!("[server]\ncommand = {command:?}\nargs = {args:?}\n");
    for local_name in ["search", "echo"] {
        text += &format!(
            "\n[[methods]]\nname = \"{{{{space}}}}.{local_name}\"\nlocal_name = {local_name:?}\ndescription = \"Measured\"\n"
        );
    }
    text
}

/// Calls one method from `callers` connections for the time `SLICE`. Fails if a response has no
/// result.
async fn slice(
    user: &TestUser,
    method: &str,
    params: &Value,
    callers: usize,
) -> anyhow::Result<Vec<Duration>> {
    let until = Instant::now() + SLICE;
    let params = Arc::new(params.clone());
    let calling = (0..callers).map(|_| {
        let (user, method, params) = (user.clone(), method.to_owned(), Arc::clone(&params));
        tokio::spawn(async move {
            let mut connection = Connection::open(&user).await?;
            let body = json!({"jsonrpc": "2.0", "method": method, "params": *params, "id": 1});
            let (body, mut times) = (Bytes::from(body.to_string()), Vec::new());
            while Instant::now() < until {
                let begun = Instant::now();
                let (status, answer) = connection.post("/api/methods/call", &body).await?;
                times.push(begun.elapsed());
                let answer: Value = serde_json::from_slice(&answer)?;
                if answer.get("result").is_none() {
                    bail!("`{method}` answered {status} {answer}");
                }
            }
            Ok(times)
        })
    });
    let mut times = Vec::new();
    for caller in calling.collect::<Vec<_>>() {
        times.extend(caller.await.context("a caller failed")??);
    }
    Ok(times)
}

fn at(sorted: &[Duration], percent: usize) -> Duration {
    sorted
        .get(sorted.len() * percent / 100)
        .copied()
        .unwrap_or_default()
}

/// Measures the engine alone: for each call, restores a snapshot with its libraries, calls a
/// handler and discards the evaluator.
fn fresh_evaluators() -> anyhow::Result<()> {
    let setting = Setting {
        flavour: Flavour::Space,
        abilities: Abilities::None,
        limits: Limits::SANDBOX,
        args: vec!["setup.py".to_owned()],
    };
    let mut evaluator = Evaluator::new(&setting);
    let script = Source {
        file: "setup.py".to_owned(),
        text: SETUP.to_owned(),
    };
    evaluator.run(&script, &mut Handlers)?;
    evaluator.load_routes(&mut Handlers)?;
    let snapshot = evaluator.snapshot()?;
    println!(
        "snapshot with libraries: {} bytes",
        snapshot.to_bytes().len()
    );
    for (handler, params) in [
        ("handlers.echo", "{}"),
        ("handlers.search", r#"{"query":"note 1","limit":5}"#),
    ] {
        let mut times = Vec::new();
        for _ in 0..2_000 {
            let begun = Instant::now();
            let mut fresh = Evaluator::restore(&snapshot)?;
            fresh.call(handler, params, &mut Handlers)?;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        println!(
            "fresh evaluator + {handler}: p50 {:.0?}, p99 {:.0?}",
            at(&times, 50),
            at(&times, 99)
        );
    }
    Ok(())
}

/// A host with one library, `handlers`.
struct Handlers;

impl Host for Handlers {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        Ok((module == "handlers").then(|| Source {
            file: "handlers.py".to_owned(),
            text: HANDLERS.to_owned(),
        }))
    }

    fn call(&mut self, operation: &str, _: &str) -> Result<String, Raise> {
        Err(Raise::runtime(format!(
            "`{operation}` is not measured here"
        )))
    }

    fn print(&mut self, _: Stream, _: &str) {}
}
