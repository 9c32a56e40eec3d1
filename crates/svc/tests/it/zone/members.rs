//! `GET /api/servers`: the servers of the zone and their load.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use svc_testkit::{
    Process, Reply, TempDir, TestPostgres, TestReceiver, TestUser, TestZone, eventually,
    get_eventually, wait_for_address,
};

use super::{at_each, id_of, reaching_tests};
use crate::SOON;

/// A server without a heartbeat for 10 seconds is gone; heartbeats are sent every 2 seconds.
const GONE_LIMIT: Duration = Duration::from_secs(60);

async fn servers(user: &TestUser) -> Vec<Value> {
    let answer = user.get("/api/servers").await.expect(200).json();
    answer["servers"].as_array().unwrap().clone()
}

/// The record of the server with this number in the zone.
fn of<'l>(servers: &'l [Value], zone: &TestZone, member: usize) -> &'l Value {
    let url = zone.server(member).url();
    let found = servers.iter().find(|server| server["url"] == url);
    found.unwrap_or_else(|| panic!("{url} is not among {servers:?}"))
}

/// Checks the list of servers at every server: the links of each server, one lease in total, and
/// `is_this`.
async fn check_all(zone: &TestZone, links: [u32; 3]) {
    for member in 0..3 {
        let what = format!("server {member} lists one lease");
        let listed = get_eventually(&what, SOON, || async {
            let listed = servers(zone.admin(member)).await;
            // Between two attempts of the delivery, no server holds the lease.
            let leases = listed.iter().filter_map(|server| server["leases"].as_u64());
            (leases.sum::<u64>() == 1).then_some(listed)
        })
        .await;
        assert_eq!(listed.len(), 3);
        for (n, links) in links.into_iter().enumerate() {
            let server = of(&listed, zone, n);
            assert_eq!(server["state"], "up", "{server}");
            assert_eq!(server["links"], links, "{server}");
            assert_eq!(server["is_this"], n == member, "{server}");
        }
    }
}

/// Waits until the server `asked` lists the server `member` with this state.
async fn wait_for_state(zone: &TestZone, asked: usize, member: usize, state: &str) {
    let what = format!("server {member} is {state}");
    eventually(&what, GONE_LIMIT, || async {
        let listed = servers(zone.admin(asked)).await;
        of(&listed, zone, member)["state"] == state
    })
    .await;
}

#[tokio::test]
async fn the_servers_of_a_zone_are_listed_with_links_and_leases() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 3, reaching_tests).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let everywhere = at_each(&zone, &ann, 3).await;
    let (first, second) = (
        everywhere[1].space("one").await,
        everywhere[1].space("two").await,
    );
    let _agents = (first.agent().await, second.agent().await);
    // The lane is held until the receiver responds.
    receiver.set("/hook", Reply::Hang);
    let url = receiver.url("/hook");
    ann.webhook("hook", "custom.a", &url).await;
    ann.emit("a", json!({})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    eventually("links are counted", SOON, || async {
        let listed = servers(zone.admin(2)).await;
        of(&listed, &zone, 1)["links"] == 2
    })
    .await;
    check_all(&zone, [0, 2, 0]).await;
    assert_eq!(first.record().await["node_id"], id_of(&zone, 1).await);
    receiver.set("/hook", Reply::Status(200));
    eventually("the lease is released", SOON, || async {
        let listed = servers(zone.admin(0)).await;
        listed.iter().all(|server| server["leases"] == 0)
    })
    .await;
}

#[tokio::test]
async fn a_killed_server_is_listed_as_gone_until_it_is_back() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start(postgres, 3).await;
    zone.kill(2);
    wait_for_state(&zone, 0, 2, "gone").await;
    let listed = servers(zone.admin(1)).await;
    assert_eq!(of(&listed, &zone, 0)["state"], "up");
    assert_eq!(of(&listed, &zone, 1)["state"], "up");
    zone.restart(2).await;
    wait_for_state(&zone, 2, 2, "up").await;
    wait_for_state(&zone, 0, 2, "up").await;
    let listed = servers(zone.admin(2)).await;
    assert_eq!(listed.len(), 3, "it is the same server: {listed:?}");
    assert_eq!(of(&listed, &zone, 2)["is_this"], true);
}

#[tokio::test]
async fn of_two_servers_with_one_id_the_newer_one_stays() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start(postgres, 2).await;
    let id = id_of(&zone, 1).await;
    let copy = TempDir::new().unwrap();
    let of_older = zone.server(1).data_dir().join("server.id");
    fs::copy(of_older, copy.path().join("server.id")).unwrap();
    let start = zone.server(1).second_server(copy.path());
    let mut younger = Process::spawn("younger server", start);
    let url = wait_for_address(&mut younger).await;

    let older = zone.server_mut(1).process();
    let ended = older.wait_for_exit(GONE_LIMIT).await;
    assert!(ended.success(), "the older server stops in order: {ended}");
    let said = zone.server(1).log();
    for word in [url.as_str(), id.as_str().unwrap(), "`server.id`"] {
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
    eventually("the younger server is listed as up", SOON, || async {
        let listed = servers(zone.admin(0)).await;
        let with_id: Vec<_> = listed.iter().filter(|server| server["id"] == id).collect();
        with_id.len() == 1 && with_id[0]["url"] == url && with_id[0]["state"] == "up"
    })
    .await;
    assert!(younger.exit_status().is_none(), "{}", younger.stderr());
}
