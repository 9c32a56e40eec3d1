//! The grace period: what stays while an agent is not linked, and what ends after the period.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_link::{Control, VERSION};
use svc_testkit::{
    RawLink, TestServer, TestServerBuilder, error_code, eventually, fixture, get_eventually, result,
};

use crate::SOON;

/// Long enough for several requests on a busy machine.
const GRACE: Duration = Duration::from_secs(8);

fn impatient() -> TestServerBuilder {
    TestServer::builder().config("grace_seconds = 8")
}

#[tokio::test]
async fn s3_methods_not_registered_again_by_a_second_agent_end_after_the_grace_period() {
    let server = impatient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _first = RawLink::publish(server.address(), &space.agent_token, 2).await;
    let mut second = RawLink::connect(server.address(), &space.agent_token).await;
    let begun = Instant::now();
    let welcome = second.hello(&[VERSION]).await;
    assert!(matches!(welcome, Control::Welcome(_)), "{welcome:?}");
    // The second agent may still register. Until then, calls fail, but the methods stay listed.
    assert_eq!(error_code(&ann.call("lab.m0", json!({})).await), -32000);
    let document = ann.find_method("lab.m0").await.unwrap();
    assert_eq!(document["provider_count"], 0);
    eventually("the methods are removed", SOON, || async {
        ann.method_names().await.is_empty()
    })
    .await;
    let stayed = begun.elapsed();
    assert!(stayed >= GRACE, "they were removed after {stayed:?}");
    assert_eq!(error_code(&ann.call("lab.m0", json!({})).await), -32601);
    let record = space.record().await;
    assert_eq!(record["registration"], json!({"state": "none"}));
    assert_eq!(record["state"], "deployed", "the agent is there");
}

#[tokio::test]
async fn s3_methods_registered_again_within_the_grace_period_stay() {
    let server = impatient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut first = space.publish(fixture().plain("pid")).await;
    let second = space.spawn_second_agent();
    second.wait_until_linked().await;
    assert_eq!(first.process().wait_for_exit(SOON).await.code(), Some(6));
    second.register(fixture().plain("pid")).await.expect(0);
    let pid = second.method_server_pid().await;
    let registered = Instant::now();
    while registered.elapsed() < GRACE + Duration::from_millis(500) {
        assert_eq!(result(&ann.call("pid", json!({})).await), pid);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn s3_the_space_of_a_deactivated_owner_stops_even_across_a_restart() {
    let mut server = TestServer::builder()
        .config("grace_seconds = 8")
        .start()
        .await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    agent.kill9();
    let state = async || -> Value {
        let record = admin.get(&space.path()).await.expect(200).json();
        record["state"].clone()
    };
    let path = format!("/api/users/{}", ann.id);
    let inactive = json!({"active": false});
    admin.patch(&path, inactive).await.expect(200);
    assert_eq!(state().await, "deployed");
    server.restart().await;
    get_eventually("the space is stopped", SOON, || async {
        (state().await == "stopped").then_some(())
    })
    .await;
    // After the owner is active again, an agent may link.
    let active = json!({"active": true});
    admin.patch(&path, active).await.expect(200);
    let _agent = space.publish(fixture().plain("echo")).await;
    result(&ann.call("echo", json!({})).await);
}
