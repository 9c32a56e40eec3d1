//! Replacing and removing a registration (spec 2.1): all or nothing, and no call is lost.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::json;
use svc_testkit::{Process, TestServer, error_code, eventually, fixture, method, result};

use crate::SOON;

#[tokio::test]
async fn s2_1_a_new_registration_replaces_the_whole_earlier_one() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo").plain("pid")).await;
    let old = agent.method_server_pid().await;
    let said = agent
        .register(fixture().plain("echo").plain("add"))
        .await
        .expect(0);
    assert!(said.stdout.contains("add"), "{}", said.stdout);
    assert_eq!(ann.method_names().await, ["add", "echo"]);
    assert_eq!(error_code(&ann.call("pid", json!({})).await), -32601);
    assert_eq!(result(&ann.call("add", json!({"a": 2, "b": 3})).await), 5);
    Process::wait_until_gone(old, SOON).await;
    let registration = space.record().await["registration"].clone();
    assert_eq!(registration, json!({"state": "active", "methods": 2}));
}

#[tokio::test]
async fn s2_1_the_old_process_finishes_its_calls() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    for registration in [fixture(), fixture().serial()] {
        let registration = registration.plain("sleep").plain("pid");
        let agent = space.publish(&registration).await;
        let old = agent.method_server_pid().await;
        let slow = ann.start_call("sleep", json!({"ms": 1500, "until": "go"}));
        ann.wait_for_in_flight("sleep", 1).await;
        space.write("go", "");
        agent.register(&registration).await.expect(0);
        assert_ne!(result(&ann.call("pid", json!({})).await), old);
        assert_eq!(result(&slow.await.unwrap())["pid"], old);
        std::fs::remove_file(space.folder().join("go")).unwrap();
        Process::wait_until_gone(old, SOON).await;
    }
}

#[tokio::test]
async fn s2_1_twenty_replacements_under_load_fail_no_call() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo").plain("pid")).await;
    let stop = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..16 {
        let (ann, stop, answered) = (ann.clone(), Arc::clone(&stop), Arc::clone(&answered));
        callers.spawn(async move {
            let mut n = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                let params = json!({"caller": caller, "n": n});
                let response = ann.call("echo", params.clone()).await;
                assert_eq!(response.get("result"), Some(&params), "{response}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut pids = vec![agent.method_server_pid().await];
    for _ in 0..20 {
        agent
            .register(fixture().plain("echo").plain("pid"))
            .await
            .expect(0);
        pids.push(agent.method_server_pid().await);
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
    pids.dedup();
    assert_eq!(
        pids.len(),
        21,
        "every registration has a process of its own"
    );
    assert!(answered.load(Ordering::Relaxed) > 100);
    for old in &pids[..20] {
        Process::wait_until_gone(*old, SOON).await;
    }
}

#[tokio::test]
async fn s2_1_s4_3_unregister_removes_all_methods_and_stops_the_method_server() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo").plain("pid")).await;
    let pid = agent.method_server_pid().await;
    agent.cli().run(&["methods", "unregister"]).await.expect(0);
    assert!(ann.method_names().await.is_empty());
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32601);
    assert_eq!(
        space.record().await["registration"],
        json!({"state": "none"})
    );
    Process::wait_until_gone(pid, SOON).await;
    // Registering again starts a new method server.
    agent.register(fixture().plain("echo")).await.expect(0);
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn s2_1_unregister_of_one_local_name_keeps_the_process() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("first", "echo"))
        .with(method("second", "echo"))
        .with(method("whoami", "pid"));
    let agent = space.publish(registration).await;
    let pid = agent.method_server_pid().await;
    let socket = agent.socket().await;
    let remove = |name: &'static str| {
        let socket = socket.clone();
        async move {
            let path = format!("/registration?local_name={name}");
            socket.request("DELETE", &path, &[], "").await
        }
    };
    // Two methods may share a local name: both are removed.
    let removed = remove("echo").await.expect(200).json();
    assert_eq!(
        removed,
        json!({"removed": ["first", "second"], "remaining": ["whoami"]})
    );
    assert_eq!(ann.method_names().await, ["whoami"]);
    assert_eq!(result(&ann.call("whoami", json!({})).await), pid);
    let unknown = remove("echo").await;
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    // Removing the last method stops the process.
    remove("pid").await.expect(200);
    assert!(ann.method_names().await.is_empty());
    Process::wait_until_gone(pid, SOON).await;
}

#[tokio::test]
async fn s2_1_a_refused_reregistration_is_shown_on_the_space() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let admin = server.admin().await;
    let groups = server.groups(&["ops"]).await;
    let space = ann.space("lab").await;
    let registration = fixture().with(method("deploy", "echo").shared().groups(&["ops"]));
    let _agent = space.publish(registration).await;
    // The group is deleted; the registration stays until the agent has to register again.
    let path = format!("/api/groups/{}", groups[0]["id"].as_str().unwrap());
    admin.delete(&path).await;
    result(&ann.call("deploy", json!({})).await);
    server.restart().await;
    let refused = space.wait_for_registration("refused", 2 * SOON).await;
    assert!(
        refused["error"].as_str().unwrap().contains("ops"),
        "{refused}"
    );
    // The agent retries by itself.
    server.groups(&["ops"]).await;
    eventually("the registration is accepted", 4 * SOON, || async {
        ann.call("deploy", json!({})).await.get("result") == Some(&json!({}))
    })
    .await;
}
