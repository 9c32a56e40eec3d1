//! `GET /api/methods/{name}/stats`: the calls of a method over time. `GET /api/stats/activity`: the
//! last day of all methods of a user.

use serde_json::{Value, json};
use svc_testkit::{TestPostgres, TestServer, TestUser, TestZone, fixture, get_eventually, method};

use crate::SOON;

async fn stats(user: &TestUser, path: &str) -> Value {
    let path = format!("/api/methods/{path}");
    user.get(&path).await.expect(200).json()
}

/// The sums of calls and of errors over all points. Checks that `total` has the same numbers.
pub(super) fn sums(stats: &Value) -> (u64, u64) {
    let points = stats["points"].as_array().unwrap();
    let sum = |key: &str| points.iter().map(|one| one[key].as_u64().unwrap()).sum();
    let sums: (u64, u64) = (sum("calls"), sum("errors"));
    assert_eq!(stats["total"]["calls"], sums.0);
    assert_eq!(stats["total"]["errors"], sums.1);
    sums
}

#[tokio::test]
async fn the_statistics_of_a_method_survive_a_restart() {
    let mut server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("echo", "echo").shared())
        .plain("fail")
        .plain("sleep");
    let mut agent = space.publish(registration).await;
    ann.call("echo", json!({})).await;
    bob.call("user.ann.echo", json!({})).await;
    ann.notify("echo", json!({})).await.expect(204);
    ann.call("fail", json!({"code": 7, "message": "no"})).await;
    ann.call("sleep", json!({"ms": 300})).await;
    let check = async |ann: &TestUser| {
        for (range, points, step) in [
            ("1h", 60, 60),
            ("24h", 96, 900),
            ("7d", 168, 3_600),
            ("30d", 120, 21_600),
        ] {
            let echo = stats(ann, &format!("echo/stats?range={range}")).await;
            assert_eq!(sums(&echo), (2, 0), "{range}");
            assert_eq!(echo["points"].as_array().unwrap().len(), points);
            assert_eq!(echo["step_seconds"], step);
            assert_eq!(echo["range"], range);
            assert_eq!(
                (&echo["method"], &echo["owner_id"]),
                (&json!("echo"), &json!(ann.id))
            );
        }
        assert_eq!(sums(&stats(ann, "fail/stats").await), (1, 1));
        let slow = stats(ann, "sleep/stats").await;
        let median = slow["total"]["p50_ms"].as_f64().unwrap();
        assert!((250.0..60_000.0).contains(&median), "{slow}");
        assert_eq!(slow["points"][0]["p50_ms"], Value::Null);
    };
    check(&ann).await;
    agent.stop().await;
    server.restart().await;
    // No space offers the methods now.
    check(&ann.at(&server)).await;
}

#[tokio::test]
async fn only_the_owner_and_auditors_see_statistics() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(
            fixture()
                .with(method("echo", "echo").shared())
                .plain("idle"),
        )
        .await;
    bob.call("user.ann.echo", json!({})).await;
    assert_eq!(sums(&stats(&ann, "echo/stats").await), (1, 0));
    assert_eq!(sums(&stats(&ann, "idle/stats").await), (0, 0));
    assert_eq!(sums(&stats(&admin, "user.ann.echo/stats").await), (1, 0));
    // A method that Bob may call, one that he does not see, and three that do not exist.
    for name in [
        "user.ann.echo",
        "user.ann.idle",
        "user.ann.no",
        "user.no.x",
        "x",
    ] {
        let path = format!("/api/methods/{name}/stats");
        let refused = bob.get(&path).await.expect(404);
        assert_eq!(refused.code(), "not_found", "{name}");
    }
    let invalid = ann.get("/api/methods/echo/stats?range=1y").await;
    assert!(invalid.expect(400).text().contains("30d"));
}

#[tokio::test]
async fn the_statistics_of_a_zone_are_those_of_all_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_announced(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    ann.call("echo", json!({})).await;
    let there = ann.at(zone.server(1));
    get_eventually("the method at the other server", SOON, || async {
        let answer = there.call("echo", json!({})).await;
        answer.get("result").is_some().then_some(())
    })
    .await;
    // When a server stops, it writes the statistics of its calls to the database.
    zone.server_mut(0).terminate().await;
    let (calls, _) = sums(&stats(&there, "echo/stats").await);
    assert!(calls >= 2, "{calls} calls");
}

#[tokio::test]
async fn the_last_day_of_all_own_methods_comes_in_one_answer() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("echo", "echo").shared())
        .plain("fail")
        .plain("sleep");
    let _agent = space.publish(registration).await;
    ann.call("echo", json!({})).await;
    bob.call("user.ann.echo", json!({})).await;
    ann.call("fail", json!({"code": 7, "message": "no"})).await;
    let activity = ann.get("/api/stats/activity").await.expect(200).json();
    let methods = activity["methods"].as_array().unwrap();
    // A method without calls is left out. The method with the most calls is the first.
    let names: Vec<_> = methods.iter().map(|one| &one["method"]).collect();
    assert_eq!(names, ["echo", "fail"]);
    for (row, calls, errors) in [(&methods[0], 2, 0), (&methods[1], 1, 1)] {
        let hours = row["calls"].as_array().unwrap();
        assert_eq!(hours.len(), 24);
        // The call may have been made just before the end of an hour.
        let last = |key: &str| {
            let hours = row[key].as_array().unwrap();
            hours[22].as_u64().unwrap() + hours[23].as_u64().unwrap()
        };
        assert_eq!((last("calls"), last("errors")), (calls, errors));
    }
    let activity = bob.get("/api/stats/activity").await.expect(200).json();
    assert_eq!(
        (&activity["methods"], &activity["sinks"]),
        (&json!([]), &json!([]))
    );
}
