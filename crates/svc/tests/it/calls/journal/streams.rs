//! The stream of new calls.

use serde_json::{Value, json};
use svc_testkit::{SseStream, TestServer, fixture, method};

use super::{calls, wait_for};
use crate::SOON;

#[tokio::test]
async fn new_calls_are_streamed_and_the_command_line_shows_them() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    ann.call("echo", json!({})).await;
    wait_for(&ann, "", 1).await;
    let request = ann
        .request("GET", "/api/calls/stream")
        .body(String::new().into());
    let mut stream = SseStream::open(&ann.http(), request.unwrap()).await;
    bob.call("nowhere", json!({})).await;
    bob.call("user.ann.echo", json!({})).await;
    let message = stream.next(SOON).await.expect("a call");
    let call: Value = serde_json::from_str(&message.data).expect("JSON");
    assert_eq!(
        (&call["caller"], &call["method"]),
        (&json!("bob"), &json!("echo"))
    );
    assert_eq!(call["credential"], Value::Null);

    let cli = || server.cli(&ann);
    let listed = cli()
        .run(&["calls", "list", "--caller", "bob"])
        .await
        .expect(0);
    assert!(listed.stdout.contains("bob"), "{}", listed.stdout);
    assert!(!listed.stdout.contains("nowhere"), "{}", listed.stdout);
    let id = call["id"].as_str().unwrap();
    let shown = cli()
        .run(&["calls", "get", id, "-o", "json"])
        .await
        .expect(0);
    assert_eq!(shown.json(), call);
    let wrong = cli().run(&["calls", "list", "--outcome", "good"]).await;
    assert!(wrong.expect(2).stderr.contains("error, not_found"));
}

#[tokio::test]
async fn a_reader_that_opens_the_stream_and_then_reads_the_list_misses_no_call() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    for made in 1..=5 {
        // The call is written to the journal up to a second after its end.
        ann.call("echo", json!({})).await;
        let request = ann
            .request("GET", "/api/calls/stream")
            .body(String::new().into());
        let mut stream = SseStream::open(&ann.http(), request.unwrap()).await;
        if calls(&ann, "").await.len() < made {
            let message = stream.next(SOON).await.expect("the call");
            let call: Value = serde_json::from_str(&message.data).expect("JSON");
            assert_eq!(call["method"], "echo");
            assert_eq!(calls(&ann, "").await.len(), made);
        }
    }
}
