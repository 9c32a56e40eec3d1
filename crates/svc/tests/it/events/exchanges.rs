//! The stored requests and responses of the attempts of webhooks.

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestSink, get_eventually, require};

use crate::SOON;

async fn attempts(sink: &TestSink, query: &str) -> Vec<Value> {
    let path = format!("{}/deliveries{query}", sink.path());
    let page = sink.owner.get(&path).await.expect(200).json();
    page["deliveries"][0]["attempts"]
        .as_array()
        .unwrap()
        .clone()
}

fn header<'a>(fields: &'a Value, name: &str) -> &'a Value {
    let mut fields = fields.as_array().unwrap().iter();
    let field = fields.find(|field| field["name"] == name);
    field.map_or(&Value::Null, |field| &field["value"])
}

#[tokio::test]
async fn an_exchange_is_kept_on_request_without_secrets_and_without_the_address() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.1, 0.1)
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    receiver.set("/hook", Reply::Body(503, "busy".into()));
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    for user in [&ann, &admin] {
        let sink = user
            .sink(json!({
                "name": "hook", "patterns": "custom.a", "type": "webhook",
                "webhook": {"url": receiver.url("/hook"), "headers": {"Authorization": "Bearer s3cret"}},
                "delivery": {"keep_exchanges": true},
            }))
            .await;
        user.emit("a", json!({"text": "x".repeat(20_000)})).await;
        sink.wait_for("dead", 1, SOON).await;
        let listed = attempts(&sink, "").await;
        assert_eq!(listed.len(), 3);
        assert!(
            listed
                .iter()
                .all(|attempt| attempt.get("exchange").is_none())
        );
        let listed = attempts(&sink, "?exchanges=true").await;
        let text = Value::from(listed.clone()).to_string();
        assert!(!text.contains("s3cret"), "{text}");
        let received = receiver.received("/hook").pop().unwrap();
        assert_eq!(received.header("authorization"), "Bearer s3cret");
        let signature = received.header("webhook-signature");
        assert!(!text.contains(signature.trim_start_matches("v1,")));

        let (first, second) = (&listed[0]["exchange"], &listed[1]["exchange"]);
        let request = &first["request"];
        assert_eq!(request["line"], "POST /hook HTTP/1.1");
        assert_eq!(request["url"], receiver.url("/hook"));
        assert_eq!(header(&request["headers"], "authorization"), "********");
        assert_eq!(
            header(&request["headers"], "webhook-signature"),
            "v1,********"
        );
        assert_eq!(
            header(&request["headers"], "content-type"),
            "application/json"
        );
        assert_eq!(request["body"].as_str().unwrap().len(), 16 * 1024);
        assert_eq!(request["body_bytes"], received.body.len());
        assert_eq!(first["response"]["status"], 503);
        assert_eq!(header(&first["response"]["headers"], "content-length"), "4");
        assert_eq!(listed[0]["output"], "busy");
        let timing = &first["timing"];
        for part in ["dns", "connect", "first_byte", "total"] {
            assert!(timing[part].as_f64().is_some(), "{part}: {timing}");
        }
        assert_eq!(timing["tls"], Value::Null);
        // The second attempt used the same connection.
        assert_eq!(second["timing"]["connect"], Value::Null);
        let address = match user.name.as_str() {
            "admin" => json!(receiver.address().to_string()),
            _ => Value::Null,
        };
        assert_eq!(first["remote_address"], address);
    }
}

#[tokio::test]
async fn the_cli_prints_an_attempt_and_its_curl_command() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    receiver.set("/hook", Reply::Body(200, "thanks".into()));
    let ann = server.user("ann").await;
    let url = receiver.url("/hook");
    let create = [
        "sink",
        "create",
        "hook",
        "--patterns",
        "*",
        "--url",
        &url,
        "--header",
        "X-Key: s3cret",
        "--delivery",
        "keep_exchanges=true",
    ];
    server.cli(&ann).run(&create).await.expect(0);
    ann.emit("a", json!({"text": "it's"})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    let shown = get_eventually("the attempt is recorded", SOON, || async {
        let args = ["sink", "deliveries", "hook", "--attempt", "1"];
        let out = server.cli(&ann).run(&args).await;
        (out.code == 0).then_some(out.stdout)
    })
    .await;
    for part in [
        "> POST /hook HTTP/1.1\n",
        "> x-key: ********\n",
        "\"data\":{\"text\":\"it's\"}}\n",
        "< 200\n",
        "\nthanks\n",
        "first byte",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    let args = ["sink", "deliveries", "hook", "--attempt", "1.1", "--curl"];
    let command = server.cli(&ann).run(&args).await.expect(0).stdout;
    assert!(command.contains("-H 'x-key: <X-KEY>'"), "{command}");
    // The command is valid: if the secret replaces the placeholder, the receiver gets the same
    // body.
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", &command.replace("<X-KEY>", "s3cret")]);
    if require("curl").is_ok() {
        let done = shell.output().await.unwrap();
        assert!(done.status.success(), "{done:?}");
        let received = receiver.received("/hook");
        assert_eq!(received.len(), 2);
        assert_eq!(received[1].body, received[0].body);
        assert_eq!(received[1].header("x-key"), "s3cret");
        assert_eq!(
            received[1].header("webhook-id"),
            received[0].header("webhook-id")
        );
    }
    for (attempt, said) in [("2", "no delivery 2"), ("1.2", "no attempt 2")] {
        let args = ["sink", "deliveries", "hook", "--attempt", attempt];
        let out = server.cli(&ann).run(&args).await;
        assert_ne!(out.code, 0);
        assert!(out.stderr.contains(said), "{}", out.stderr);
    }
}
