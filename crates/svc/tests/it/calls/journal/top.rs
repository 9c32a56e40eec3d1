//! The command `svc top`.

use serde_json::json;
use svc_testkit::{TestServer, fixture, method};

use super::wait_for;

#[tokio::test]
async fn svc_top_shows_the_load_of_methods_spaces_and_sinks() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let methods = fixture()
        .with(method("echo", "echo").shared())
        .with(method("refuse", "fail"));
    let _agent = space.publish(methods).await;
    ann.webhook("audit-copy", "custom.*", "http://127.0.0.1:9/hook")
        .await;
    for _ in 0..3 {
        ann.call("echo", json!({})).await;
    }
    ann.call("refuse", json!({"code": 4, "message": "no"}))
        .await;
    bob.call("user.ann.echo", json!({})).await;
    wait_for(&ann, "", 5).await;

    // Without a terminal: the view is printed once, as lines that fit into 80 columns.
    let shown = server.cli(&ann).run(&["top"]).await.expect(0).stdout;
    for text in [
        "METHOD",
        "echo",
        "SPACE",
        "lab",
        "SINK",
        "audit-copy",
        "as ann at",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains('\x1b'), "{shown}");
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{shown}");

    let view = server
        .cli(&ann)
        .run(&["top", "-o", "json"])
        .await
        .expect(0)
        .json();
    let methods = view["methods"].as_array().unwrap();
    assert_eq!(methods[0]["name"], "echo", "{view}");
    assert_eq!(methods[0]["providers"], 1);
    let load = |name: &str| {
        let found = methods.iter().find(|one| one["name"] == name);
        found.expect("the method")["load"].clone()
    };
    assert!(load("echo")["calls_per_second"].as_f64() > Some(0.0));
    assert_eq!(load("echo")["failed_per_second"], 0.0);
    assert_eq!(
        load("refuse")["failed_per_second"],
        load("refuse")["calls_per_second"]
    );

    // Bob sees the shared method with only his own calls, and no space of another user.
    let view = server
        .cli(&bob)
        .run(&["top", "-o", "json"])
        .await
        .expect(0)
        .json();
    let names: Vec<_> = view["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["user.ann.echo"]);
    assert_eq!(view["methods"][0]["in_flight"], json!(null));
    assert_eq!(view["spaces"], json!([]));
}
