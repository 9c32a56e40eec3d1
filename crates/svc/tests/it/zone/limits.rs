//! Limits of a user hold for all servers of a zone together.

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{SseStream, TestPostgres, TestUser, TestZone, eventually};

use super::at_each;
use crate::SOON;

const PER_SECOND: u32 = 20;
const LOAD: Duration = Duration::from_secs(10);

/// Emits at most a hundred events per second for a while. Returns how many were accepted and how
/// many were refused.
async fn emit_steadily(user: TestUser) -> (u32, u32) {
    let (begun, mut accepted, mut refused) = (Instant::now(), 0, 0);
    while begun.elapsed() < LOAD {
        let answer = user.try_emit("steady", json!({})).await;
        match answer.status {
            202 => accepted += 1,
            _ => {
                assert_eq!(answer.expect(429).code(), "rate_limited");
                refused += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (accepted, refused)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_holds_for_all_servers_together() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let limit = format!("emits_per_second = {PER_SECOND}");
    let zone = TestZone::start_with(postgres, 2, |builder| {
        builder.config_table("events", &limit)
    })
    .await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let begun = Instant::now();
    let emitting: Vec<_> = at
        .iter()
        .map(|user| tokio::spawn(emit_steadily(user.clone())))
        .collect();
    let (mut accepted, mut refused) = (0, 0);
    for emitting in emitting {
        let counts = emitting.await.unwrap();
        accepted += counts.0;
        refused += counts.1;
    }
    // At the start, the emits of one second are accepted at once. If the servers did not share the
    // limit, twice as many emits would be accepted. A test in simulated time measures the exact
    // rate.
    let expected = PER_SECOND * (begun.elapsed().as_secs() as u32 + 1);
    println!("{accepted} accepted, {expected} expected");
    assert!(accepted < expected + expected / 3, "{accepted}");
    // A busy machine may emit less than the limit allows, and then nothing is refused.
    assert!(accepted > expected / 2 || refused == 0, "{accepted}");
}

#[tokio::test]
async fn s5_failed_logins_count_at_all_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 2, |builder| builder.config("login_limit = 4")).await;
    let ann = zone.server(0).user("ann").await;
    at_each(&zone, &ann, 2).await;
    let mut failures = 0;
    let refused = loop {
        let server = zone.server(failures % 2);
        let answer = server.try_login("ann", "wrong-password").await;
        if answer.status == 429 {
            break answer;
        }
        answer.expect(401);
        failures += 1;
        // Each server alone would allow four failures, so eight in total. On a slow machine, a wait
        // may end before the next attempt, so more than four are possible.
        assert!(failures < 7, "{failures} attempts without a wait");
    };
    assert!(failures >= 4, "{failures}");
    assert_eq!(refused.code(), "too_many_attempts");
    assert!(refused.header("retry-after").is_some());
    // Another user is not affected. A success resets the counter at all servers.
    zone.server(1).user("bob").await;
    eventually("the wait is over", SOON, || async {
        let answer = zone.server(1).try_login("ann", &ann.password).await;
        answer.status == 200
    })
    .await;
    zone.server(0)
        .try_login("ann", "wrong-password")
        .await
        .expect(401);
}

#[tokio::test]
async fn open_streams_count_at_all_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 2, |builder| {
        builder.config_table("quotas", "streams = 3")
    })
    .await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let request = |user: &TestUser| {
        let request = user.request("GET", "/api/events/stream");
        request.body(Default::default()).unwrap()
    };
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(SseStream::open(&at[0].http(), request(&at[0])).await);
    }
    eventually("the other server knows the streams", SOON, || async {
        // The answer of an open stream never ends, so the test does not wait for its end.
        let asking = at[1].get("/api/events/stream");
        let answer = tokio::time::timeout(Duration::from_millis(500), asking).await;
        answer.is_ok_and(|answer| answer.status == 429)
    })
    .await;
    drop(open);
    eventually("a stream can be opened again", SOON, || async {
        let asking = at[1].get("/api/events/stream");
        let answer = tokio::time::timeout(Duration::from_millis(500), asking).await;
        answer.is_err()
    })
    .await;
}
