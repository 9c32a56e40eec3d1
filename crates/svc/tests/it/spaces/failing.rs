//! Spaces that count as failing in `GET /api/stats` and come first in `svc top`.

use std::path::Path;

use serde_json::{Value, json};
use svc_testkit::{Cli, TestServer, TestUser, eventually, fixture, get_eventually, method};

use crate::SOON;

/// Names of the failing spaces, and their number.
async fn failing(user: &TestUser) -> (Vec<String>, u64) {
    let stats = user.get("/api/stats").await.expect(200).json();
    let spaces = &stats["spaces"];
    let listed = spaces["failing"].as_array().cloned().unwrap_or_default();
    let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
    let total = spaces["failing_total"].as_u64().unwrap_or(0);
    (listed.iter().map(name).collect(), total)
}

#[tokio::test]
async fn s3_refused_and_lost_spaces_fail_and_stopped_ones_do_not() {
    let server = TestServer::builder()
        .config("grace_seconds = 5")
        .start()
        .await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let well = ann.space("well").await;
    let mut well_agent = well.publish(fixture().plain("echo")).await;
    ann.space("idle").await;
    assert_eq!(failing(&ann).await, (vec![], 0));

    let other = ann.space("other").await;
    let bad = fixture().with(method("a b", "echo")).to_string();
    other.write("bad.toml", &bad);
    let mut refused = other.agent_with(&["--methods-file", "bad.toml"]).await;
    let listed = get_eventually("the registration is refused", SOON, || async {
        let found = failing(&ann).await;
        (found.1 > 0).then_some(found)
    })
    .await;
    assert_eq!(listed, (vec!["other".to_owned()], 1));
    assert_eq!(other.record().await["registration"]["state"], "refused");
    assert_eq!(failing(&ben).await, (vec![], 0), "another user's space");
    let top = server
        .cli(&ann)
        .run(&["top", "--once"])
        .await
        .expect(0)
        .stdout;
    let at = |name: &str| top.find(&format!("\n{name} ")).unwrap();
    assert!(
        at("other") < at("well") && at("other") < at("idle"),
        "{top}"
    );
    refused.stop().await;
    eventually("a space that was stopped does not fail", SOON, || async {
        failing(&ann).await.1 == 0
    })
    .await;

    // A lost link is a failure, also after the service has stopped the space.
    well_agent.kill9();
    eventually("the link is lost", SOON, || async {
        failing(&ann).await.0 == ["well"]
    })
    .await;
    well.wait_for_state("stopped", SOON).await;
    let record = well.record().await;
    assert_eq!(record["stop_reason"], "link_lost");
    assert!(record["stopped_at"].is_string(), "{record}");
    assert_eq!(failing(&ann).await, (vec!["well".to_owned()], 1));
    // The owner knows: no failure any more.
    ann.post(&format!("{}/stop", well.path()), json!({}))
        .await
        .expect(200);
    assert_eq!(failing(&ann).await, (vec![], 0));
    assert_eq!(well.record().await["stop_reason"], "requested");
}

#[tokio::test]
async fn the_record_of_a_local_space_names_the_folder_in_which_commands_reach_its_agent() {
    let server = TestServer::builder().allow_local_spaces().start().await;
    let admin = server.admin().await;
    let local = admin
        .space_with(json!({"name": "demo", "runtime": "local"}))
        .await;
    local.wait_for_state("deployed", SOON).await;
    let folder = local.record().await["folder"].as_str().unwrap().to_owned();
    let external = admin.space("outside").await;
    assert_eq!(external.record().await.get("folder"), None);

    let folder = Path::new(&folder);
    let file = fixture().plain("hello").to_string();
    std::fs::write(folder.join("methods.toml"), file).unwrap();
    let cli = Cli::new(server.home()).folder(folder);
    let register = ["methods", "register", "methods.toml"];
    cli.run(&register).await.expect(0);
    assert_eq!(admin.method_names().await, ["hello"]);
}
