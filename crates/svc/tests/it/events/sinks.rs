//! Sinks as records: values that are refused when a sink is created or changed, the quota of sinks,
//! and the key that encrypts their secrets.

use serde_json::{Value, json};
use svc_testkit::{Process, TestServer, wait_for_address};

#[tokio::test]
async fn s2_3_s6_3_invalid_sinks_are_refused_with_the_reason() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let good = json!({"name": "hook", "patterns": "space.*, custom.x", "type": "webhook",
        "webhook": {"url": "https://example.com/"}});
    let with = |pointer: &str, value: Value| {
        let mut body = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[key] = value;
        body
    };
    let refuse = async |body: Value, says: &str| {
        let answer = ann.post("/api/event-sinks", &body).await;
        assert!(
            matches!(answer.status, 400 | 422),
            "{body}: {} {}",
            answer.status,
            answer.text()
        );
        assert!(answer.text().contains(says), "{body}: {}", answer.text());
        assert!(!answer.code().is_empty());
    };
    for (patterns, says) in [
        (json!(""), "empty"),
        (json!("a,,b"), "pattern 2"),
        (json!([]), ""),
        (json!(["a", ""]), "pattern 2"),
        (json!("*.created"), "character 1"),
        (json!("space.*.x"), "character 7"),
        (json!("a b"), "character 2"),
        (json!(7), ""),
    ] {
        refuse(with("/patterns", patterns), says).await;
    }
    for url in [
        "",
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "https://user:secret@example.com/",
        "javascript:alert(1)",
    ] {
        refuse(with("/webhook/url", json!(url)), "").await;
    }
    for header in [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "X-Service-Signature",
        "webhook-id",
        "Webhook-Signature",
        "bad name",
        "",
    ] {
        refuse(with("/webhook/headers", json!({header: "x"})), "").await;
    }
    refuse(
        with("/webhook/headers", json!({"x-a": "line\r\nbreak: 1"})),
        "",
    )
    .await;
    refuse(with("/name", json!("")), "").await;
    refuse(with("/type", json!("carrier-pigeon")), "").await;
    refuse(with("/colour", json!("red")), "colour").await;
    let script =
        json!({"name": "s", "patterns": "*", "type": "script", "script": {"source": "def ("}});
    refuse(script, "script").await;
    let no_config = json!({"name": "s", "patterns": "*", "type": "webhook"});
    refuse(no_config, "webhook").await;
    let both = with("/json_rpc", json!({"body_template": "{}"}));
    refuse(both, "").await;
    // A valid sink is accepted. A second sink with the same name is refused.
    let sink = ann.sink(good.clone()).await;
    assert_eq!(sink.created["patterns"], json!(["space.*", "custom.x"]));
    ann.post("/api/event-sinks", &good).await.expect(409);
    // Changes follow the same rules; a refused change leaves the sink unchanged.
    for patch in [
        json!({"patterns": "*.x"}),
        json!({"webhook": {"url": "ftp://x"}}),
        json!({"webhook": {"headers": {"host": "x"}}}),
        json!({"webhook": {"body_template": "${{"}}),
        json!({"type": "json-rpc"}),
        json!({"owner": "global"}),
        json!({"webhook": {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}),
    ] {
        let answer = ann.patch(&sink.path(), &patch).await;
        assert!(
            matches!(answer.status, 400 | 422),
            "{patch}: {}",
            answer.text()
        );
    }
    let record = sink.record().await;
    assert_eq!(record["patterns"], sink.created["patterns"]);
    assert_eq!(record["webhook"]["url"], "https://example.com/");
}

/// Each event is compared with every sink of its owner, so their number is limited.
#[tokio::test]
async fn s2_3_an_owner_has_at_most_a_hundred_sinks() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let body = |n: usize| json!({"name": format!("f{n}"), "patterns": "*", "type": "json-rpc"});
    for n in 0..100 {
        ann.post("/api/event-sinks", body(n)).await.expect(201);
    }
    let refused = ann.post("/api/event-sinks", body(100)).await.expect(409);
    assert_eq!(refused.code(), "quota_exceeded");
    bob.post("/api/event-sinks", body(0)).await.expect(201);
}

/// Stored secrets are useless without their key, so the server reports a wrong key at its start.
#[tokio::test]
async fn a_server_with_another_secret_key_does_not_start() {
    let mut server = TestServer::start().await;
    let lose_key = |server: &TestServer| {
        std::fs::remove_file(server.data_dir().join("secret.key")).unwrap();
    };
    // Before any value is encrypted, another key is accepted.
    assert_eq!(server.terminate().await.code(), Some(0));
    lose_key(&server);
    server.start_again().await;
    let ann = server.user("ann").await;
    let hook = json!({"name": "hook", "patterns": "*", "type": "webhook",
        "webhook": {"url": "https://example.com/"}});
    ann.post("/api/event-sinks", hook).await.expect(201);
    assert_eq!(server.terminate().await.code(), Some(0));
    lose_key(&server);
    let refused = server.second_server(&server.data_dir()).output().unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("encrypted with another key"), "{said}");
    assert!(said.contains("SVC_ACCEPT_NEW_KEY=1"), "{said}");
    // Apply the remedy that the message names. After that, the new key is the only key.
    let mut accepting = server.second_server(&server.data_dir());
    accepting.env("SVC_ACCEPT_NEW_KEY", "1");
    let mut accepting = Process::spawn("accepting server", accepting);
    wait_for_address(&mut accepting).await;
    assert_eq!(accepting.terminate().await.code(), Some(0));
    server.start_again().await;
}
