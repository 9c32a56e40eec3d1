//! Sinks that count as failing: in their records, in `GET /api/stats`, in `svc sink list` and in
//! `svc top`. Also the progress of resends.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{
    Reply, TestReceiver, TestServer, TestSink, TestUser, eventually, get_eventually,
};

use crate::SOON;

async fn start() -> TestServer {
    TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.05, 0.05)
        .start()
        .await
}

async fn sinks(user: &TestUser) -> Value {
    let stats = user.get("/api/stats").await.expect(200).json();
    stats["sinks"].clone()
}

#[tokio::test]
async fn a_sink_that_the_service_paused_fails_until_a_user_enables_or_disables_it() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    receiver.set("/hook", Reply::Status(500));
    let ann = server.user("ann").await;
    ann.webhook("fine", "other", &receiver.url("/fine")).await;
    let policy = json!({"attempts": 1, "on_exhausted": "pause", "overflow": "hold"});
    let sink = ann
        .sink(json!({
            "name": "partner", "type": "webhook", "patterns": "custom.*",
            "webhook": {"url": receiver.url("/hook")}, "delivery": policy,
        }))
        .await;
    ann.emit("x", json!({})).await;
    let paused = get_eventually("the service pauses the sink", SOON, || async {
        let record = sink.record().await;
        record.get("paused").cloned()
    })
    .await;
    assert_eq!(sink.record().await["active"], false);
    let seen = sinks(&ann).await;
    assert_eq!(
        (&seen["failing_total"], &seen["paused"]),
        (&json!(1), &json!(1))
    );
    let failing = &seen["failing"][0];
    assert_eq!(
        (&failing["name"], &failing["paused"]),
        (&json!("partner"), &paused)
    );
    assert!(
        paused["reason"].as_str().unwrap().contains("failed"),
        "{paused}"
    );
    ann.emit("x", json!({})).await;
    assert_eq!(sinks(&ann).await["failing"][0]["held"], true);

    let cli = || server.cli(&ann);
    let listed = cli().run(&["sink", "list"]).await.expect(0).stdout;
    let row = listed.lines().find(|line| line.starts_with("partner"));
    assert!(row.unwrap().contains("paused"), "{listed}");
    let top = cli().run(&["top", "--once"]).await.expect(0).stdout;
    let (partner, fine) = (top.find("partner").unwrap(), top.find("fine").unwrap());
    assert!(partner < fine, "the paused sink is first: {top}");

    // A pause by a user is not a failure.
    sink.patch(json!({"active": false})).await;
    assert_eq!(sink.record().await.get("paused"), None);
    let seen = sinks(&ann).await;
    assert_eq!((&seen["failing"], &seen["paused"]), (&json!([]), &json!(0)));
}

async fn resend(sink: &TestSink) {
    let path = format!("{}/resend", sink.path());
    let all = json!({"dead_since": "2020-01-01T00:00:00Z"});
    sink.owner.post(&path, all).await.expect(200);
}

#[tokio::test]
async fn a_resend_reports_its_progress_and_the_sink_fails_only_if_the_resend_fails() {
    let server = start().await;
    let receiver = TestReceiver::start().await;
    receiver.set("/hook", Reply::Status(500));
    let ann = server.user("ann").await;
    let sink = ann
        .sink(json!({
            "name": "hook", "type": "webhook", "patterns": "custom.*",
            "webhook": {"url": receiver.url("/hook")}, "delivery": {"attempts": 1},
        }))
        .await;
    for n in 0..80 {
        ann.emit("x", json!({ "n": n })).await;
    }
    sink.wait_for("dead", 80, 6 * SOON).await;
    assert_eq!(sinks(&ann).await["failing"][0]["dead"], 80);
    assert_eq!(sink.record().await.get("feed_progress"), None);

    receiver.set("/hook", Reply::Hang);
    resend(&sink).await;
    let progress = get_eventually("half of the queue is filled", SOON, || async {
        let record = sink.record().await;
        let progress = record["feed_progress"][0].clone();
        (progress["queued"] == 50).then_some(progress)
    })
    .await;
    assert_eq!(
        (&progress["kind"], &progress["total"]),
        (&json!("resend"), &json!(80))
    );
    assert!(progress["since"].is_string(), "{progress}");
    assert_eq!(sinks(&ann).await["failing"], json!([]), "a resend runs");
    let shown = server
        .cli(&ann)
        .run(&["sink", "get", "hook"])
        .await
        .expect(0);
    assert!(
        shown.stdout.contains("50 of 80 events queued"),
        "{}",
        shown.stdout
    );

    // The events that are sent again fail again. The feed cannot continue without a free place.
    receiver.set("/hook", Reply::After(Duration::from_millis(300), 500));
    eventually("the resend fails", 2 * SOON, || async {
        let seen = sinks(&ann).await;
        let still = sink.record().await["feeds"] == 1;
        seen["failing"][0]["state"] == "dead" && still
    })
    .await;
    receiver.set("/hook", Reply::Status(200));
    eventually("the resend has ended", 2 * SOON, || async {
        let record = sink.record().await;
        record["feeds"] == 0 && record["queue_depth"] == 0
    })
    .await;
    assert_eq!(sink.record().await.get("feed_progress"), None);
}
