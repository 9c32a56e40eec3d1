//! Spaces: states, health, who starts their agent (spec 3; DECISIONS 6).

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use svc_testkit::{
    Process, TestServer, TestServerBuilder, error_code, eventually, fixture, is_running, result,
};

use crate::SOON;

/// A server whose grace period ends within a test.
fn impatient() -> TestServerBuilder {
    TestServer::builder().config("grace_seconds = 1.5\nheartbeat_seconds = 1")
}

#[tokio::test]
async fn a_record_has_every_field_and_shows_its_secret_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let created = ann
        .post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(201)
        .json();
    let keys = [
        "id",
        "name",
        "owner_id",
        "owner",
        "state",
        "health",
        "runtime",
        "template_id",
        "startup_script_id",
        "space_urls",
        "node_id",
        "health_check",
        "registration",
        "created_at",
    ];
    for key in keys {
        assert!(created.get(key).is_some(), "{key} in {created}");
    }
    assert_eq!(created["state"], "created");
    assert_eq!(created["health"], "unknown");
    assert_eq!(created["runtime"], "external");
    assert_eq!(created["owner"], "ann");
    assert_eq!(created["owner_id"], ann.id);
    assert_eq!(created["space_urls"], json!({}));
    assert_eq!(created["registration"], json!({"state": "none"}));
    assert!(
        created["agent_token"]
            .as_str()
            .unwrap()
            .starts_with("svc_agt_")
    );
    let path = format!("/api/spaces/{}", created["id"].as_str().unwrap());
    for document in [ann.get(&path).await, ann.get("/api/spaces").await] {
        assert!(!document.expect(200).text().contains("svc_agt_"));
    }
}

#[tokio::test]
async fn names_are_checked_and_unique_per_owner() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    for name in [
        "",
        "Lab",
        "a--b",
        "-a",
        "a_b",
        "a.b",
        "user",
        "rpc",
        &"x".repeat(33),
    ] {
        let answer = ann
            .post("/api/spaces", json!({ "name": name }))
            .await
            .expect(400);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
    }
    ann.post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(201);
    ann.post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(409);
    ben.post("/api/spaces", json!({"name": "lab"}))
        .await
        .expect(201);
    ann.post("/api/spaces", json!({"name": "x", "colour": "red"}))
        .await
        .expect(400);
    // Local spaces run code on the server: not for everybody, and not unless allowed.
    ann.post("/api/spaces", json!({"name": "x", "runtime": "local"}))
        .await
        .expect(403);
}

#[tokio::test]
async fn others_do_not_see_a_space_and_managers_see_all() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    let space = ann.space("lab").await;
    let path = space.path();
    ben.get(&path).await.expect(404);
    ben.patch(&path, json!({"health_check": null}))
        .await
        .expect(404);
    ben.delete(&path).await.expect(404);
    for action in ["start", "stop", "agent-token"] {
        ben.post(&format!("{path}/{action}"), "{}")
            .await
            .expect(404);
    }
    assert_eq!(
        ben.get("/api/spaces").await.expect(200).json()["spaces"],
        json!([])
    );
    admin.get(&path).await.expect(200);
    let all = admin.get("/api/spaces").await.expect(200).json();
    assert_eq!(all["spaces"][0]["name"], "lab");
}

#[tokio::test]
async fn lists_are_paged() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for n in 0..5 {
        ann.space(&format!("s{n}")).await;
    }
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = ann
            .get(&format!("/api/spaces?limit=2{cursor}"))
            .await
            .expect(200)
            .json();
        let spaces = page["spaces"].as_array().unwrap().clone();
        assert!(spaces.len() <= 2);
        names.extend(
            spaces
                .iter()
                .map(|s| s["name"].as_str().unwrap().to_owned()),
        );
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    names.sort();
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4"]);
}

#[tokio::test]
async fn a_link_deploys_and_the_agents_own_shutdown_stops() {
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
    // It stopped by itself, so it may come back by itself.
    let _agent = space.publish(fixture().plain("echo")).await;
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn kill9_of_the_agent_stops_the_space_after_the_grace_period() {
    let server = impatient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("sleep").plain("echo")).await;
    let caller = ann.clone();
    let slow = tokio::spawn(async move { caller.call("sleep", json!({"ms": 60_000})).await });
    eventually("the call is in flight", SOON, || async {
        ann.find_method("sleep").await.unwrap()["providers"][0]["in_flight"] == 1
    })
    .await;
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
async fn an_agent_that_hangs_is_found_out_by_its_heartbeat() {
    let server = impatient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    agent.process().signal(rustix::process::Signal::STOP);
    space.wait_for_state("stopped", 2 * SOON).await;
    agent.process().signal(rustix::process::Signal::CONT);
    // It was never told to stop, so it comes back with its methods.
    space.wait_for_state("deployed", 2 * SOON).await;
    eventually("its methods are back", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn kill9_of_the_server_brings_agent_and_methods_back_by_themselves() {
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
async fn a_space_that_does_not_come_back_after_a_restart_is_stopped_after_the_grace_period() {
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
async fn a_second_agent_replaces_the_first_which_exits_with_6() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut first = space.publish(fixture().plain("pid")).await;
    let folder = server.home().join("second");
    std::fs::create_dir(&folder).unwrap();
    let second = space.spawn_agent_in(&folder, &[]);
    second.wait_until_linked().await;
    assert_eq!(first.process().wait_for_exit(SOON).await.code(), Some(6));
    second.register(fixture().plain("pid")).await.expect(0);
    let pid = second.method_server_pid().await;
    assert_eq!(result(&ann.call("pid", json!({})).await), pid);
    assert_eq!(space.state().await, "deployed");
}

#[tokio::test]
async fn a_stopped_space_refuses_its_agent_until_it_is_started() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    ann.post(&format!("{}/stop", space.path()), "{}")
        .await
        .expect(200);
    space.wait_for_state("stopped", SOON).await;
    assert_eq!(error_code(&ann.call("echo", json!({})).await), -32601);
    eventually("the agent knows", SOON, || async {
        agent.status().await["linked"] == false
    })
    .await;
    // A second agent gets in no better.
    let folder = server.home().join("second");
    std::fs::create_dir(&folder).unwrap();
    let second = space.spawn_agent_in(&folder, &[]);
    eventually("it is told why", SOON, || async {
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
    // The agent is still there and tries now and then.
    space.wait_for_state("deployed", 3 * SOON).await;
    eventually("its methods are back", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn a_new_agent_token_ends_the_old_one() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut space = ann.space("lab").await;
    let mut agent = space.agent().await;
    let answer = ann
        .post(&format!("{}/agent-token", space.path()), "{}")
        .await;
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
    let fresh = answer.json()["agent_token"].as_str().unwrap().to_owned();
    assert_ne!(fresh, space.agent_token);
    assert_eq!(agent.process().wait_for_exit(SOON).await.code(), Some(4));
    let mut refused = space.spawn_agent(&[]);
    assert_eq!(refused.process().wait_for_exit(SOON).await.code(), Some(4));
    space.agent_token = fresh;
    let _agent = space.agent().await;
}

#[tokio::test]
async fn deleting_a_space_ends_its_agent_and_frees_its_name() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    let deleted = ann.delete(&space.path()).await;
    assert!([200, 204].contains(&deleted.status), "{}", deleted.text());
    ann.get(&space.path()).await.expect(404);
    assert!(ann.method_names().await.is_empty());
    assert_eq!(agent.process().wait_for_exit(SOON).await.code(), Some(4));
    assert_eq!(ann.get("/api/spaces").await.json()["spaces"], json!([]));
    ann.space("lab").await;
}

#[tokio::test]
async fn a_local_space_runs_its_agent_under_the_server() {
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
    let agents = || children_of(server.id());
    let first = agents();
    assert_eq!(first.len(), 1, "one agent runs: {first:?}");
    // A dead agent is started again.
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
    // The server's death, of whatever kind, ends it.
    let agent = agents()[0];
    server.kill9();
    Process::wait_until_gone(agent, SOON).await;
    server.start_again().await;
    space.wait_for_state("deployed", SOON).await;
    eventually("the agent runs again", SOON, || async {
        children_of(server.id()).len() == 1
    })
    .await;
    let agent = children_of(server.id())[0];
    assert_eq!(server.terminate().await.code(), Some(0));
    Process::wait_until_gone(agent, SOON).await;
}

/// Processes whose parent is `parent`.
fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&id: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let after_name = stat.rsplit(')').next().unwrap_or_default().to_owned();
            after_name.split_whitespace().nth(1) == Some(&parent.to_string()) && is_running(id)
        })
        .collect()
}

fn checked(check: Value) -> Value {
    let mut body = json!({"interval_seconds": 1, "timeout_seconds": 1, "failures": 2});
    for (key, value) in check.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

#[tokio::test]
async fn health_by_tcp() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let check = checked(json!({"type": "tcp", "port": port}));
    let space = ann
        .space_with(json!({"name": "lab", "health_check": check}))
        .await;
    assert_eq!(space.record().await["health_check"]["port"], port);
    let mut agent = space.agent().await;
    space.wait_for_health("healthy", SOON).await;
    drop(listener);
    space.wait_for_health("unhealthy", SOON).await;
    let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    space.wait_for_health("healthy", SOON).await;
    // Stopping resets it.
    agent.stop().await;
    space.wait_for_state("stopped", SOON).await;
    assert_eq!(space.record().await["health"], "unknown");
}

#[tokio::test]
async fn health_by_http() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/ready", listener.local_addr().unwrap());
    let well = Arc::new(AtomicBool::new(true));
    let answers = Arc::clone(&well);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let status = if answers.load(Ordering::SeqCst) {
                "200 OK"
            } else {
                "503 Busy"
            };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
    });
    let space = ann.space("lab").await;
    let _agent = space.agent().await;
    assert_eq!(space.record().await["health"], "unknown");
    // A check that is changed reaches the running agent.
    let check = checked(json!({"type": "http", "url": url}));
    ann.patch(&space.path(), json!({"health_check": check}))
        .await
        .expect(200);
    space.wait_for_health("healthy", SOON).await;
    well.store(false, Ordering::SeqCst);
    space.wait_for_health("unhealthy", SOON).await;
}

#[tokio::test]
async fn health_by_command() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let check = checked(json!({"type": "command", "command": "test -e ready || sleep 30"}));
    let space = ann
        .space_with(json!({"name": "lab", "health_check": check}))
        .await;
    space.write("ready", "");
    let _agent = space.agent().await;
    space.wait_for_health("healthy", SOON).await;
    std::fs::remove_file(space.folder().join("ready")).unwrap();
    space.wait_for_health("unhealthy", 2 * SOON).await;
}

#[tokio::test]
async fn health_checks_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for check in [
        json!({"type": "ping"}),
        json!({"type": "tcp"}),
        json!({"type": "tcp", "port": 0}),
        json!({"type": "tcp", "port": 70_000}),
        json!({"type": "http", "url": "ftp://x"}),
        json!({"type": "command", "command": " "}),
        json!({"type": "tcp", "port": 80, "failures": 0}),
        json!({"type": "none", "colour": "red"}),
    ] {
        let body = json!({"name": "lab", "health_check": check});
        ann.post("/api/spaces", body).await.expect(400);
    }
}

#[tokio::test]
async fn transitions_within_a_moment_are_all_survived() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    for _ in 0..3 {
        let mut agent = space.publish(fixture().plain("echo")).await;
        result(&ann.call("echo", json!({})).await);
        agent.kill9();
        // A new agent within the grace: the space never stops.
        assert_eq!(space.state().await, "deployed");
    }
    let _agent = space.publish(fixture().plain("echo")).await;
    eventually("it serves", Duration::from_secs(5), || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}
