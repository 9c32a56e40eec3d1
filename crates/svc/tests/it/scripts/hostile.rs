//! A thousand hostile sink scripts: each ends within its limits, none succeeds, and the
//! server is unharmed.

mod attacks;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    TestReceiver, TestServer, TestSink, TestUser, descendants_of, eventually, fixture,
    get_eventually, resident_mib, result,
};
use tokio::task::JoinSet;

use self::attacks::{Ends, MODULES, REACHES, ROUTES, SOURCES};
use crate::SOON;

const ATTACKS: usize = 1_000;
/// The number of sinks that an owner may have.
const PER_OWNER: usize = 100;
/// The number of scripts that run at once.
const WORKERS: usize = 6;
const MARK: &str = "ESCAPED";
/// This text is in the environment of the server, and nowhere else.
const SECRET: &str = "the-secret-of-this-server";
/// The number of bytes of output that are stored per run.
const TEXT_MAX: usize = 16 * 1024;
/// The longest time of a run: one second, half a second for the kill, and more on a busy machine.
const LONGEST_MS: u64 = 15_000;
/// The longest time of all attacks together, on a busy machine.
const ALL_DONE: Duration = Duration::from_secs(300);
/// MiB by which the server may grow: its allocator and its database keep some memory.
const MORE_MEMORY_MAX: u64 = 64;

#[derive(Clone)]
struct Attack {
    source: String,
    ends: Ends,
    /// Whether the script catches every exception that it can.
    swallows: bool,
}

fn plain(ends: Ends, source: impl Into<String>) -> Attack {
    Attack {
        source: source.into(),
        ends,
        swallows: false,
    }
}

/// Every attack of the module `attacks` once.
fn rows() -> Vec<Attack> {
    let sources = SOURCES
        .iter()
        .flat_map(|(ends, sources)| sources.iter().map(|source| plain(*ends, *source)));
    let reaches = REACHES.iter().map(|reach| {
        let source =
            format!("import os\nfrom pathlib import Path\nprint('ESC' + 'APED', {reach})\n");
        plain(Ends::Fails, source)
    });
    let modules = MODULES.iter().map(|module| {
        plain(
            Ends::Fails,
            format!("import {module}\nprint('ESC' + 'APED')\n"),
        )
    });
    let routes = ROUTES.iter().map(|(method, path)| {
        let call = format!("{{'method': '{method}', 'path': '{path}', 'body': {{}}}}");
        let source = format!(
            "from svc import _host\nstatus = _host.call('api', {call})['status']\n\
             if status < 400:\n    print('ESC' + 'APED')\nraise ValueError(status)\n"
        );
        plain(Ends::Fails, source)
    });
    sources
        .chain(reaches)
        .chain(modules)
        .chain(routes)
        .collect()
}

fn indented(source: &str) -> String {
    let lines = source.lines().map(|line| format!("    {line}\n"));
    lines.collect()
}

/// A variant of an attack: the same source inside other code. `dress` selects the variant.
fn dressed(attack: &Attack, dress: usize) -> Attack {
    let (source, inner) = (&attack.source, indented(&attack.source));
    let swallows = dress == 0;
    let source = match dress {
        0 => format!("try:\n{inner}except BaseException as error:\n    print('caught')\n"),
        1 => format!("def attack():\n{inner}attack()\n"),
        2 => format!("exec({})\n", json!(source)),
        _ => format!("import asyncio\nasync def attack():\n{inner}asyncio.run(attack())\n"),
    };
    Attack {
        source,
        swallows,
        ..*attack
    }
}

/// A thousand attacks: all of [`rows`], then variants of them. Attacks that run until their timeout
/// come at most twice, because they take long.
fn thousand() -> Vec<Attack> {
    let rows = rows();
    let cheap: Vec<_> = rows
        .iter()
        .filter(|attack| !matches!(attack.ends, Ends::OutOfTime | Ends::AsksTooMuch))
        .collect();
    let slow = rows.iter().filter(|attack| attack.ends == Ends::OutOfTime);
    let mut all = rows.clone();
    all.extend(slow.map(|attack| dressed(attack, 0)));
    for dress in 0..4 {
        all.extend(cheap.iter().map(|attack| dressed(attack, dress)));
    }
    assert!(all.len() >= ATTACKS, "only {}", all.len());
    all.truncate(ATTACKS);
    all
}

/// Creates a sink for each of these attacks. The user owns all the sinks.
async fn prepare(user: TestUser, attacks: Vec<Attack>) -> Vec<(Attack, TestSink)> {
    let mut prepared = Vec::new();
    for (n, attack) in attacks.into_iter().enumerate() {
        let name = format!("a{n}");
        let sink = user.script_sink(&name, "custom.go", &attack.source).await;
        prepared.push((attack, sink));
    }
    prepared
}

async fn first_attempt(sink: &TestSink) -> Value {
    get_eventually("an attack is over", ALL_DONE, || async {
        let all = sink.deliveries().await;
        all.first()?["attempts"].get(0).cloned()
    })
    .await
}

/// Checks the outcome of an attack; the error says what is wrong.
fn judge(attack: &Attack, attempt: &Value) -> Result<(), String> {
    let output = attempt["output"].as_str().unwrap_or_default();
    let error = attempt["error"].as_str();
    let said = |text: &str| error.is_some_and(|error| error.contains(text));
    let out_of_time = said("the script ran longer than 1 s");
    let out_of_memory = said("the script used more than 32 MiB");
    let caught = attack.swallows && output.ends_with("caught\n");
    let as_it_must = match attack.ends {
        Ends::OutOfTime => out_of_time,
        Ends::OutOfMemory => out_of_memory || out_of_time || caught,
        Ends::AsksTooMuch => said("made more than 1000 calls to its host") || out_of_time,
        Ends::Fails => error.is_some() || caught,
        Ends::Harmless => true,
    };
    let shown = attempt.to_string();
    let wrong = match () {
        () if output.contains(MARK) => "it got through",
        () if shown.contains(SECRET) => "it saw the environment",
        () if output.len() > TEXT_MAX => "its output is endless",
        () if error.is_some_and(|error| error.len() > TEXT_MAX) => "its error is endless",
        () if attempt["ms"].as_u64().unwrap() > LONGEST_MS => "it ran too long",
        () if !as_it_must => "it did not end as expected",
        () => return Ok(()),
    };
    let start: String = shown.chars().take(500).collect();
    let source: String = attack.source.chars().take(300).collect();
    Err(format!("{wrong} ({:?}): {start}\n{source}", attack.ends))
}

/// Replaces the placeholders in a source with values of this server.
fn aimed(server: &TestServer, receiver: &TestReceiver, mut attack: Attack) -> Attack {
    let data = server.data_dir();
    let mark_file = server.home().join("mark");
    for (word, meant) in [
        ("MARK_FILE", mark_file.to_str().unwrap().to_owned()),
        ("DATA", data.to_str().unwrap().to_owned()),
        ("LISTENER", receiver.address().port().to_string()),
    ] {
        attack.source = attack.source.replace(word, &meant);
    }
    attack
}

async fn start() -> TestServer {
    TestServer::builder()
        .config_table("scripts", "timeout_seconds = 1\nmemory_mb = 32")
        .env("SVC_SCRIPT_WORKERS", &WORKERS.to_string())
        // Failures are retried after an hour, so each script runs only once in this test.
        .retries(3600.0, 3600.0)
        .env("SVC_TEST_SECRET", SECRET)
        .start()
        .await
}

/// Creates a sink for every attack. Each owner has a hundred of them.
async fn prepare_all(server: &TestServer, receiver: &TestReceiver) -> Vec<Vec<(Attack, TestSink)>> {
    let attacks = thousand();
    let mut preparing = JoinSet::new();
    for (n, part) in attacks.chunks(PER_OWNER).enumerate() {
        let user = server.user(&format!("eve{n}")).await;
        let part = part.iter().cloned();
        let part = part.map(|attack| aimed(server, receiver, attack));
        preparing.spawn(prepare(user, part.collect()));
    }
    preparing.join_all().await
}

/// Starts all attacks at once, and fails the test if any outcome is wrong.
async fn unleash(server: &TestServer, good: &TestUser, prepared: &[Vec<(Attack, TestSink)>]) {
    let begun = Instant::now();
    for owned in prepared {
        owned[0].1.owner.emit("go", json!({})).await;
    }
    let (mut ran, mut wrong, mut workers) = (0, Vec::new(), 0);
    for (attack, sink) in prepared.iter().flatten() {
        wrong.extend(judge(attack, &first_attempt(sink).await).err());
        ran += 1;
        // The server responds during the attacks.
        if ran % 20 == 0 {
            let called = good.call("echo", json!([ran])).await;
            assert_eq!(result(&called), &json!([ran]));
            workers = workers.max(descendants_of(server.id()).len());
        }
    }
    println!("{ran} attacks within {:?}", begun.elapsed());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(ran, ATTACKS);
    assert!((1..=WORKERS).contains(&workers), "{workers} workers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_hostile_scripts_leave_the_server_unharmed() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    let good = server.user("good").await;
    let space = good.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let works = "import svc.event as e\nprint('got', e.get_int('n'))\n";
    let witness = good.script_sink("witness", "custom.*", works).await;
    good.emit("before", json!({"n": 1})).await;
    witness.wait_for("delivered", 1, SOON).await;
    let prepared = prepare_all(&server, &receiver).await;
    let before = resident_mib(server.id());
    unleash(&server, &good, &prepared).await;

    // No attack succeeded.
    assert!(!server.home().join("mark").exists());
    assert_eq!(receiver.connections(), 0);
    let admin = server.admin().await;
    let events = admin.list("/api/events", "events").await;
    let is_theirs = |event: &&Value| event["event_type"] == "custom.hostile";
    assert_eq!(events.iter().filter(is_theirs).count(), 0);
    // The server is unharmed.
    good.emit("after", json!({"n": 2})).await;
    let delivered = witness.wait_for("delivered", 2, SOON).await;
    assert_eq!(delivered[1]["attempts"][0]["output"], "got 2\n");
    eventually("every worker ends", 2 * SOON, || async {
        descendants_of(server.id()).is_empty()
    })
    .await;
    eventually("the memory is released", SOON, || async {
        resident_mib(server.id()) <= before + MORE_MEMORY_MAX
    })
    .await;
}
