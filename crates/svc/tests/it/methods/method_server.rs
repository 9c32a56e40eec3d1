//! Method servers that misbehave, crash or hang (spec 1, 4.1, 8): the agent keeps running, and
//! callers get the right error code.

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{
    Process, RegistrationToml, TestServer, TestSpace, error_code, eventually, fixture,
    fixture_method_server, get_eventually, result,
};
use tokio::task::JoinSet;

use crate::SOON;

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
async fn s1_noise_and_duplicate_and_unknown_ids_are_ignored() {
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
        "the method server was restarted"
    );
    wait_for_log(&space, "hello").await;
}

#[tokio::test]
async fn s1_a_line_over_16_mib_is_discarded_and_the_next_is_read() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().timeout(10).plain("huge").plain("echo"))
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
async fn s8_a_response_after_the_timeout_is_dropped() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().timeout(5).plain("sleep").plain("echo"))
        .await;
    let late = ann.call("sleep", json!({"ms": 500, "until": "go"})).await;
    assert_eq!(error_code(&late), -32001);
    space.write("go", "");
    // Calls continue while the late response arrives, and each gets its own response.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        assert_eq!(result(&ann.call("echo", json!([7])).await), &json!([7]));
    }
}

#[tokio::test]
async fn s1_closing_stdout_counts_as_exit() {
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
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    Process::wait_until_gone(pid, SOON).await;
    assert_ne!(agent.method_server_pid().await, pid);
}

#[tokio::test]
async fn s8_a_method_server_that_never_reads_times_out_and_can_be_replaced() {
    let server = TestServer::builder()
        .config("max_unfinished_body_bytes = 2147483648")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().timeout(10).plain("stop_reading").plain("echo"))
        .await;
    let pid = agent.method_server_pid().await;
    result(&ann.call("stop_reading", json!({})).await);
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32001);

    // At most 64 MiB of calls wait for the method server. A single user may fill about half of
    // this; further calls are refused at once. All calls arrive before the first times out, also on
    // a busy machine.
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
async fn s1_kill9_with_50_calls_in_flight_interrupts_all_of_them() {
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
    ann.wait_for_in_flight("sleep", 50).await;
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
    // Much longer than a second, because the machine may be busy, and shorter than the calls.
    assert!(took < Duration::from_secs(20), "took {took:?}");
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    assert_eq!(agent.status().await["method_server"]["restarts"], 1);
}

#[tokio::test]
async fn s1_calls_wait_for_a_restart_for_a_limited_time() {
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
    // A new process gets calls at once, so the first calls may end with -32002 when the process
    // exits. The pauses between starts become longer, until a call waits without any process.
    let waited = get_eventually("a call waits without a process", 3 * SOON, || async {
        let begun = Instant::now();
        let code = error_code(&ann.call("echo", json!({})).await);
        assert!([-32000, -32002].contains(&code), "{code}");
        (code == -32000).then(|| begun.elapsed())
    })
    .await;
    let bounds = Duration::from_millis(1_500)..Duration::from_secs(20);
    assert!(bounds.contains(&waited), "{waited:?}");
    let document = ann.find_method("echo").await.unwrap();
    assert_eq!(document["providers"][0]["state"], "restarting");
    assert_eq!(document["provider_count"], 0);
    std::fs::remove_file(space.folder().join("down")).unwrap();
    eventually("the method server is up again", 4 * SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn s1_child_processes_of_a_method_server_end_with_it() {
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
    // The method server is replaced, unregistered, killed, and stopped with its agent.
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
    // The process no longer notices that its stdin is closed.
    result(&ann.call("stop_reading", json!({})).await);
    assert_eq!(agent.stop().await.code(), Some(0));
    Process::wait_until_gone(server_pid, SOON).await;
    Process::wait_until_gone(fourth, SOON).await;
}

#[tokio::test]
async fn s1_stderr_goes_to_the_log_of_the_space() {
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
