//! Method servers in `serial` mode (spec 4.1).

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{RegistrationToml, TestServer, error_code, eventually, fixture, method, result};

use crate::SOON;

#[tokio::test]
async fn s4_1_s8_serial_mode_sends_one_call_at_a_time_and_concurrent_mode_sends_many() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (name, registration, peak) in [("one", fixture().serial(), 1), ("many", fixture(), 8)] {
        let space = ann.space(name).await;
        let registration = registration
            .with(method("{{space}}.sleep", "sleep"))
            .with(method("{{space}}.count", "count"));
        let agent = space.publish(registration).await;
        let batch: Vec<_> = (0..8)
            .map(|id| json!({"jsonrpc": "2.0", "method": format!("{name}.sleep"), "params": {"ms": 100, "until": "go"}, "id": id}))
            .collect();
        let begun = Instant::now();
        let caller = ann.clone();
        let calls = tokio::spawn(async move { caller.call_raw(json!(batch)).await });
        eventually("the agent has all calls", SOON, || async {
            let status = agent.status().await["method_server"].clone();
            status["in_flight"] == peak && status["queued"] == 8 - peak
        })
        .await;
        let count = format!("{name}.count");
        if peak > 1 {
            eventually("all calls run", SOON, || async {
                ann.call(&count, json!({})).await["result"]["peak"] == peak
            })
            .await;
        }
        space.write("go", "");
        let answers = calls.await.unwrap().expect(200).json();
        answers.as_array().unwrap().iter().for_each(|answer| {
            result(answer);
        });
        if peak == 1 {
            assert!(begun.elapsed() >= Duration::from_millis(800));
        }
        let response = ann.call(&count, json!({})).await;
        assert_eq!(result(&response)["peak"], peak);
    }
}

#[tokio::test]
async fn s4_1_serial_keeps_the_order_of_arrival_of_calls_and_notifications() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .serial()
        .plain("push")
        .plain("pushed")
        .plain("sleep");
    let _agent = space.publish(registration).await;
    let slow = ann.start_call("sleep", json!({"ms": 10, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    for n in 0..6 {
        ann.notify("push", json!([n])).await.expect(204);
    }
    space.write("go", "");
    result(&slow.await.unwrap());
    let response = ann.call("pushed", json!({})).await;
    assert_eq!(result(&response), &json!([[0], [1], [2], [3], [4], [5]]));
}

#[tokio::test]
async fn s4_1_s8_serial_timeouts_report_whether_the_call_was_sent() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .serial()
        .timeout(5)
        .plain("sleep")
        .plain("count")
        .plain("echo");
    let _agent = space.publish(registration).await;
    let sent = ann.start_call("sleep", json!({"ms": 10, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    let queued = ann.start_call("echo", json!({}));
    let (sent, queued) = (sent.await.unwrap(), queued.await.unwrap());
    assert_eq!(error_code(&sent), -32001);
    assert_eq!(sent["error"]["data"]["sent"], true);
    assert_eq!(error_code(&queued), -32001);
    assert_eq!(queued["error"]["data"]["sent"], false);
    // The sent call occupies the slot until its response; the queued call was never sent.
    assert_eq!(
        ann.find_method("sleep").await.unwrap()["providers"][0]["in_flight"],
        1
    );
    space.write("go", "");
    eventually("the method server is free again", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
    ann.wait_for_in_flight("sleep", 0).await;
}

#[tokio::test]
async fn s4_1_serial_a_queued_call_is_removed_when_its_caller_disconnects() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .serial()
        .plain("sleep")
        .plain("push")
        .plain("pushed");
    let agent = space.publish(registration).await;
    let slow = ann.start_call("sleep", json!({"ms": 10, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    let queued = ann.start_call("push", json!(["never sent"]));
    eventually("the call is queued", SOON, || async {
        agent.status().await["method_server"]["queued"] == 1
    })
    .await;
    queued.abort();
    eventually("the call has left the queue", SOON, || async {
        agent.status().await["method_server"]["queued"] == 0
    })
    .await;
    space.write("go", "");
    result(&slow.await.unwrap());
    assert_eq!(result(&ann.call("pushed", json!({})).await), &json!([]));
}

#[tokio::test]
async fn s4_1_serial_a_method_server_that_hangs_is_restarted() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture().serial().timeout(3).plain("never").plain("echo");
    let agent = space.publish(registration).await;
    let pid = agent.method_server_pid().await;
    assert_eq!(error_code(&ann.call("never", json!({})).await), -32001);
    // The restart comes ten seconds after the timeout of the call.
    eventually("the method server is restarted", 2 * SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
    assert_ne!(agent.method_server_pid().await, pid);
}

/// A method server that works for two seconds per call, and creates the file `overlaps` if another
/// process works in its folder at the same time.
const AT_WORK: &str = r#"
while read -r line; do
    id=${line##*:}
    mkdir busy 2>/dev/null || echo "$$ with another" >> overlaps
    sleep 2
    rmdir busy 2>/dev/null
    echo "{\"jsonrpc\":\"2.0\",\"result\":$$,\"id\":${id%\}}}"
done
"#;

#[tokio::test]
async fn s4_1_serial_successive_replacements_never_run_two_processes_at_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    // The second of three processes must wait, whether or not a call waits for it.
    let replace_twice = async |name: &str, middle_is_called: bool| {
        let space = ann.space(name).await;
        let work = format!("{name}.work");
        let registration = RegistrationToml::shell(AT_WORK)
            .serial()
            .with(method(&work, "work"));
        let agent = space.publish(&registration).await;
        let mut calls = vec![ann.start_call(&work, json!({}))];
        ann.wait_for_in_flight(&work, 1).await;
        eventually("the first process is at work", SOON, || async {
            space.folder().join("busy").exists()
        })
        .await;
        agent.register(&registration).await.expect(0);
        if middle_is_called {
            calls.push(ann.start_call(&work, json!({})));
            ann.wait_for_in_flight(&work, 2).await;
        }
        agent.register(&registration).await.expect(0);
        calls.push(ann.start_call(&work, json!({})));
        let mut pids = Vec::new();
        for call in calls {
            pids.push(result(&call.await.unwrap()).clone());
        }
        pids.dedup();
        assert_eq!(pids.len(), 2 + usize::from(middle_is_called), "{pids:?}");
        let overlaps = std::fs::read_to_string(space.folder().join("overlaps"));
        assert!(overlaps.is_err(), "{overlaps:?}");
    };
    tokio::join!(replace_twice("idle", false), replace_twice("waiting", true));
}
