//! An agent links to every announced server of its zone.

mod conflicts;
mod homes;
mod limits;
mod lost;
mod security;
mod subscriptions;
mod tickets;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    TestAgent, TestPostgres, TestServerBuilder, TestUser, TestZone, eventually, fixture, method,
    result,
};

use super::{answers, at_each, id_of, in_effect, linking_to};
use crate::SOON;

const SERVERS: usize = 3;

/// Waits until the agent has this number of links.
async fn wait_for_links(agent: &TestAgent, links: usize) {
    let what = format!("the agent has {links} links");
    eventually(&what, SOON, || async {
        agent.status().await["links"].as_array().unwrap().len() == links
    })
    .await;
}

/// Waits until calls of a method succeed at the server of each of these users.
async fn wait_until_answered(at: &[TestUser], method: &str) {
    for user in at {
        eventually("the method is at each server", SOON, || async {
            answers(user, method).await
        })
        .await;
    }
}

async fn is_unknown(user: &TestUser, method: &str) -> bool {
    user.call(method, json!({})).await["error"]["code"] == -32601
}

#[tokio::test]
async fn d3_a_call_at_each_of_three_servers_reaches_a_method_of_one_space() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, SERVERS).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, SERVERS).await;
    let space = at[0].space("lab").await;
    let agent = space.publish(fixture().plain("pid").plain("echo")).await;
    wait_until_answered(&at, "pid").await;
    let pid = agent.method_server_pid().await;
    for user in &at {
        assert_eq!(result(&user.call("pid", json!({})).await), pid);
    }

    // One link is the home link.
    let status = agent.status().await;
    let links = status["links"].as_array().unwrap();
    let homes: Vec<_> = links.iter().map(|link| &link["is_home"]).collect();
    assert_eq!(homes, [true, false, false]);
    assert_eq!(links[0]["server_id"], id_of(&zone, 0).await);
    assert_eq!(links[0]["url"], zone.server(0).url());
    let shown = agent.cli().run(&["agent", "status"]).await.expect(0);
    assert!(shown.stdout.contains("side links"), "{}", shown.stdout);
    assert_eq!(space.record().await["node_id"], id_of(&zone, 0).await);
    // Another server shows the log of the home server.
    let path = format!("{}/logs", space.path());
    eventually("both servers show the same log", SOON, || async {
        let home = at[0].get(&path).await.expect(200).json();
        at[1].get(&path).await.expect(200).json() == home
    })
    .await;
    for (member, counts) in [(0, (1, 0)), (1, (0, 1)), (2, (0, 1))] {
        let metrics = zone.admin(member).get("/metrics").await.expect(200);
        let (homes, sides) = counts;
        for line in [
            format!("svc_links {homes}"),
            format!("svc_side_links {sides}"),
        ] {
            assert!(
                metrics.text().lines().any(|l| l == line),
                "{member}: {line}"
            );
        }
    }
    eventually("heartbeats report the links", SOON, || async {
        let listed = zone.admin(0).get("/api/servers").await.expect(200).json();
        let servers = listed["servers"].as_array().unwrap();
        let sum = |key: &str| servers.iter().filter_map(|s| s[key].as_u64()).sum::<u64>();
        let all_announced = servers.iter().all(|s| s["advertise_url"] == s["url"]);
        all_announced && (sum("links"), sum("side_links")) == (1, 2)
    })
    .await;

    // A new registration and its removal reach every server.
    agent.register(fixture().plain("line")).await.expect(0);
    wait_until_answered(&at, "line").await;
    for user in &at {
        assert_eq!(user.method_names().await, ["line"]);
    }
    agent.cli().run(&["methods", "unregister"]).await.expect(0);
    for user in &at {
        eventually("no method is left", SOON, || async {
            user.method_names().await.is_empty()
        })
        .await;
    }
    // Only the home link changed the state of the space.
    let events = at[0].list("/api/events?type=space.*", "events").await;
    let types: Vec<_> = events.iter().map(|event| &event["event_type"]).collect();
    assert_eq!(types, ["space.started", "space.created"]);
}

#[tokio::test]
async fn a_server_that_joins_gets_the_links() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_announced(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    wait_until_answered(&at, "echo").await;
    zone.server_mut(1).terminate().await;
    wait_for_links(&agent, 1).await;
    zone.restart(1).await;
    let joined = Instant::now();
    eventually("the method is there", SOON, || async {
        answers(&at[1], "echo").await
    })
    .await;
    let after = joined.elapsed();
    println!("linked after {after:?}");
    // Much longer than 2 s, because the machine may be busy.
    assert!(after < Duration::from_secs(20), "{after:?}");
}

#[tokio::test]
async fn a_revoked_token_and_a_deactivated_user_end_the_side_links() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, SERVERS).await;
    let ann = zone.server(0).user("ann").await;
    let bob = zone.server(0).user("bob").await;
    let at = at_each(&zone, &ann, SERVERS).await;
    let bob_at = at_each(&zone, &bob, SERVERS).await;
    let mut space = at[0].space("lab").await;
    let shared = || fixture().with(method("echo", "echo").shared());
    let mut agent = space.publish(shared()).await;
    wait_until_answered(&bob_at, "user.ann.echo").await;
    let path = format!("{}/agent-token", space.path());
    let rotated = at[2].post(&path, "").await.expect(200).json();
    let revoked = Instant::now();
    for bob in &bob_at {
        in_effect("the revocation", revoked, || async {
            !answers(bob, "user.ann.echo").await
        })
        .await;
    }
    let ended = agent.process().wait_for_exit(SOON).await;
    assert_eq!(ended.code(), Some(4), "{}", agent.log());

    space.agent_token = rotated["agent_token"].as_str().unwrap().to_owned();
    let _agent = space.publish(shared()).await;
    wait_until_answered(&bob_at, "user.ann.echo").await;
    let path = format!("/api/users/{}", ann.id);
    let inactive = json!({"active": false});
    zone.admin(1).patch(&path, inactive).await.expect(200);
    let deactivated = Instant::now();
    for bob in &bob_at {
        in_effect("the deactivation", deactivated, || async {
            is_unknown(bob, "user.ann.echo").await
        })
        .await;
    }
}

#[tokio::test]
async fn an_agent_has_fewer_links_if_it_is_limited_or_pinned_or_a_server_is_unreachable() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let started = std::cell::Cell::new(0);
    let last_unreachable = |builder: TestServerBuilder| {
        started.set(started.get() + 1);
        match started.get() {
            3 => builder.env("SVC_ADVERTISE_URL", "http://127.0.0.1:1"),
            _ => builder.announced(),
        }
    };
    let zone = TestZone::start_with(postgres, SERVERS, last_unreachable).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, SERVERS).await;
    let named = |name: &str| fixture().with(method(name, "echo"));
    let free = at[0].space("free").await;
    let free_agent = free.publish(named("free")).await;
    wait_until_answered(&at[..2], "free").await;
    wait_for_links(&free_agent, 2).await;
    let limited = at[0].space("limited").await;
    let limited_agent = limited.agent_with(&["--max-links", "1"]).await;
    limited_agent.register(named("limited")).await.expect(0);
    // The third server can be reached at its own address, but announces another address.
    let pinned = at[0].space("pinned").await;
    let urls = [0, 2].map(|member| zone.server(member).url()).join(",");
    let pinned_agent = pinned.agent_with(&["--url", &urls]).await;
    pinned_agent.register(named("pinned")).await.expect(0);
    // A later agent has all its links, so the earlier agents had enough time to make more links.
    let later = at[0].space("later").await;
    let later_agent = later.publish(named("later")).await;
    wait_for_links(&later_agent, 2).await;
    let links = limited_agent.status().await["links"].clone();
    assert_eq!(links.as_array().unwrap().len(), 1);
    let links = pinned_agent.status().await["links"].clone();
    for link in links.as_array().unwrap() {
        assert!(urls.contains(link["url"].as_str().unwrap()), "{link}");
    }
    assert!(is_unknown(&at[1], "limited").await);
    assert!(is_unknown(&at[1], "pinned").await);
    assert!(is_unknown(&at[2], "free").await);
}

#[tokio::test]
async fn a_single_server_and_a_wrong_address_are_not_announced() {
    let server = svc_testkit::TestServer::start().await;
    let folder = server.home().join("other");
    for (url, why) in [
        ("http://127.0.0.1:1", "needs `database_url`"),
        ("127.0.0.1:1", "needs `database_url`"),
    ] {
        let mut command = server.second_server(&folder);
        let refused = command.args(["--advertise-url", url]).output().unwrap();
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    }
    let mut command = server.second_server(&folder);
    command.args([
        "--database-url",
        "postgres://svc@127.0.0.1/x",
        "--advertise-url",
        "b:1",
    ]);
    let refused = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`advertise_url` is not valid"), "{stderr}");
}
