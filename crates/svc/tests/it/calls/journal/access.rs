//! Who sees which calls, and which of their fields.

use serde_json::{Value, json};
use svc_testkit::{TestServer, fixture, method};

use super::{calls, texts, wait_for};

#[tokio::test]
async fn owners_callers_and_auditors_see_different_fields() {
    let server = TestServer::start().await;
    let (ann, bob, eve) = (
        server.user("ann").await,
        server.user("bob").await,
        server.user("eve").await,
    );
    server.role("auditor", &["view_audit"]).await;
    let auditor = server.user_with("ivy", &["auditor"], &[]).await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    bob.call("user.ann.echo", json!({})).await;
    ann.call("echo", json!({})).await;
    eve.call("user.ann.nowhere", json!({})).await;

    // The owner does not see the credentials of callers, or calls of names that do not exist.
    let seen = wait_for(&ann, "", 2).await;
    assert_eq!(texts(&seen, "caller"), ["ann", "bob"]);
    let of_bob = &calls(&ann, "?caller=bob").await[0];
    assert_eq!(of_bob["space"], "lab");
    assert_eq!(of_bob["credential"], Value::Null);
    let own = &calls(&ann, "?caller=ann").await[0];
    assert_eq!(own["credential"]["kind"], "token");

    // The caller does not see the space, and cannot filter by it.
    let seen = wait_for(&bob, "", 1).await;
    assert_eq!(seen[0]["method"], "echo");
    assert_eq!(seen[0]["owner"], "ann");
    assert_eq!(
        (&seen[0]["space"], &seen[0]["space_id"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(seen[0]["credential"]["kind"], "token");
    let by_space = format!("?space_id={}", space.id);
    assert!(calls(&bob, &by_space).await.is_empty());
    assert_eq!(calls(&bob, "?method=user.ann.echo").await, seen);

    // Another user sees only their own call.
    let seen = wait_for(&eve, "", 1).await;
    assert_eq!(seen[0]["method"], "user.ann.nowhere");
    let id = calls(&bob, "").await[0]["id"].as_str().unwrap().to_owned();
    eve.get(&format!("/api/calls/{id}")).await.expect(404);

    // A user with `view_audit` sees all calls.
    let seen = wait_for(&auditor, "", 3).await;
    assert_eq!(texts(&seen, "caller"), ["ann", "bob", "eve"]);
    assert!(
        seen.iter()
            .all(|call| call["credential"]["kind"] == "token")
    );
    assert_eq!(calls(&auditor, &by_space).await.len(), 2);
    auditor.get(&format!("/api/calls/{id}")).await.expect(200);
}
