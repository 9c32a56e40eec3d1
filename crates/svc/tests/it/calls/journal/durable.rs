//! The journal after a crash, and in a zone.

use serde_json::json;
use svc_testkit::{TestPostgres, TestServer, TestZone, fixture, method};

use super::{calls, texts, wait_for};

#[tokio::test]
async fn a_crash_loses_at_most_the_calls_that_were_not_written() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    for _ in 0..20 {
        ann.call("nowhere", json!({})).await;
    }
    let written = wait_for(&ann, "", 20).await;
    for _ in 0..20 {
        ann.call("elsewhere", json!({})).await;
    }
    server.kill9();
    server.start_again().await;
    let ann = ann.at(&server);
    assert_eq!(calls(&ann, "?method=nowhere").await, written);
    let last = calls(&ann, "?method=elsewhere").await.len();
    assert!(last <= 20, "{last} calls");
    // Later calls are found, and no id occurs twice.
    ann.call("again", json!({})).await;
    wait_for(&ann, "?method=again", 1).await;
    let all = calls(&ann, "").await;
    let mut ids = texts(&all, "id");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
}

#[tokio::test]
async fn a_stopping_server_writes_the_last_calls() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    for _ in 0..20 {
        ann.call("nowhere", json!({})).await;
    }
    server.restart().await;
    assert_eq!(calls(&ann.at(&server), "").await.len(), 20);
}

#[tokio::test]
async fn the_servers_of_a_zone_share_one_journal() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let bob = zone.server(0).user("bob").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    bob.call("user.ann.echo", json!({})).await;
    let there = bob.at(zone.server(1));
    there.call("nowhere", json!({})).await;
    let seen = wait_for(&there, "", 2).await;
    assert_eq!(texts(&seen, "method"), ["echo", "nowhere"]);
    assert_eq!(wait_for(&bob, "", 2).await, seen);
    wait_for(&ann.at(zone.server(1)), "", 1).await;
}
