//! `GET /api/event-sinks/{id}/stats` and the sinks of `GET /api/stats/activity`: attempts over time.

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestUser, get_eventually};

use crate::SOON;

async fn stats(user: &TestUser, sink: &str, range: &str) -> Value {
    let path = format!("/api/event-sinks/{sink}/stats?range={range}");
    user.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn the_attempts_of_a_sink_are_counted_and_survive_a_restart() {
    let mut server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.1, 0.1)
        .start()
        .await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    receiver.set("/bad", Reply::Status(500));
    let good = ann.webhook("good", "custom.*", &receiver.url("/ok")).await;
    let bad = ann.webhook("bad", "custom.*", &receiver.url("/bad")).await;
    ann.emit("n", json!({})).await;
    good.wait_for("delivered", 1, SOON).await;
    bad.wait_for("dead", 1, SOON).await;
    let attempts = receiver.count("/bad");
    let seen = get_eventually("all attempts are counted", SOON, || async {
        let seen = stats(&ann, &bad.id, "1h").await;
        (seen["total"]["attempts"] == attempts).then_some(seen)
    })
    .await;
    assert_eq!(seen["total"]["failed"], attempts);
    assert_eq!(seen["points"].as_array().unwrap().len(), 60);
    assert_eq!(seen["sink_id"], bad.id);
    let activity = ann.get("/api/stats/activity").await.expect(200).json();
    let sinks = activity["sinks"].as_array().unwrap();
    assert_eq!(sinks[0]["id"], bad.id);
    assert_eq!(sinks[1]["id"], good.id);
    let sum = |row: &Value, key: &str| -> u64 {
        let hours = row[key].as_array().unwrap();
        hours.iter().map(|hour| hour.as_u64().unwrap()).sum()
    };
    assert_eq!(sum(&sinks[1], "attempts"), 1);
    assert_eq!(sum(&sinks[1], "failed"), 0);

    server.restart().await;
    let ann = ann.at(&server);
    for (range, points) in [("24h", 96), ("7d", 168), ("30d", 120)] {
        let seen = stats(&ann, &bad.id, range).await;
        assert_eq!(seen["total"]["attempts"], attempts, "{range}");
        assert_eq!(seen["points"].as_array().unwrap().len(), points);
    }
    ann.get(&format!("/api/event-sinks/{}/stats?range=1y", bad.id))
        .await
        .expect(400);
}

#[tokio::test]
async fn only_users_who_manage_a_sink_see_its_statistics() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let root = server.user_with("root", &["admin"], &[]).await;
    let receiver = TestReceiver::start().await;
    let own = ann.webhook("own", "custom.*", &receiver.url("/own")).await;
    let shared = root
        .sink(json!({
            "name": "all", "type": "webhook", "patterns": "custom.*", "owner": "global",
            "webhook": {"url": receiver.url("/all")},
        }))
        .await;
    let path = |id: &str| format!("/api/event-sinks/{id}/stats");
    bob.get(&path(&own.id)).await.expect(404);
    bob.get(&path(&shared.id)).await.expect(404);
    root.get(&path(&own.id)).await.expect(404);
    ann.emit("n", json!({})).await;
    get_eventually("the attempt is counted", SOON, || async {
        let seen = stats(&root, &shared.id, "1h").await;
        (seen["total"]["attempts"] == 1).then_some(())
    })
    .await;
    // Another administrator sees the global sink too, and no sink of a user.
    let other = server.user_with("other", &["admin"], &[]).await;
    let activity = other.get("/api/stats/activity").await.expect(200).json();
    let sinks = activity["sinks"].as_array().unwrap();
    assert_eq!(sinks.len(), 1, "{activity}");
    assert_eq!(sinks[0]["id"], shared.id);
}
