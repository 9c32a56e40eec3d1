//! Events about sinks: which sinks and streams get them, and when.

use serde_json::{Value, json};
use svc_testkit::{Reply, SseStream, TestReceiver, TestServer, eventually};

use crate::SOON;

/// The next event of a stream: type and data.
async fn next(stream: &mut SseStream) -> (String, Value) {
    let message = stream.next(SOON).await.expect("an event");
    let record: Value = serde_json::from_str(&message.data).expect("JSON");
    (message.event, record["data"].clone())
}

#[tokio::test]
async fn changes_of_a_sink_with_notify_reach_streams_and_other_sinks_once() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/stuck", Reply::Hang);
    let stuck = ann
        .sink(json!({
            "name": "stuck", "type": "webhook", "patterns": "*",
            "webhook": {"url": receiver.url("/stuck")},
            "delivery": {"notify": true, "permanent_statuses": [410]},
        }))
        .await;
    ann.webhook("watch", "sink.*", &receiver.url("/watch"))
        .await;
    let request = ann.request("GET", "/api/events/stream?pattern=sink.*");
    let request = request.body(Default::default()).unwrap();
    let mut stream = SseStream::open(&ann.http(), request).await;
    for _ in 0..2 {
        let mut ids = Vec::new();
        for n in 0..103 {
            ids.push(ann.emit("n", json!({ "n": n })).await);
        }
        let (event, data) = next(&mut stream).await;
        assert_eq!(event, "sink.dropping");
        assert_eq!(data["sink_id"], stuck.id);
        assert_eq!(data["event_id"], ids[100]);
        receiver.set("/stuck", Reply::Status(200));
        eventually("the queue is empty", 2 * SOON, || async {
            stuck.record().await["queue_depth"] == 0
        })
        .await;
        receiver.set("/stuck", Reply::Hang);
    }
    receiver.set("/stuck", Reply::Status(410));
    ann.emit("last", json!({})).await;
    let (event, data) = next(&mut stream).await;
    assert_eq!(
        (event.as_str(), &data["name"]),
        ("sink.paused", &json!("stuck"))
    );
    let watched = receiver.wait_for("/watch", 3, SOON).await;
    let types: Vec<_> = watched
        .iter()
        .map(|one| one.header("x-service-event-type"))
        .collect();
    assert_eq!(types, ["sink.dropping", "sink.dropping", "sink.paused"]);
    let stuck = receiver.received("/stuck");
    let is_about_sinks = |one: &&svc_testkit::Received| {
        let event_type = one.header("x-service-event-type");
        event_type.starts_with("sink.")
    };
    assert_eq!(stuck.iter().filter(is_about_sinks).count(), 0);
}
