//! How a space is deployed, stopped and restarted (spec 3).

use serde_json::json;
use svc_testkit::{
    ADMIN_PASSWORD, Process, TestServer, TestServerBuilder, children_of, error_code, eventually,
    fixture, fixture_file, get_eventually, result,
};

use crate::SOON;

/// A server whose grace period ends within a test, and is long enough for several requests on a
/// busy machine.
fn impatient() -> TestServerBuilder {
    TestServer::builder().config("grace_seconds = 8")
}

#[tokio::test]
async fn s3_a_link_deploys_a_space_and_a_shutdown_of_the_agent_stops_it() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    let record = space.record().await;
    assert_eq!(record["state"], "deployed");
    assert!(record["node_id"].is_string());
    assert_eq!(agent.stop().await.code(), Some(0));
    space.wait_for_state("stopped", SOON).await;
    assert!(ann.method_names().await.is_empty());
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32601);
    // The user did not stop the space, so an agent may link again.
    let _agent = space.publish(fixture().plain("echo")).await;
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn s3_kill9_of_the_agent_stops_the_space_after_the_grace_period() {
    let server = impatient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("sleep").plain("echo")).await;
    let slow = ann.start_call("sleep", json!({"ms": 60_000}));
    ann.wait_for_in_flight("sleep", 1).await;
    agent.kill9();
    assert_eq!(error_code(&slow.await.unwrap()), -32002);
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32000);
    let record = space.record().await;
    assert_eq!(record["state"], "deployed");
    assert_eq!(
        record["registration"],
        json!({"state": "waiting", "methods": 2})
    );

    space.wait_for_state("stopped", SOON).await;
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32601);
    assert!(ann.method_names().await.is_empty());
    let _agent = space.publish(fixture().plain("echo")).await;
    assert_eq!(space.state().await, "deployed");
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn s3_an_agent_that_hangs_is_detected_by_its_heartbeat() {
    let server = impatient().env("SVC_HEARTBEAT_SECONDS", "1").start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    agent.process().signal(rustix::process::Signal::STOP);
    space.wait_for_state("stopped", 2 * SOON).await;
    agent.process().signal(rustix::process::Signal::CONT);
    // The space was not stopped by a user, so the agent links again with its methods.
    space.wait_for_state("deployed", 2 * SOON).await;
    eventually("the method is back", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn s3_agents_and_methods_return_after_kill9_of_the_server() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("pid")).await;
    let pid = agent.method_server_pid().await;
    server.kill9();
    server.start_again().await;
    eventually("the method is back", 2 * SOON, || async {
        ann.call("pid", json!({})).await.get("result") == Some(&json!(pid))
    })
    .await;
    assert_eq!(space.state().await, "deployed");
    // A lost link does not restart a method server.
    assert_eq!(agent.status().await["method_server"]["restarts"], 0);
}

#[tokio::test]
async fn s3_a_space_without_an_agent_after_a_restart_is_stopped_after_the_grace_period() {
    let mut server = impatient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    server.kill9();
    agent.kill9();
    server.start_again().await;
    assert_eq!(space.state().await, "deployed");
    space.wait_for_state("stopped", SOON).await;
}

#[tokio::test]
async fn s3_a_second_agent_replaces_the_first_which_exits_with_6() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut first = space.publish(fixture().plain("pid")).await;
    let second = space.spawn_second_agent();
    second.wait_until_linked().await;
    assert_eq!(first.process().wait_for_exit(SOON).await.code(), Some(6));
    second.register(fixture().plain("pid")).await.expect(0);
    let pid = second.method_server_pid().await;
    assert_eq!(result(&ann.call("pid", json!({})).await), pid);
    assert_eq!(space.state().await, "deployed");
}

#[tokio::test]
async fn s3_a_stopped_space_refuses_its_agent_until_it_is_started() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    ann.post(&format!("{}/stop", space.path()), "{}")
        .await
        .expect(200);
    space.wait_for_state("stopped", SOON).await;
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32601);
    eventually("the agent has no link", SOON, || async {
        agent.status().await["linked"] == false
    })
    .await;
    // A second agent is refused too.
    let second = space.spawn_second_agent();
    eventually("the agent reports the reason", SOON, || async {
        second.status().await["link_error"]
            .as_str()
            .is_some_and(|why| why.contains("stop"))
    })
    .await;
    drop(second);
    assert_eq!(space.state().await, "stopped");
    ann.post(&format!("{}/start", space.path()), "{}")
        .await
        .expect(200);
    // The agent keeps running and retries.
    space.wait_for_state("deployed", 3 * SOON).await;
    eventually("the method is back", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

/// The agents that a server runs. The other children of a server are script workers.
fn agents_of(server: u32) -> Vec<u32> {
    let is_agent = |id: &u32| {
        std::fs::read(format!("/proc/{id}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == b"agent"))
    };
    children_of(server).into_iter().filter(is_agent).collect()
}

#[tokio::test]
async fn s3_a_local_space_runs_its_agent_under_the_server() {
    let mut server = TestServer::builder().allow_local_spaces().start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    ann.post("/api/spaces", json!({"name": "x", "runtime": "local"}))
        .await
        .expect(403);
    let space = admin
        .space_with(json!({"name": "demo", "runtime": "local"}))
        .await;
    admin
        .post(&format!("{}/start", space.path()), "{}")
        .await
        .expect(200);
    space.wait_for_state("deployed", SOON).await;
    let agents = || agents_of(server.id());
    let first = agents();
    assert_eq!(first.len(), 1, "one agent runs: {first:?}");
    // The server restarts an agent that was killed.
    std::process::Command::new("kill")
        .args(["-9", &first[0].to_string()])
        .status()
        .unwrap();
    eventually("another agent runs", 2 * SOON, || async {
        let now = agents();
        now.len() == 1 && now != first
    })
    .await;
    space.wait_for_state("deployed", SOON).await;
    admin
        .post(&format!("{}/stop", space.path()), "{}")
        .await
        .expect(200);
    space.wait_for_state("stopped", SOON).await;
    eventually("no agent runs", SOON, || async { agents().is_empty() }).await;
    admin
        .post(&format!("{}/start", space.path()), "{}")
        .await
        .expect(200);
    space.wait_for_state("deployed", SOON).await;
    // The agent ends with the server, even after kill -9.
    let agent = agents()[0];
    server.kill9();
    Process::wait_until_gone(agent, SOON).await;
    server.start_again().await;
    space.wait_for_state("deployed", SOON).await;
    eventually("the agent runs again", SOON, || async {
        agents_of(server.id()).len() == 1
    })
    .await;
    let agent = agents_of(server.id())[0];
    assert_eq!(server.terminate().await.code(), Some(0));
    Process::wait_until_gone(agent, SOON).await;
}

/// A setting of the server may contain a password, such as that of the webhooks' proxy.
#[tokio::test]
async fn a_local_space_sees_no_setting_of_the_server() {
    let server = TestServer::builder()
        .allow_local_spaces()
        .env("SVC_WEBHOOK_PROXY", "http://svc:hidden@127.0.0.1:9")
        .start()
        .await;
    let admin = server.admin().await;
    let seen = server.home().join("seen");
    let command = format!("env > {0}.part && mv {0}.part {0}", seen.display());
    let check = json!({"type": "command", "command": command, "interval_seconds": 1});
    let body = json!({"name": "demo", "runtime": "local", "health_check": check});
    let space = admin.space_with(body).await;
    let start = format!("{}/start", space.path());
    admin.post(&start, "{}").await.expect(200);
    let seen = get_eventually("the check runs", 2 * SOON, || async {
        std::fs::read_to_string(&seen).ok()
    })
    .await;
    assert!(seen.contains("PATH="), "{seen}");
    assert!(!seen.contains("hidden"), "{seen}");
    assert!(!seen.contains("SVC_SPACES_ALLOW_LOCAL"), "{seen}");
}

#[tokio::test]
async fn s3_rapid_transitions_are_all_handled() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    for _ in 0..3 {
        let mut agent = space.publish(fixture().plain("echo")).await;
        result(&ann.call("echo", json!({})).await);
        agent.kill9();
        // A new agent links within the grace period, so the space never stops.
        assert_eq!(space.state().await, "deployed");
    }
    let _agent = space.publish(fixture().plain("echo")).await;
    eventually("the method answers", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn s3_a_local_space_runs_on_a_server_with_tls() {
    let [cert, key, ca] =
        ["cert.pem", "key.pem", "ca.pem"].map(|name| fixture_file(name).display().to_string());
    let server = TestServer::builder()
        .allow_local_spaces()
        .args(&["--tls-cert", &cert, "--tls-key", &key])
        .start()
        .await;
    // Only the CLI needs the CA file. The agent trusts the certificate of the server that
    // started the agent.
    let svc = || server.anonymous_cli().env("SSL_CERT_FILE", &ca);
    let login = [
        "login",
        server.url(),
        "--username",
        "admin",
        "--password-stdin",
    ];
    svc().input(ADMIN_PASSWORD).run(&login).await.expect(0);
    let create = [
        "space",
        "create",
        "demo",
        "--runtime",
        "local",
        "-o",
        "json",
    ];
    let space = svc().run(&create).await.expect(0).json();
    let id = space["id"].as_str().unwrap();
    let state = async || -> serde_json::Value {
        let get = ["space", "get", "demo", "-o", "json"];
        svc().run(&get).await.expect(0).json()["state"].clone()
    };
    eventually("the space is deployed", 2 * SOON, || async {
        state().await == "deployed"
    })
    .await;
    // A registration file in the space's folder is registered by the next agent.
    svc().run(&["space", "stop", "demo"]).await.expect(0);
    let folder = server.data_dir().join("spaces").join(id);
    let registration = fixture().plain("echo").to_string();
    std::fs::write(folder.join("methods.toml"), registration).unwrap();
    svc().run(&["space", "start", "demo"]).await.expect(0);
    eventually("its method answers", 2 * SOON, || async {
        let call = ["method", "call", "echo", "[1]", "--result"];
        svc().run(&call).await.stdout == "[1]\n"
    })
    .await;
    assert_eq!(state().await, "deployed");
}
