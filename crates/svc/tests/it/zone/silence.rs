//! The database does not respond, as if the network dropped all packets. Servers notice this within
//! seconds and then refuse requests at once, until the database responds again. Clients retry with
//! the same key.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use svc_testkit::{TestPostgres, TestUser, TestZone, eventually, fixture};

use super::{at_each, load::call_all_the_time};
use crate::SOON;

/// How long an emit may wait for a database that does not respond. Servers notice the silence
/// within 2 s. Without heartbeats to the database, they would wait for 15 s.
const SILENCE_MAX: Duration = Duration::from_secs(12);

/// A zone of two servers on a database that a test may freeze.
struct Silence {
    postgres: TestPostgres,
    zone: TestZone,
    /// The same user at each server.
    at: Vec<TestUser>,
}

impl Silence {
    async fn prepare() -> Option<Self> {
        let postgres = TestPostgres::own()?;
        let zone = TestZone::start(&postgres, 2).await;
        let ann = zone.server(0).user("ann").await;
        let at = at_each(&zone, &ann, 2).await;
        Some(Self { postgres, zone, at })
    }

    fn count(&self, kind: &str) -> String {
        let count = format!("SELECT COUNT(*) FROM events WHERE type = 'custom.{kind}'");
        self.postgres.sql(&self.zone.database().name, &count)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_respond_counts_as_unavailable_within_seconds() {
    let Some(silence) = Silence::prepare().await else {
        return;
    };
    let Silence { postgres, at, .. } = &silence;
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
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    println!("refused after {:?}", begun.elapsed());
    assert!(begun.elapsed() < SILENCE_MAX, "{:?}", begun.elapsed());
    // From now on every request is answered at once.
    let begun = Instant::now();
    for user in at {
        for number in 0..10 {
            let key = format!("more-{number}");
            let answer = user.emit_with_key(&key, &body).await.unwrap().expect(503);
            assert_eq!(answer.code(), "database_unavailable");
        }
        let answer = user.get("/api/events").await.expect(503);
        assert_eq!(answer.code(), "database_unavailable");
    }
    println!("22 requests were refused within {:?}", begun.elapsed());
    assert!(begun.elapsed() < SILENCE_MAX, "{:?}", begun.elapsed());
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
    assert!(slowest < Duration::from_secs(14), "{slowest:?}");
    assert_eq!(silence.count("silence"), "2", "one event for each key");
}

#[tokio::test(flavor = "multi_thread")]
async fn svc_event_retries_with_the_same_key_and_reports_it() {
    let Some(silence) = Silence::prepare().await else {
        return;
    };
    let Silence { postgres, zone, at } = &silence;
    let server = zone.server(0);
    postgres.freeze();
    let mut emitting = server.cli(&at[0]).spawn(&["event", "patient", "{}"]);
    let line = emitting.wait_for_log("retrying for up to 30 s", SOON).await;
    assert!(line.contains("database"), "{line}");
    // Without time to retry, the command names the key that makes a repetition safe.
    let args = ["event", "hasty", "{}", "--retry-for", "0"];
    let refused = server.cli(&at[0]).run(&args).await.expect(7);
    let key = refused.stderr.split_once("--idempotency-key ");
    let key = key
        .unwrap_or_else(|| panic!("no key: {}", refused.stderr))
        .1;
    let key = key.split(';').next().unwrap();
    assert!(refused.stdout.is_empty());
    postgres.thaw();
    assert!(emitting.wait_for_exit(2 * SOON).await.success());
    let said = emitting.stderr();
    assert_eq!(said.lines().count(), 1, "one line for all retries: {said}");
    assert_eq!(emitting.stdout().len(), 1);
    let again = ["event", "hasty", "{}", "--idempotency-key", key];
    server.cli(&at[0]).run(&again).await.expect(0);
    server.cli(&at[0]).run(&again).await.expect(0);
    assert_eq!(silence.count("patient"), "1");
    assert_eq!(silence.count("hasty"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_retries_the_events_of_its_programs() {
    let Some(silence) = Silence::prepare().await else {
        return;
    };
    let Silence { postgres, at, .. } = &silence;
    let space = at[0].space("lab").await;
    let agent = space.agent().await;
    let (http, other) = (agent.socket().await, agent.socket().await);
    let headers = [("content-type", "application/json")];
    let body = r#"{"type":"local","payload":{}}"#;
    postgres.freeze();
    // The server refuses the event; the agent keeps the request open.
    let emitting =
        tokio::spawn(async move { other.request("POST", "/event", &headers, body).await });
    let hasty = [headers[0], ("prefer", "wait=0")];
    let refused = http
        .request("POST", "/event", &hasty, body)
        .await
        .expect(503);
    assert_eq!(refused.code(), "database_unavailable");
    assert_eq!(refused.header("retry-after"), Some("1"));
    eventually("the agent retries", SOON, || async {
        agent.log().contains("events are retried")
    })
    .await;
    assert!(!emitting.is_finished());
    postgres.thaw();
    let emitted: Value = emitting.await.unwrap().expect(202).json();
    assert_eq!(emitted["event_type"], "custom.local");
    assert_eq!(silence.count("local"), "1");
}
