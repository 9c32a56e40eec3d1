//! A zone: several servers on one PostgreSQL. Without PostgreSQL each of these tests prints that it
//! is skipped.

mod callers;
mod changes;
mod chaos;
mod events;
mod failover;
mod fence;
mod hold;
mod limits;
mod links;
mod load;
mod logs;
mod lost_servers;
mod members;
mod outage;
mod poll_only;
mod revocation;
mod silence;
mod spaces;
mod starting;
mod traffic;
mod upgrade;

use std::{
    future::Future,
    time::{Duration, Instant},
};

use serde_json::Value;
use svc_testkit::{TestServer, TestServerBuilder, TestSpace, TestUser, TestZone, eventually};

use crate::SOON;

/// Limit within which a change at one server takes effect at all of them. More than a second,
/// because the machine may be busy.
const EFFECT_MAX: Duration = Duration::from_secs(15);

/// Servers whose webhooks may reach the receivers of a test, with short retries.
fn reaching_tests(builder: TestServerBuilder) -> TestServerBuilder {
    builder.allow_loopback_webhooks().retries(0.2, 0.2)
}

/// The same user at each member. Waits until the user's token is valid at all of them.
async fn at_each(zone: &TestZone, user: &TestUser, members: usize) -> Vec<TestUser> {
    let everywhere: Vec<_> = (0..members).map(|n| user.at(zone.server(n))).collect();
    for user in &everywhere {
        eventually("the token is known", SOON, || async {
            user.get("/api/auth/me").await.status == 200
        })
        .await;
    }
    everywhere
}

/// Asserts that a condition becomes true within [`EFFECT_MAX`] after `since`.
async fn in_effect<F, Fut>(what: &str, since: Instant, mut condition: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    loop {
        let asked = since.elapsed();
        if condition().await {
            println!("{what}: after {asked:?}");
            return;
        }
        assert!(asked < EFFECT_MAX, "not within {EFFECT_MAX:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The same space at another server: its agents link to this server, and its owner sends requests
/// to it.
fn linking_to(server: &TestServer, mut space: TestSpace) -> TestSpace {
    space.owner = space.owner.at(server);
    space
}

/// The id of a member: `node_id` of the spaces linked to it.
async fn id_of(zone: &TestZone, member: usize) -> Value {
    let listed = zone.admin(member).get("/api/servers").await.expect(200);
    let listed = listed.json();
    let servers = listed["servers"].as_array().unwrap();
    let this = servers.iter().find(|server| server["is_this"] == true);
    this.expect("a server lists itself")["id"].clone()
}

/// Whether a call of the user's own method succeeds.
async fn answers(user: &TestUser, method: &str) -> bool {
    let called = user.call(method, serde_json::json!({})).await;
    called.get("result").is_some()
}
