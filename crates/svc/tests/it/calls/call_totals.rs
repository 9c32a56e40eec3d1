//! `GET /api/stats/calls`: the calls of a user, or of all users, over time.

use serde_json::{Value, json};
use svc_testkit::{TestPostgres, TestServer, TestUser, TestZone, fixture, method};

use super::method_stats::sums;

async fn totals(user: &TestUser, query: &str) -> Value {
    let path = format!("/api/stats/calls{query}");
    user.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn a_user_sees_only_the_own_calls_and_an_auditor_those_of_all() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("echo", "echo").shared())
        .plain("fail");
    let _agent = space.publish(registration).await;
    ann.call("echo", json!({})).await;
    ann.call("fail", json!({"code": 7, "message": "no"})).await;
    ann.notify("echo", json!({})).await.expect(204);
    bob.call("user.ann.echo", json!({})).await;

    // Bob's call of Ann's method is a call of Bob.
    assert_eq!(sums(&totals(&ann, "").await), (2, 1));
    assert_eq!(sums(&totals(&bob, "?scope=caller").await), (1, 0));
    assert_eq!(sums(&totals(&admin, "").await), (0, 0));
    let all = totals(&admin, "?scope=server&range=7d").await;
    assert_eq!(sums(&all), (3, 1));
    assert_eq!(
        (&all["scope"], &all["range"], &all["step_seconds"]),
        (&json!("server"), &json!("7d"), &json!(3_600))
    );
    for range in ["1h", "24h", "7d", "30d"] {
        let path = format!("/api/stats/calls?scope=server&range={range}");
        let refused = bob.get(&path).await.expect(403);
        assert_eq!(refused.code(), "permission_denied", "{range}");
    }
    for query in ["scope=world", "range=1y"] {
        let path = format!("/api/stats/calls?{query}");
        ann.get(&path).await.expect(400);
    }
}

#[tokio::test]
async fn the_calls_of_users_survive_a_restart() {
    let mut server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo").plain("sleep")).await;
    ann.call("echo", json!({})).await;
    ann.call("sleep", json!({"ms": 300})).await;
    ann.call("nowhere", json!({})).await;
    let check = async |ann: &TestUser, admin: &TestUser| {
        for (range, points) in [("1h", 60), ("24h", 96), ("7d", 168), ("30d", 120)] {
            let own = totals(ann, &format!("?range={range}")).await;
            assert_eq!(sums(&own), (3, 1), "{range}");
            assert_eq!(own["points"].as_array().unwrap().len(), points);
            assert_eq!(
                (&own["scope"], &own["range"]),
                (&json!("caller"), &json!(range))
            );
            let slowest = own["total"]["p99_ms"].as_f64().unwrap();
            assert!((250.0..60_000.0).contains(&slowest), "{own}");
            let all = totals(admin, &format!("?scope=server&range={range}")).await;
            assert_eq!(sums(&all), (3, 1), "{range}");
        }
        // The overview has the same numbers.
        let overview = ann.get("/api/stats").await.expect(200).json();
        let minutes = overview["minutes"].as_array().unwrap();
        let calls: u64 = minutes
            .iter()
            .map(|one| one["calls"].as_u64().unwrap())
            .sum();
        assert_eq!((minutes.len(), calls), (60, 3));
    };
    check(&ann, &admin).await;
    agent.stop().await;
    server.restart().await;
    check(&ann.at(&server), &admin.at(&server)).await;
}

#[tokio::test]
async fn the_calls_of_a_deleted_user_stay_in_the_sum() {
    let mut server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    bob.call("nowhere", json!({})).await;
    // A restart stores the calls.
    server.restart().await;
    let (ann, admin) = (ann.at(&server), admin.at(&server));
    let path = format!("/api/users/{}", bob.id);
    admin.delete(&path).await.expect(204);
    assert_eq!(sums(&totals(&admin, "?scope=server").await), (1, 1));
    assert_eq!(sums(&totals(&ann, "").await), (0, 0));
}

#[tokio::test]
async fn the_calls_of_a_zone_are_those_at_all_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_announced(postgres, 2).await;
    let (ann, admin) = (
        zone.server(0).user("ann").await,
        zone.server(0).admin().await,
    );
    let (there, admin) = (ann.at(zone.server(1)), admin.at(zone.server(1)));
    ann.call("nowhere", json!({})).await;
    there.call("nowhere", json!({})).await;
    // When a server stops, it writes the statistics of its calls to the database.
    zone.server_mut(0).terminate().await;
    assert_eq!(sums(&totals(&there, "").await), (2, 2));
    assert_eq!(sums(&totals(&admin, "?scope=server").await), (2, 2));
}
