//! Answers of receivers are stored texts that the owner of a sink causes: they count toward
//! `event_bytes`.

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestUser, get_eventually};

use crate::SOON;

const LIMIT: u64 = 200_000;

async fn used(user: &TestUser) -> u64 {
    let quota = user.quota("event_bytes").await;
    quota["used"].as_u64().expect("a number")
}

/// The attempts of the finished deliveries of a sink, newest first.
async fn finished(user: &TestUser, sink: &str, count: usize) -> Vec<Value> {
    let path = format!("/api/event-sinks/{sink}/deliveries");
    get_eventually("the deliveries end", SOON, || async {
        let all = user.list(&path, "deliveries").await;
        let ended = all.into_iter().filter(|one| one["state"] != "pending");
        let ended: Vec<_> = ended.map(|one| one["attempts"][0].clone()).collect();
        (ended.len() >= count).then_some(ended)
    })
    .await
}

#[tokio::test]
async fn answers_of_receivers_count_toward_the_quota_of_the_owner() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .config_table("quotas", &format!("event_bytes = {LIMIT}"))
        .start()
        .await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    let answer = "x".repeat(16 * 1024);
    receiver.set("/bad", Reply::Body(500, answer.clone()));
    receiver.set("/good", Reply::Body(200, answer));
    let sink = |name: &str| {
        json!({
            "name": name, "patterns": "custom.*", "type": "webhook",
            "webhook": {"url": receiver.url(&format!("/{name}"))},
            "delivery": {"attempts": 1},
        })
    };
    let mut ids = Vec::new();
    for name in ["bad", "good"] {
        let body = sink(name);
        let created = ann.post("/api/event-sinks", body).await.expect(201).json();
        ids.push(created["id"].as_str().unwrap().to_owned());
    }
    for count in 1..=30 {
        ann.emit("a", json!({})).await;
        finished(&ann, &ids[0], count).await;
        finished(&ann, &ids[1], count).await;
        let used = used(&ann).await;
        // One attempt may exceed the limit; the next emit makes room.
        assert!(used <= LIMIT + 20_000, "{used} bytes");
        if count == 3 {
            assert!(used > 3 * 16 * 1024, "{used} bytes");
        }
    }
    let bad = finished(&ann, &ids[0], 30).await;
    let lengths: Vec<_> = bad
        .iter()
        .map(|attempt| attempt["output"].as_str().map_or(0, str::len))
        .collect();
    let stored: usize = lengths.iter().sum();
    assert!(stored as u64 <= LIMIT + 20_000, "{stored} bytes are listed");
    let omitted = bad
        .iter()
        .filter(|attempt| attempt["output_omitted"] == true);
    assert!(omitted.clone().count() >= 15, "{lengths:?}");
    for attempt in omitted {
        assert_eq!(attempt["output"], Value::Null);
        assert!(attempt["error"].is_string(), "{attempt}");
    }
    for attempt in finished(&ann, &ids[1], 30).await {
        let kept = attempt["output"].as_str().map_or(0, str::len);
        assert!(
            kept == 1_024 || attempt["output_omitted"] == true,
            "{attempt}"
        );
    }
    // Deliveries of deleted sinks are subtracted, step by step.
    for id in ids {
        ann.delete(&format!("/api/event-sinks/{id}"))
            .await
            .expect(204);
    }
    get_eventually(
        "the texts of the deleted sinks are removed",
        SOON,
        || async {
            // The events stay.
            (used(&ann).await < 30 * 1_000).then_some(())
        },
    )
    .await;
}
