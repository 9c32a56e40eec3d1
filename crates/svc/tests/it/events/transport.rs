//! Connections to receivers.

use serde_json::json;
use svc_testkit::{Reply, TestReceiver, TestServer, TestServerBuilder};

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

#[tokio::test]
async fn deliveries_of_a_sink_share_one_connection_and_sinks_share_none() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    ann.webhook("a", "*", &receiver.url("/a")).await;
    ann.webhook("b", "*", &receiver.url("/b")).await;
    // The first delivery of each sink waits until all other events are queued. Then each sink gets
    // its deliveries without a pause.
    receiver.set("/a", Reply::Hang);
    receiver.set("/b", Reply::Hang);
    for n in 0..20 {
        ann.emit("x", json!({"n": n})).await;
    }
    receiver.set("/a", Reply::Status(200));
    receiver.set("/b", Reply::Status(503));
    let received = receiver.wait_for("/a", 20, SOON).await;
    let numbers: Vec<_> = received
        .iter()
        .map(|one| one.json()["data"]["n"].clone())
        .collect();
    assert!(numbers.into_iter().eq((0..20).map(|n| json!(n))));
    receiver.set("/b", Reply::Status(200));
    receiver.wait_for("/b", 1, SOON).await;
    assert_eq!(receiver.connections(), 2);
    let one = &received[19];
    assert_eq!(one.header("connection"), "", "the connection stays open");
}
