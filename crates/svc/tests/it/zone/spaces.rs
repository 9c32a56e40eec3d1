//! A space is served by the server that its agent is linked to, and can be managed at any server.

use std::time::Instant;

use serde_json::json;
use svc_testkit::{TestPostgres, TestUser, TestZone, eventually, fixture, result};

use super::{answers, at_each, id_of, in_effect, linking_to};
use crate::SOON;

/// Whether a server reports that the method does not exist.
async fn is_unknown(user: &TestUser, method: &str) -> bool {
    user.call(method, json!({})).await["error"]["code"] == -32601
}

#[tokio::test]
async fn d3_methods_are_on_the_server_with_the_link_and_any_server_stops_and_deletes() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 3).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 3).await;
    let space = linking_to(zone.server(1), at[0].space("lab").await);
    let mut agent = space.publish(fixture().plain("echo")).await;
    let node = id_of(&zone, 1).await;
    for user in &at {
        let record = user.get(&space.path()).await.expect(200).json();
        assert_eq!(record["state"], "deployed");
        assert_eq!(record["node_id"], node);
        assert_eq!(record["linked"], true);
    }
    assert_eq!(
        result(&at[1].call("echo", json!({"a": 1})).await),
        &json!({"a": 1})
    );
    for user in [&at[0], &at[2]] {
        assert!(is_unknown(user, "echo").await);
        assert!(user.method_names().await.is_empty());
    }

    let stop = format!("{}/stop", space.path());
    at[0].post(&stop, "").await.expect(200);
    let stopped = Instant::now();
    in_effect("the stop", stopped, || async {
        is_unknown(&at[1], "echo").await
    })
    .await;
    // Every server refuses the agent until the space is started at any server.
    eventually("the agent reports the stop", SOON, || async {
        let status = agent.status().await;
        status["linked"] == false && status.to_string().contains("svc space start")
    })
    .await;
    assert_eq!(space.state().await, "stopped");
    let start = format!("{}/start", space.path());
    at[2].post(&start, "").await.expect(200);
    eventually("the agent comes back", 3 * SOON, || async {
        answers(&at[1], "echo").await
    })
    .await;

    at[2].delete(&space.path()).await.expect(204);
    let deleted = Instant::now();
    in_effect("the deletion", deleted, || async {
        is_unknown(&at[1], "echo").await
    })
    .await;
    let ended = agent.process().wait_for_exit(SOON).await;
    assert_eq!(ended.code(), Some(4), "{}", agent.log());
    for user in &at {
        user.get(&space.path()).await.expect(404);
    }
}

#[tokio::test]
async fn s3_a_second_agent_at_another_server_replaces_the_first_which_exits_with_6() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let mut first = space.publish(fixture().plain("pid")).await;
    let space = linking_to(zone.server(1), space);
    let second = space.spawn_second_agent();
    second.wait_until_linked().await;
    assert_eq!(first.process().wait_for_exit(SOON).await.code(), Some(6));
    second.register(fixture().plain("pid")).await.expect(0);
    let pid = second.method_server_pid().await;
    assert_eq!(result(&at[1].call("pid", json!({})).await), pid);
    assert!(is_unknown(&at[0], "pid").await);
    let record = space.record().await;
    assert_eq!(record["state"], "deployed");
    assert_eq!(record["node_id"], id_of(&zone, 1).await);
    // The space was deployed all the time.
    let events = at[0].list("/api/events?type=space.*", "events").await;
    let types: Vec<_> = events.iter().map(|event| &event["event_type"]).collect();
    assert_eq!(types, ["space.started", "space.created"]);
}

#[tokio::test]
async fn an_agent_ends_when_another_server_revokes_its_access() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let mut space = linking_to(zone.server(1), at[0].space("lab").await);
    let mut agent = space.publish(fixture().plain("echo")).await;
    let path = format!("{}/agent-token", space.path());
    let rotated = at[0].post(&path, "").await.expect(200).json();
    let ended = agent.process().wait_for_exit(SOON).await;
    assert_eq!(ended.code(), Some(4), "{}", agent.log());
    space.agent_token = rotated["agent_token"].as_str().unwrap().to_owned();

    let mut agent = space.publish(fixture().plain("echo")).await;
    assert!(answers(&at[1], "echo").await);
    let path = format!("/api/users/{}", ann.id);
    let inactive = json!({"active": false});
    zone.admin(0).patch(&path, inactive).await.expect(200);
    agent.process().wait_for_log("is deactivated", SOON).await;
}
