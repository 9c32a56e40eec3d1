//! Method servers that misbehave, die or hang (spec 1, 4.1, 8): the agent survives them all, and
//! callers get the right code.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    Process, RegistrationToml, TestServer, TestSpace, TestUser, error_code, eventually, fixture,
    fixture_method_server, method, result,
};
use tokio::task::{JoinHandle, JoinSet};

use crate::SOON;

fn call_in_background(user: &TestUser, method: &'static str, params: Value) -> JoinHandle<Value> {
    let user = user.clone();
    tokio::spawn(async move { user.call(method, params).await })
}

async fn wait_for_in_flight(user: &TestUser, method: &str, expected: u64) {
    eventually(&format!("{expected} calls are in flight"), SOON, || async {
        user.find_method(method).await.unwrap()["providers"][0]["in_flight"] == expected
    })
    .await;
}

/// Waits for a line in the space's log.
async fn wait_for_log(space: &TestSpace, text: &str) {
    eventually(&format!("the space's log holds `{text}`"), SOON, || async {
        let logs = space
            .owner
            .get(&format!("{}/logs", space.path()))
            .await
            .expect(200)
            .json();
        let lines = logs["logs"].as_array().unwrap();
        lines
            .iter()
            .any(|line| line["line"].as_str().unwrap().contains(text))
    })
    .await;
}

#[tokio::test]
async fn noise_duplicate_and_unknown_ids_are_survived() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(
            fixture()
                .plain("noise")
                .plain("twice")
                .plain("wrong_id")
                .plain("echo"),
        )
        .await;
    let pid = agent.method_server_pid().await;
    for name in ["noise", "twice", "wrong_id", "echo"] {
        for n in 0..3 {
            let params = json!({"n": n, "of": name});
            assert_eq!(result(&ann.call(name, params.clone()).await), &params);
        }
    }
    assert_eq!(
        agent.method_server_pid().await,
        pid,
        "nothing of this restarts it"
    );
    wait_for_log(&space, "hello").await;
}

#[tokio::test]
async fn a_line_over_16_mib_is_discarded_and_the_next_answers() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().timeout(3).plain("huge").plain("echo"))
        .await;
    let pid = agent.method_server_pid().await;
    let large = ann.call("huge", json!({"bytes": 8 << 20})).await;
    assert_eq!(result(&large).as_str().unwrap().len(), 8 << 20);
    let response = ann.call("huge", json!({"bytes": 17 << 20})).await;
    assert_eq!(error_code(&response), -32001);
    result(&ann.call("echo", json!({})).await);
    assert_eq!(agent.method_server_pid().await, pid);
}

#[tokio::test]
async fn an_answer_after_the_timeout_is_dropped() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().timeout(1).plain("sleep").plain("echo"))
        .await;
    assert_eq!(
        error_code(&ann.call("sleep", json!({"ms": 1500})).await),
        -32001
    );
    // Calls go on while the late answer comes in, each with its own.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        assert_eq!(result(&ann.call("echo", json!([7])).await), &json!([7]));
    }
}

#[tokio::test]
async fn closing_stdout_counts_as_exit() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let script = "read line; exec 1>&-; exec sleep 600";
    let agent = space
        .publish(RegistrationToml::shell(script).plain("x"))
        .await;
    let pid = agent.method_server_pid().await;
    let begun = Instant::now();
    assert_eq!(error_code(&ann.call("x", json!({})).await), -32002);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    Process::wait_until_gone(pid, SOON).await;
    assert_ne!(agent.method_server_pid().await, pid);
}

#[tokio::test]
async fn a_method_server_that_never_reads_times_out_and_is_replaceable() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().timeout(2).plain("stop_reading").plain("echo"))
        .await;
    let pid = agent.method_server_pid().await;
    result(&ann.call("stop_reading", json!({})).await);
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32001);

    // More than 64 MiB do not wait for it: what is too much is refused at once.
    let payload = "x".repeat(7 << 20);
    let mut calls = JoinSet::new();
    for _ in 0..11 {
        let (ann, payload) = (ann.clone(), payload.clone());
        calls.spawn(async move { error_code(&ann.call("echo", json!([payload])).await) });
    }
    let codes = calls.join_all().await;
    assert!(
        codes.iter().all(|code| [-32000, -32001].contains(code)),
        "{codes:?}"
    );
    assert!(
        codes.contains(&-32000) && codes.contains(&-32001),
        "{codes:?}"
    );

    agent.register(fixture().plain("echo")).await.expect(0);
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    Process::wait_until_gone(pid, 2 * SOON).await;
}

#[tokio::test]
async fn kill9_with_50_calls_in_flight_interrupts_all_within_a_second() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().timeout(60).plain("sleep").plain("echo"))
        .await;
    let pid = agent.method_server_pid().await;
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let ann = ann.clone();
        calls.spawn(async move { ann.call("sleep", json!({"ms": 60_000})).await });
    }
    wait_for_in_flight(&ann, "sleep", 50).await;
    let killed = Instant::now();
    std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()
        .unwrap();
    let answers = calls.join_all().await;
    let took = killed.elapsed();
    assert_eq!(answers.len(), 50);
    for answer in answers {
        assert_eq!(error_code(&answer), -32002);
        assert_eq!(answer["error"]["data"], json!({"reason": "interrupted"}));
    }
    assert!(took < Duration::from_secs(1), "took {took:?}");
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    assert_eq!(agent.status().await["method_server"]["restarts"], 1);
}

#[tokio::test]
async fn calls_wait_for_a_restart_but_not_for_ever() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let program = fixture_method_server();
    let script = format!(
        "if [ -e down ]; then exit 1; fi; exec '{}'",
        program.display()
    );
    let agent = space
        .publish(
            RegistrationToml::shell(&script)
                .plain("echo")
                .plain("crash"),
        )
        .await;
    let pid = agent.method_server_pid().await;
    space.write("down", "");
    assert_eq!(error_code(&ann.call("crash", json!({})).await), -32002);
    Process::wait_until_gone(pid, SOON).await;
    let begun = Instant::now();
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32000);
    let waited = begun.elapsed();
    assert!(
        waited > Duration::from_secs(1) && waited < Duration::from_secs(5),
        "{waited:?}"
    );
    let document = ann.find_method("echo").await.unwrap();
    assert_eq!(document["providers"][0]["state"], "restarting");
    assert_eq!(document["provider_count"], 0);
    std::fs::remove_file(space.folder().join("down")).unwrap();
    eventually("it is up again", 2 * SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn serial_sends_one_call_at_a_time_and_concurrent_many() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (name, registration, peak) in [("one", fixture().serial(), 1), ("many", fixture(), 8)] {
        let space = ann.space(name).await;
        let registration = registration
            .with(method("{{space}}.sleep", "sleep"))
            .with(method("{{space}}.count", "count"));
        let _agent = space.publish(registration).await;
        let batch: Vec<_> = (0..8)
            .map(|id| json!({"jsonrpc": "2.0", "method": format!("{name}.sleep"), "params": {"ms": 100}, "id": id}))
            .collect();
        let begun = Instant::now();
        let answers = ann.call_raw(json!(batch)).await.expect(200).json();
        answers.as_array().unwrap().iter().for_each(|answer| {
            result(answer);
        });
        if peak == 1 {
            assert!(begun.elapsed() >= Duration::from_millis(800));
        }
        let response = ann.call(&format!("{name}.count"), json!({})).await;
        assert_eq!(result(&response)["peak"], peak);
    }
}

#[tokio::test]
async fn serial_keeps_the_order_of_arrival_and_notifications_wait_their_turn() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .serial()
        .plain("push")
        .plain("pushed")
        .plain("sleep");
    let _agent = space.publish(registration).await;
    let slow = call_in_background(&ann, "sleep", json!({"ms": 500}));
    wait_for_in_flight(&ann, "sleep", 1).await;
    for n in 0..6 {
        ann.notify("push", json!([n])).await.expect(204);
    }
    result(&slow.await.unwrap());
    let response = ann.call("pushed", json!({})).await;
    assert_eq!(result(&response), &json!([[0], [1], [2], [3], [4], [5]]));
}

#[tokio::test]
async fn serial_timeouts_say_whether_the_call_was_sent() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .serial()
        .timeout(1)
        .plain("sleep")
        .plain("count")
        .plain("echo");
    let _agent = space.publish(registration).await;
    let sent = call_in_background(&ann, "sleep", json!({"ms": 3_000}));
    wait_for_in_flight(&ann, "sleep", 1).await;
    let queued = call_in_background(&ann, "echo", json!({}));
    let (sent, queued) = (sent.await.unwrap(), queued.await.unwrap());
    assert_eq!(error_code(&sent), -32001);
    assert_eq!(sent["error"]["data"]["sent"], true);
    assert_eq!(error_code(&queued), -32001);
    assert_eq!(queued["error"]["data"]["sent"], false);
    // The sent one holds its place until its answer; the queued one was never sent.
    assert_eq!(
        ann.find_method("sleep").await.unwrap()["providers"][0]["in_flight"],
        1
    );
    eventually("the method server is free again", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
    wait_for_in_flight(&ann, "sleep", 0).await;
}

#[tokio::test]
async fn serial_a_queued_call_leaves_when_its_caller_goes() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .serial()
        .plain("sleep")
        .plain("push")
        .plain("pushed");
    let agent = space.publish(registration).await;
    let slow = call_in_background(&ann, "sleep", json!({"ms": 2_000}));
    wait_for_in_flight(&ann, "sleep", 1).await;
    let queued = call_in_background(&ann, "push", json!(["never sent"]));
    eventually("the call is queued", SOON, || async {
        agent.status().await["method_server"]["queued"] == 1
    })
    .await;
    queued.abort();
    eventually("the call has left the queue", SOON, || async {
        agent.status().await["method_server"]["queued"] == 0
    })
    .await;
    result(&slow.await.unwrap());
    assert_eq!(result(&ann.call("pushed", json!({})).await), &json!([]));
}

#[tokio::test]
async fn serial_a_method_server_that_hangs_is_restarted() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture().serial().timeout(1).plain("never").plain("echo");
    let agent = space.publish(registration).await;
    let pid = agent.method_server_pid().await;
    assert_eq!(error_code(&ann.call("never", json!({})).await), -32001);
    // Ten seconds beyond its timeout.
    eventually(
        "the method server is restarted",
        Duration::from_secs(25),
        || async { ann.call("echo", json!({})).await.get("result").is_some() },
    )
    .await;
    assert_ne!(agent.method_server_pid().await, pid);
}

#[tokio::test]
async fn no_process_of_a_method_server_survives_it() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .plain("grandchild")
        .plain("stop_reading")
        .plain("echo");
    let mut agent = space.publish(&registration).await;
    let grandchild = || async {
        let response = ann.call("grandchild", json!({})).await;
        u32::try_from(result(&response).as_u64().unwrap()).unwrap()
    };
    // Replaced, unregistered, crashed, stubborn, and stopped with its agent.
    let first = grandchild().await;
    agent.register(&registration).await.expect(0);
    Process::wait_until_gone(first, SOON).await;

    let (second, server_pid) = (grandchild().await, agent.method_server_pid().await);
    agent.cli().run(&["methods", "unregister"]).await.expect(0);
    Process::wait_until_gone(second, SOON).await;
    Process::wait_until_gone(server_pid, SOON).await;

    agent.register(&registration).await.expect(0);
    let (third, server_pid) = (grandchild().await, agent.method_server_pid().await);
    std::process::Command::new("kill")
        .args(["-9", &server_pid.to_string()])
        .status()
        .unwrap();
    Process::wait_until_gone(third, SOON).await;

    result(&ann.call("echo", json!({})).await);
    let (fourth, server_pid) = (grandchild().await, agent.method_server_pid().await);
    // It no longer sees that its stdin is closed.
    result(&ann.call("stop_reading", json!({})).await);
    assert_eq!(agent.stop().await.code(), Some(0));
    Process::wait_until_gone(server_pid, SOON).await;
    Process::wait_until_gone(fourth, SOON).await;
}

#[tokio::test]
async fn stderr_goes_to_the_log_of_the_space() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("stderr")).await;
    result(
        &ann.call("stderr", json!({"text": "the kettle boils"}))
            .await,
    );
    wait_for_log(&space, "the kettle boils").await;
    let shown = agent.cli().run(&["methods", "logs"]).await.expect(0);
    assert!(shown.stdout.contains("the kettle boils"), "{shown:?}");
    ben.get(&format!("{}/logs", space.path())).await.expect(404);
}
