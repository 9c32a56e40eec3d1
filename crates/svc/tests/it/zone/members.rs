//! `GET /api/servers`: who is in the zone, with how much to do.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{Reply, TestPostgres, TestReceiver, TestUser, TestZone, eventually};

use super::{at_each, reaching_tests};
use crate::SOON;

/// A server without a sign of life for 10 seconds is gone; signs are given every 2.
const GONE_LIMIT: Duration = Duration::from_secs(25);

async fn servers(user: &TestUser) -> Vec<Value> {
    let answer = user.get("/api/servers").await.expect(200).json();
    answer["servers"].as_array().unwrap().clone()
}

/// What is said of the server at this address.
fn of<'l>(servers: &'l [Value], zone: &TestZone, member: usize) -> &'l Value {
    let url = zone.server(member).url();
    let found = servers.iter().find(|server| server["url"] == url);
    found.unwrap_or_else(|| panic!("{url} is not among {servers:?}"))
}

#[tokio::test]
async fn the_servers_of_a_zone_are_listed_with_links_and_leases_and_as_gone() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_with(postgres, 3, reaching_tests).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let everywhere = at_each(&zone, &ann, 3).await;
    let (first, second) = (
        everywhere[1].space("one").await,
        everywhere[1].space("two").await,
    );
    let _agents = (first.agent().await, second.agent().await);
    // Held as long as the receiver does not answer.
    receiver.set("/hook", Reply::Hang);
    ann.webhook("hook", "custom.a", &receiver.url("/hook"))
        .await;
    ann.emit("a", json!({})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    eventually("links are counted", SOON, || async {
        let listed = servers(zone.admin(2)).await;
        of(&listed, &zone, 1)["links"] == 2
    })
    .await;
    for member in 0..3 {
        let listed = servers(zone.admin(member)).await;
        assert_eq!(listed.len(), 3);
        for (n, links) in [0, 2, 0].into_iter().enumerate() {
            let server = of(&listed, &zone, n);
            assert_eq!(server["state"], "up", "{server}");
            assert_eq!(server["links"], links, "{server}");
            assert_eq!(server["is_this"], n == member, "{server}");
        }
        let leases = listed.iter().filter_map(|server| server["leases"].as_u64());
        assert_eq!(leases.sum::<u64>(), 1, "{listed:?}");
    }
    let id = of(&servers(zone.admin(0)).await, &zone, 1)["id"].clone();
    assert_eq!(first.record().await["node_id"], id);
    receiver.set("/hook", Reply::Status(200));
    eventually("the lease is given back", SOON, || async {
        let listed = servers(zone.admin(0)).await;
        listed.iter().all(|server| server["leases"] == 0)
    })
    .await;

    zone.kill(2);
    eventually("the killed server is gone", GONE_LIMIT, || async {
        let listed = servers(zone.admin(0)).await;
        of(&listed, &zone, 2)["state"] == "gone"
    })
    .await;
    let listed = servers(zone.admin(1)).await;
    assert_eq!(of(&listed, &zone, 0)["state"], "up");
    assert_eq!(of(&listed, &zone, 1)["state"], "up");
    zone.restart(2).await;
    let listed = servers(zone.admin(2)).await;
    let back = of(&listed, &zone, 2);
    assert_eq!(listed.len(), 3, "it is the same server: {listed:?}");
    assert_eq!(back["is_this"], true);
    eventually("it is back", SOON, || async {
        let listed = servers(zone.admin(0)).await;
        of(&listed, &zone, 2)["state"] == "up"
    })
    .await;
}
