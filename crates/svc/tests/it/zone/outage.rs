//! The database is unavailable for a while: calls continue, and no change is lost or half done.

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{Reply, TestPostgres, TestReceiver, TestUser, TestZone, eventually, fixture};

use super::{
    answers, at_each,
    load::{self, Load},
    reaching_tests,
};
use crate::SOON;

/// As long as a lease: every part that uses the database fails many times.
const OUTAGE: Duration = Duration::from_secs(30);

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
    assert_eq!(
        sql(load::COUNT_EVENTS),
        total.to_string(),
        "one event for each key"
    );
    assert_eq!(
        sql(load::COUNT_UNDELIVERED),
        "0",
        "no event without its delivery"
    );
}

/// Longer than the 10 seconds after which a server without a heartbeat counts as gone.
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
