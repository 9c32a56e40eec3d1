//! Servers that stop, are killed or hang, and the spaces that were linked to them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    TestAgent, TestPostgres, TestServerBuilder, TestSpace, TestUser, TestZone, eventually, fixture,
    method, result,
};

use super::{answers, at_each, id_of, linking_to};
use crate::SOON;

/// A server without a heartbeat counts as gone after 10 seconds. Its spaces are stopped then, or
/// after the grace period if that is longer.
const ORPHANED: Duration = Duration::from_secs(10);
/// How often a test is tried on a machine that is too busy for it.
const TRIES: usize = 5;

fn impatient(builder: TestServerBuilder) -> TestServerBuilder {
    builder.config("grace_seconds = 2")
}

/// Two servers, the user ann at each, and a space of ann whose agent links to the second server.
async fn impatient_zone(postgres: &TestPostgres) -> (TestZone, Vec<TestUser>, TestSpace) {
    let zone = TestZone::start_with(postgres, 2, impatient).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = linking_to(zone.server(1), at[0].space("lab").await);
    (zone, at, space)
}

/// Starts an agent with the addresses of members 1 and 2. Returns the agent, the member that it is
/// linked to, and the other member.
async fn agent_of_two(space: &TestSpace, zone: &TestZone) -> (TestAgent, usize, usize) {
    let urls = [1, 2].map(|member| zone.server(member).url());
    let agent = space.spawn_agent(&["--url", &urls.join(",")]);
    agent.wait_until_linked().await;
    let linked_to = agent.status().await["server_url"].clone();
    match linked_to == urls[0] {
        true => (agent, 1, 2),
        false => (agent, 2, 1),
    }
}

/// Types of the events of a space, oldest first.
async fn events_of(user: &TestUser, space: &TestSpace) -> Vec<String> {
    let path = format!("/api/events?type=space.*&space_id={}", space.id);
    let events = user.list(&path, "events").await;
    let kind = |event: &Value| event["event_type"].as_str().unwrap().to_owned();
    events.iter().rev().map(kind).collect()
}

#[tokio::test]
async fn a_server_that_stops_hands_its_agents_over() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start(postgres, 3).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 3).await;
    let space = at[0].space("lab").await;
    let (agent, from, to) = agent_of_two(&space, &zone).await;
    agent.register(fixture().plain("pid")).await.expect(0);
    let pid = agent.method_server_pid().await;
    assert_eq!(result(&at[from].call("pid", json!({})).await), pid);
    let asked = Instant::now();
    zone.server(from).begin_to_terminate();
    eventually("its methods are at the other server", SOON, || async {
        answers(&at[to], "pid").await
    })
    .await;
    let moved = asked.elapsed();
    println!("moved within {moved:?}");
    assert!(moved < Duration::from_secs(20), "{moved:?}");
    let called = at[to].call("pid", json!({})).await;
    assert_eq!(result(&called), pid, "the method server went on");
    let ended = zone.server_mut(from).process().wait_for_exit(SOON).await;
    assert_eq!(ended.code(), Some(0));
    let record = at[0].get(&space.path()).await.expect(200).json();
    assert_eq!(record["node_id"], id_of(&zone, to).await);
    assert_eq!(
        events_of(&at[0], &space).await,
        ["space.created", "space.started"]
    );
}

#[tokio::test]
async fn s3_spaces_of_a_killed_server_are_stopped_once_unless_their_agents_moved() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_with(postgres, 3, impatient).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 3).await;
    let moves = at[0].space("moves").await;
    let (agent, from, to) = agent_of_two(&moves, &zone).await;
    let moving = fixture().with(method("moves", "echo"));
    agent.register(moving).await.expect(0);
    let stays = linking_to(zone.server(from), at[0].space("stays").await);
    let _stays = stays.publish(fixture().with(method("stays", "echo"))).await;
    wait_for_sign(&zone, 0, from).await;
    zone.kill(from);
    let killed = Instant::now();
    eventually("the space is served elsewhere", SOON, || async {
        answers(&at[to], "moves").await
    })
    .await;
    let state = async || -> Value {
        let record = at[0].get(&stays.path()).await.expect(200).json();
        record["state"].clone()
    };
    let at_first = state().await;
    // A busy machine may need so long that the space is stopped already.
    if killed.elapsed() < ORPHANED - Duration::from_secs(2) {
        assert_eq!(at_first, "deployed", "it may come back");
    }
    eventually("the space is stopped", 3 * SOON, || async {
        state().await == "stopped"
    })
    .await;
    let after = killed.elapsed();
    assert!(after >= ORPHANED - Duration::from_secs(2), "{after:?}");
    // Both other servers look for spaces of dead servers; only one of them stops the space.
    let told = ["space.created", "space.started", "space.stopped"];
    assert_eq!(events_of(&at[0], &stays).await, told);
    assert_eq!(events_of(&at[0], &moves).await, told[..2]);
    let record = at[0].get(&moves.path()).await.expect(200).json();
    assert_eq!(record["state"], "deployed");
    assert_eq!(record["node_id"], id_of(&zone, to).await);

    zone.restart(from).await;
    eventually("its agent comes back by itself", 3 * SOON, || async {
        answers(&at[from], "stays").await
    })
    .await;
    assert_eq!(state().await, "deployed");
    assert!(answers(&at[to], "moves").await);
    assert_eq!(events_of(&at[0], &moves).await, told[..2]);
}

/// The other servers count the hung server as gone and stop its spaces. When it resumes, it still
/// has their links.
#[tokio::test]
async fn s3_spaces_of_a_server_that_hung_for_long_are_deployed_again() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let (zone, at, space) = impatient_zone(postgres).await;
    let listening = fixture()
        .with(method("on.build", "push").line("events", r#"["custom.build"]"#))
        .with(method("pushed", "pushed"));
    let _agent = space.publish(listening).await;
    let record = async || at[0].get(&space.path()).await.expect(200).json();
    zone.freeze(1);
    eventually("the space is stopped", 3 * SOON, || async {
        record().await["state"] == "stopped"
    })
    .await;
    zone.thaw(1);
    eventually("the space is deployed again", 2 * SOON, || async {
        record().await["state"] == "deployed"
    })
    .await;
    assert_eq!(record().await["node_id"], id_of(&zone, 1).await);
    eventually("its methods answer", SOON, || async {
        answers(&at[1], "pushed").await
    })
    .await;
    // The subscriptions of the space are back as well.
    let id = at[0].emit("build", json!({})).await;
    eventually("the event reaches the method", 2 * SOON, || async {
        let list = at[1].call("pushed", json!({})).await["result"].clone();
        list[0]["event_id"] == id.as_str()
    })
    .await;
}

/// The time of the last heartbeat of a member, as the member `asked` lists it.
async fn seen_at(zone: &TestZone, asked: usize, member: usize) -> Value {
    let listed = zone.admin(asked).get("/api/servers").await.expect(200);
    let listed = listed.json();
    let servers = listed["servers"].as_array().unwrap();
    let url = zone.server(member).url();
    let server = servers.iter().find(|server| server["url"] == url);
    server.expect("a member is listed")["seen_at"].clone()
}

/// Waits for the next heartbeat of a member, as the member `asked` lists it.
async fn wait_for_sign(zone: &TestZone, asked: usize, member: usize) {
    let before = seen_at(zone, asked, member).await;
    eventually("the server sends a heartbeat", SOON, || async {
        seen_at(zone, asked, member).await != before
    })
    .await;
}

/// A server that hung cannot know whether others hung too: all may run on one machine.
#[tokio::test]
async fn s3_a_zone_that_hung_as_a_whole_stops_no_space() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let (zone, at, space) = impatient_zone(postgres).await;
    let _agent = space.publish(fixture().plain("echo")).await;
    for _ in 0..TRIES {
        let before = events_of(&at[0], &space).await;
        let awake = freeze_all(&zone).await;
        eventually("the method answers", SOON, || answers(&at[1], "echo")).await;
        let after = events_of(&at[0], &space).await;
        if awake < ORPHANED - Duration::from_secs(2) {
            assert_eq!(after, before);
            return;
        }
        // The machine was so busy that the first server rightly treated the second one as dead.
    }
    panic!("the machine was too busy {TRIES} times");
}

/// Freezes both servers for longer than a server may be silent, and wakes them one after the other.
/// Returns how long the first one ran before it saw a heartbeat of the second one.
async fn freeze_all(zone: &TestZone) -> Duration {
    // Only a server that has run for this time without a gap may treat other servers as dead.
    let up = Instant::now();
    while up.elapsed() < ORPHANED {
        wait_for_sign(zone, 0, 1).await;
    }
    zone.freeze(0);
    zone.freeze(1);
    tokio::time::sleep(ORPHANED + Duration::from_secs(2)).await;
    zone.thaw(0);
    let thawed = Instant::now();
    // With every heartbeat, a server looks for spaces to stop.
    wait_for_sign(zone, 0, 0).await;
    wait_for_sign(zone, 0, 0).await;
    zone.thaw(1);
    wait_for_sign(zone, 0, 1).await;
    let awake = thawed.elapsed();
    wait_for_sign(zone, 0, 0).await;
    awake
}
