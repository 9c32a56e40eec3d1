//! An agent that the server refuses for a while, and commands that use this agent meanwhile
//! (spec 4.2).

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{TestAgent, TestServer, TestSpace, TestUser, eventually, fixture, result};

use crate::SOON;

/// A space of ann with the method `echo`, and its agent.
async fn linked(server: &TestServer) -> (TestUser, TestSpace, TestAgent) {
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    (ann, space, agent)
}

async fn set_active(server: &TestServer, user: &TestUser, active: bool) {
    let path = format!("/api/users/{}", user.id);
    let admin = server.admin().await;
    admin
        .patch(&path, json!({"active": active}))
        .await
        .expect(200);
}

#[tokio::test]
async fn s5_the_agent_of_a_deactivated_user_reports_it_and_links_again_after_the_reactivation() {
    let server = TestServer::start().await;
    let (ann, _space, mut agent) = linked(&server).await;
    let pid = agent.method_server_pid().await;
    set_active(&server, &ann, false).await;
    let said = "the space's user is deactivated";
    agent.process().wait_for_log(said, SOON).await;
    eventually("the status shows the reason", SOON, || async {
        let status = agent.status().await;
        status["linked"] == false && status["link_error"].to_string().contains(said)
    })
    .await;
    // An agent that starts now waits too.
    let (late, mut waiting) = {
        set_active(&server, &ann, true).await;
        let late = ann.space("late").await;
        set_active(&server, &ann, false).await;
        let waiting = late.spawn_agent(&[]);
        (late, waiting)
    };
    waiting.process().wait_for_log(said, SOON).await;

    set_active(&server, &ann, true).await;
    agent.wait_until_linked().await;
    waiting.wait_until_linked().await;
    late.wait_for_state("deployed", SOON).await;
    eventually("the methods are back", SOON, || async {
        ann.method_names().await == ["echo"]
    })
    .await;
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    assert_eq!(agent.method_server_pid().await, pid, "the same process");
}

#[tokio::test]
async fn s5_the_agent_of_a_deactivated_user_ends_when_its_space_is_deleted() {
    let server = TestServer::start().await;
    let (ann, space, mut agent) = linked(&server).await;
    set_active(&server, &ann, false).await;
    agent.process().wait_for_log("is deactivated", SOON).await;
    server.admin().await.delete(&space.path()).await;
    let status = agent.process().wait_for_exit(SOON).await;
    assert_eq!(status.code(), Some(4), "{}", agent.log());
}

/// Runs a command while the agent has no link. The command must report that it waits, and succeed
/// as soon as the agent is linked again.
async fn waits_for_the_link(server: &TestServer, ann: &TestUser, agent: &TestAgent, args: &[&str]) {
    // The command waits for 5 s only, so nothing but the reactivation happens meanwhile.
    let admin = server.admin().await;
    let (path, active) = (format!("/api/users/{}", ann.id), json!({"active": true}));
    for _ in 0..5 {
        set_active(server, ann, false).await;
        eventually("the link ends", SOON, || async {
            agent.status().await["linked"] == false
        })
        .await;
        let begun = Instant::now();
        let mut command = agent.cli().spawn(args);
        command.wait_for_log("waiting up to 5 s", SOON).await;
        admin.patch(&path, active.clone()).await.expect(200);
        let status = command.wait_for_exit(SOON).await;
        // On a busy machine, the link may be back after the 5 s of the command.
        if status.code() == Some(0) || begun.elapsed() < Duration::from_secs(5) {
            assert_eq!(status.code(), Some(0), "{args:?}: {}", command.stderr());
            return;
        }
        agent.wait_until_linked().await;
    }
    panic!("{args:?}: in five tries, the link was not back within 5 s");
}

#[tokio::test]
async fn s4_3_commands_wait_for_an_agent_that_is_linking_again() {
    let server = TestServer::start().await;
    let (ann, space, agent) = linked(&server).await;
    space.write("other.toml", &fixture().plain("pid").to_string());
    let script = crate::scripts::register::publishing(&["echo"]);
    space.write("own.py", &script);
    for args in [
        &["event", "build.done"][..],
        &["methods", "register", "other.toml"],
        &["methods", "register", "own.py"],
    ] {
        agent.wait_until_linked().await;
        eventually("the agent serves", SOON, || async {
            !ann.method_names().await.is_empty()
        })
        .await;
        waits_for_the_link(&server, &ann, &agent, args).await;
    }
    assert_eq!(ann.method_names().await, ["echo"]);
}
