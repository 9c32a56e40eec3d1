//! The database is unavailable for a while: calls continue, and no change is lost or half done.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use svc_testkit::{
    Reply, TestPostgres, TestReceiver, TestSink, TestUser, TestZone, eventually, fixture,
};
use tokio::task::JoinHandle;

use super::{answers, at_each, reaching_tests};
use crate::{
    SOON,
    events::crash::{first_arrivals, ids},
};

/// As long as a lease: every part that uses the database fails many times.
const OUTAGE: Duration = Duration::from_secs(30);

/// Calls a method all the time; returns the number of calls and the slowest. None may fail.
async fn call_all_the_time(user: TestUser, stop: Arc<AtomicBool>) -> (usize, Duration) {
    let (mut calls, mut slowest) = (0, Duration::ZERO);
    while !stop.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let answer = user.call("echo", json!({"n": calls})).await;
        assert_eq!(answer["result"], json!({"n": calls}), "{answer}");
        slowest = slowest.max(begun.elapsed());
        calls += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (calls, slowest)
}

/// Emits one event after the other, each under its key until it is acknowledged.
struct Emitter {
    number: usize,
    user: TestUser,
    stop: Arc<AtomicBool>,
}

impl Emitter {
    /// Ids in order, and how often the server reported that its database is unavailable.
    async fn run(self) -> (Vec<String>, usize) {
        let (mut ids, mut refusals) = (Vec::new(), 0);
        while !self.stop.load(Ordering::SeqCst) {
            let key = format!("emitter-{}-{}", self.number, ids.len());
            let kind = format!("outage.e{}", self.number);
            let body = json!({"type": kind, "payload": {"n": ids.len()}});
            loop {
                let begun = Instant::now();
                let answer = self.user.emit_with_key(&key, &body).await.unwrap();
                let took = begun.elapsed();
                assert!(took < SOON, "answered after {took:?}");
                if answer.status == 202 {
                    let emitted = answer.json();
                    ids.push(emitted["event_id"].as_str().unwrap().to_owned());
                    break;
                }
                assert_eq!(answer.expect(503).code(), "database_unavailable");
                refusals += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        (ids, refusals)
    }
}

/// Checks of each server while the database is unavailable.
async fn check_outage(zone: &TestZone, users: &[TestUser]) {
    for (member, user) in users.iter().enumerate() {
        let http = zone.server(member).http();
        http.request("GET", "/healthz", &[], "").await.expect(200);
        // Servers stay ready: a load balancer that removed them all would end the calls.
        http.request("GET", "/readyz", &[], "").await.expect(200);
        for (path, body) in [
            ("/api/tokens", json!({"name": "x"})),
            ("/api/spaces", json!({"name": "x"})),
        ] {
            let answer = user.post(path, body).await.expect(503);
            assert_eq!(answer.code(), "database_unavailable", "{path}");
        }
        let answer = user.get("/api/events").await.expect(503);
        assert_eq!(answer.code(), "database_unavailable");
    }
}

/// Ann's method at the first server is called, and events are emitted at both, all the time.
struct Load {
    receiver: TestReceiver,
    sinks: Vec<TestSink>,
    calling: JoinHandle<(usize, Duration)>,
    emitting: Vec<JoinHandle<(Vec<String>, usize)>>,
    stop: Arc<AtomicBool>,
    stop_calls: Arc<AtomicBool>,
}

impl Load {
    async fn start(at: &[TestUser]) -> Self {
        let receiver = TestReceiver::start().await;
        let [stop, stop_calls] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let calling = tokio::spawn(call_all_the_time(at[0].clone(), Arc::clone(&stop_calls)));
        let (mut sinks, mut emitting) = (Vec::new(), Vec::new());
        for (number, user) in at.iter().enumerate() {
            let url = receiver.url(&format!("/e{number}"));
            let pattern = format!("custom.outage.e{number}");
            sinks.push(user.webhook(&format!("e{number}"), &pattern, &url).await);
            let emitter = Emitter {
                number,
                user: user.clone(),
                stop: Arc::clone(&stop),
            };
            emitting.push(tokio::spawn(emitter.run()));
        }
        Self {
            receiver,
            sinks,
            calling,
            emitting,
            stop,
            stop_calls,
        }
    }

    /// Waits until more events of each emitter have arrived.
    async fn go_on(&self) {
        for path in ["/e0", "/e1"] {
            let more = self.receiver.count(path) + 5;
            self.receiver.wait_for(path, more, 2 * SOON).await;
        }
    }

    /// Ends the load, and checks that every event arrived in order and no call failed or took long.
    /// Returns the number of events.
    async fn end(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        let mut total = 0;
        for (number, emitter) in self.emitting.into_iter().enumerate() {
            let (expected, refusals) = emitter.await.unwrap();
            println!("{} events, refused {refusals} times", expected.len());
            assert!(refusals >= 10, "only {refusals} refusals");
            total += expected.len();
            let path = format!("/e{number}");
            let arrived = || first_arrivals(self.receiver.received(&path));
            eventually("every event arrives", 2 * SOON, || async {
                arrived().len() >= expected.len()
            })
            .await;
            assert_eq!(ids(&arrived()), expected);
            assert_eq!(self.sinks[number].record().await["dropped"], 0);
        }
        self.stop_calls.store(true, Ordering::SeqCst);
        let (calls, slowest) = self.calling.await.unwrap();
        println!("{calls} calls, the slowest took {slowest:?}");
        assert!(slowest < Duration::from_secs(3), "{slowest:?}");
        total
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_database_ends_no_call_and_loses_no_event() {
    let Some(mut postgres) = TestPostgres::own() else {
        return;
    };
    let zone = TestZone::start_with(&postgres, 2, reaching_tests).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let other = at[1].space("other").await;
    other.write("methods.toml", &fixture().plain("pid").to_string());
    let load = Load::start(&at).await;
    load.go_on().await;

    postgres.stop();
    let stopped = Instant::now();
    // The agent connects while no server can check its token.
    let late = other.spawn_agent(&["--methods-file", "methods.toml"]);
    while stopped.elapsed() < OUTAGE {
        check_outage(&zone, &at).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    postgres.start();
    let back = Instant::now();

    eventually("a token can be made", SOON, || async {
        let body = json!({"name": "x"});
        at[0].post("/api/tokens", body).await.status == 201
    })
    .await;
    println!("a token was made {:?} later", back.elapsed());
    late.wait_until_linked().await;
    eventually("its methods answer", SOON, || async {
        answers(&at[1], "pid").await
    })
    .await;
    load.go_on().await;
    println!("everything worked again {:?} later", back.elapsed());
    let total = load.end().await;
    let sql = |text: &str| postgres.sql(&zone.database().name, text);
    let stored = sql("SELECT COUNT(*) FROM events WHERE type LIKE 'custom.outage.%'");
    assert_eq!(stored, total.to_string(), "one event for each key");
    let half = "SELECT COUNT(*) FROM events e WHERE type LIKE 'custom.outage.%' \
         AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.id)";
    assert_eq!(sql(half), "0", "no event without its delivery");
}

/// Servers send a heartbeat every 2 seconds. A server without one for 10 seconds counts as gone.
const LONG_OUTAGE: Duration = Duration::from_secs(12);

/// During the outage no server could send a heartbeat, so no server may count as gone.
#[tokio::test]
async fn an_outage_longer_than_the_grace_period_stops_no_space_and_a_server_can_shut_down_during_it()
 {
    let Some(mut postgres) = TestPostgres::own() else {
        return;
    };
    let impatient = |builder| reaching_tests(builder).config("grace_seconds = 2");
    let mut zone = TestZone::start_with(&postgres, 2, impatient).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let spaces = [at[0].space("one").await, at[1].space("two").await];
    let _one = spaces[0].publish(fixture().plain("echo")).await;
    let _two = spaces[1].publish(fixture().plain("echo")).await;
    postgres.stop();
    tokio::time::sleep(LONG_OUTAGE).await;
    for user in &at {
        assert!(answers(user, "echo").await);
    }
    postgres.start();
    eventually("all servers are up", 2 * SOON, || async {
        let listed = zone.admin(0).get("/api/servers").await;
        let listed = if listed.status == 200 {
            listed.json()
        } else {
            json!({})
        };
        let servers = listed["servers"].as_array().cloned().unwrap_or_default();
        servers
            .iter()
            .filter(|server| server["state"] == "up")
            .count()
            == 2
    })
    .await;
    let events = at[0].list("/api/events?type=space.stopped", "events").await;
    assert!(events.is_empty(), "{events:?}");
    for (user, space) in at.iter().zip(&spaces) {
        assert!(answers(user, "echo").await);
        assert_eq!(space.state().await, "deployed");
    }

    // A delivery is in flight whose result cannot be written.
    receiver.set("/hook", Reply::After(Duration::from_secs(1), 200));
    at[0]
        .webhook("hook", "custom.a", &receiver.url("/hook"))
        .await;
    at[0].emit("a", json!({})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    postgres.stop();
    for member in 0..2 {
        let begun = Instant::now();
        let ended = zone.server_mut(member).terminate().await;
        println!("server {member} ended within {:?}", begun.elapsed());
        assert_eq!(ended.code(), Some(0));
    }
    postgres.start();
    zone.restart(0).await;
    zone.restart(1).await;
    // The delivery is made again, because its result is unknown. A server that starts releases its
    // own lanes, so it does not wait for the lease to expire.
    receiver.wait_for("/hook", 2, SOON).await;
}

/// How long an emit may wait for a database that does not respond.
const SILENCE_MAX: Duration = Duration::from_secs(25);

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_respond_counts_as_unavailable() {
    let Some(postgres) = TestPostgres::own() else {
        return;
    };
    let zone = TestZone::start(&postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let stop = Arc::new(AtomicBool::new(false));
    let calling = tokio::spawn(call_all_the_time(at[0].clone(), Arc::clone(&stop)));
    let body = json!({"type": "silence", "payload": {}});
    postgres.freeze();
    let begun = Instant::now();
    let refused = at.iter().enumerate().map(|(number, user)| {
        let (user, body, key) = (user.clone(), body.clone(), format!("key-{number}"));
        tokio::spawn(async move { user.emit_with_key(&key, body).await.unwrap() })
    });
    for refused in refused.collect::<Vec<_>>() {
        let answer = refused.await.unwrap().expect(503);
        assert_eq!(answer.code(), "database_unavailable");
    }
    let waited = begun.elapsed();
    println!("refused after {waited:?}");
    assert!(waited < SILENCE_MAX, "{waited:?}");
    postgres.thaw();
    for (number, user) in at.iter().enumerate() {
        let key = format!("key-{number}");
        eventually("the event is taken", 2 * SOON, || async {
            user.emit_with_key(&key, &body).await.unwrap().status == 202
        })
        .await;
    }
    stop.store(true, Ordering::SeqCst);
    let (calls, slowest) = calling.await.unwrap();
    println!("{calls} calls, the slowest took {slowest:?}");
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
    let count = "SELECT COUNT(*) FROM events WHERE type = 'custom.silence'";
    let stored = postgres.sql(&zone.database().name, count);
    assert_eq!(stored, "2", "one event for each key");
}
