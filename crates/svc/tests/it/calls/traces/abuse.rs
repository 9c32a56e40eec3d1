//! A receiver of traces that fails, and callers that want every call recorded, do not affect calls.

use svc_testkit::{Reply, eventually, fixture};

use super::*;

/// A server with the method `echo`.
async fn with_echo(builder: TestServerBuilder) -> (TestServer, TestUser, TestAgent) {
    let server = builder.start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    (server, ann, agent)
}

/// A batch of this many calls, each of which must succeed.
async fn call_many(user: &TestUser, traceparent: &str, count: usize) {
    let batch: Vec<_> = (0..count)
        .map(|n| json!({"jsonrpc": "2.0", "method": "echo", "params": [n], "id": n}))
        .collect();
    let answers = call_in(user, traceparent, json!(batch)).await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), count);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(result(answer), &json!([n]));
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_costs_spans_and_no_calls() {
    let receiver = TestReceiver::start().await;
    receiver.set("/v1/traces", Reply::Hang);
    let (server, ann, _agent) = with_echo(exporting_to(&receiver, "1")).await;
    let bob = server.user("bob").await;
    let parent = format!("00-{TRACE}-{CALLER_SPAN}-01");
    // Each call has three spans. One user may fill half of the queue of 8,192 spans.
    for _ in 0..4 {
        call_many(&ann, &parent, 1_000).await;
    }
    assert!(count_spans(&server, "dropped").await > 0);
    assert_eq!(count_spans(&server, "exported").await, 0);
    // Spans of another user still fit into the queue.
    let dropped = count_spans(&server, "dropped").await;
    bob.call("nowhere", json!({})).await;
    assert_eq!(count_spans(&server, "dropped").await, dropped);

    receiver.set("/v1/traces", Reply::Status(200));
    wait_for_spans(&server, 4_000).await;
    ann.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_receiver_that_is_down_or_refuses_costs_spans_and_no_calls() {
    // No program listens on the lowest port.
    let url = "http://127.0.0.1:1";
    let builder = TestServer::builder()
        .env("SVC_TRACES_OTLP_URL", url)
        .env("SVC_TRACES_SAMPLE", "1");
    let (mut server, ann, _agent) = with_echo(builder).await;
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    eventually("the failure is logged", SOON, || async {
        server.log().contains("traces cannot be exported")
    })
    .await;
    assert_eq!(result(&ann.call("echo", json!([2])).await), &json!([2]));
    assert!(server.terminate().await.success());

    let receiver = TestReceiver::start().await;
    receiver.set("/v1/traces", Reply::Status(400));
    let (server, ann, _agent) = with_echo(exporting_to(&receiver, "1")).await;
    ann.call("echo", json!([1])).await;
    eventually("the refused spans are counted", SOON, || async {
        count_spans(&server, "rejected").await >= 3
    })
    .await;
    assert_eq!(
        receiver.count("/v1/traces"),
        1,
        "a refused batch is not retried"
    );
    // A busy receiver gets the batch again.
    receiver.set("/v1/traces", Reply::Status(503));
    ann.call("echo", json!([2])).await;
    eventually("the batch is sent", SOON, || async {
        receiver.count("/v1/traces") >= 2
    })
    .await;
    receiver.set("/v1/traces", Reply::Status(200));
    wait_for_spans(&server, 3).await;
}

#[tokio::test]
async fn a_caller_cannot_force_the_recording_of_every_call() {
    let receiver = TestReceiver::start().await;
    let builder = exporting_to(&receiver, "0").env("SVC_TRACES_PARENTS_PER_SECOND", "2");
    let (server, ann, _agent) = with_echo(builder).await;
    let [trace, unsampled] = [TRACE, "4bf92f3577b34da6a3ce929d0e0e4736"];
    call_many(&ann, &format!("00-{unsampled}-{CALLER_SPAN}-00"), 100).await;
    ann.call("echo", json!([])).await;
    call_many(&ann, &format!("00-{trace}-{CALLER_SPAN}-01"), 1_000).await;
    wait_for_spans(&server, 3).await;
    let recorded = count_spans(&server, "exported").await + count_spans(&server, "dropped").await;
    assert!(recorded < 1_000, "{recorded} spans");
    let Some(spans) = decode(&server, &receiver).await else {
        return;
    };
    for span in &spans {
        assert_eq!(span["trace"], trace, "{span}");
    }
}
