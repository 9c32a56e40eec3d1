//! The log of a space can be read at every server of the zone.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{TestPostgres, TestUser, TestZone, eventually, fixture, get_eventually};

use super::{at_each, linking_to};
use crate::SOON;

async fn read(user: &TestUser, path: &str) -> Vec<Value> {
    let logs = user.get(path).await.expect(200).json();
    logs["logs"].as_array().unwrap().clone()
}

#[tokio::test]
async fn permitted_users_can_read_the_log_of_a_space_at_any_server() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let bob = zone.server(0).user("bob").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = linking_to(zone.server(1), at[0].space("lab").await);
    let _agent = space.publish(fixture().plain("noise")).await;
    at[1].call("noise", json!({})).await;
    let path = format!("{}/logs", space.path());
    let at_link = get_eventually("both servers show the same lines", SOON, || async {
        let lines = read(&at[1], &path).await;
        let is_there = lines.iter().any(|line| line.to_string().contains("hello"));
        (is_there && read(&at[0], &path).await == lines).then_some(lines)
    })
    .await;
    // Pages are the same too.
    let page = format!("{path}?limit=1&cursor={}", at_link[0]["n"]);
    assert_eq!(read(&at[0], &page).await, read(&at[1], &page).await);
    bob.get(&path).await.expect(404);
    let left = "SELECT COUNT(*) FROM log_requests";
    assert_eq!(postgres.sql(&zone.database().name, left), "0");

    // The request is refused if the server with the link does not answer.
    zone.freeze(1);
    let refused = at[0].get(&path).await.expect(409);
    assert_eq!(refused.code(), "linked_elsewhere");
    zone.thaw(1);
}

/// To read the log at another server, a server stores a request as a row in the database. The other
/// server adds the log lines to the row. The row must be removed in every case.
#[tokio::test]
async fn a_user_who_disconnects_leaves_no_request_and_delays_no_other_user() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let [ann, ben] = [
        zone.server(0).user("ann").await,
        zone.server(0).user("ben").await,
    ];
    let (ann_at, ben_at) = (at_each(&zone, &ann, 2).await, at_each(&zone, &ben, 2).await);
    let theirs = linking_to(zone.server(1), ann_at[0].space("lab").await);
    let _agent = theirs.publish(fixture().plain("noise")).await;
    let own = linking_to(zone.server(1), ben_at[0].space("lab").await);
    let _bens = own.publish(fixture().plain("noise")).await;
    zone.freeze(1);
    let path = format!("{}/logs", theirs.path());
    for _ in 0..20 {
        let reading = ann_at[0].get(&path);
        let gone = tokio::time::timeout(Duration::from_millis(20), reading).await;
        // The other server is frozen. A busy test may get the refusal.
        if let Ok(answer) = gone {
            answer.expect(409);
        }
    }
    let rows = || postgres.sql(&zone.database().name, "SELECT COUNT(*) FROM log_requests");
    assert!(
        rows().parse::<usize>().unwrap() <= 1,
        "one request of a user"
    );
    zone.thaw(1);
    read(&ben_at[0], &format!("{}/logs", own.path())).await;
    eventually("every request is removed", SOON, || async { rows() == "0" }).await;
}
