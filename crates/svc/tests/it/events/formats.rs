//! The CloudEvents formats of a webhook, checked with the official SDK of CloudEvents.

use serde_json::{Value, json};
use svc_testkit::{Received, TestReceiver, TestServer, TestServerBuilder, TestUser};

use crate::{SOON, judge::Judge};

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

async fn sink(user: &TestUser, url: &str, settings: Value) {
    let mut webhook = json!({"url": url});
    for (name, value) in settings.as_object().unwrap() {
        webhook[name] = value.clone();
    }
    let name = url.rsplit('/').next().unwrap();
    let body = json!({"name": name, "patterns": "*", "type": "webhook", "webhook": webhook});
    user.sink(body).await;
}

fn to_json(one: &Received) -> Value {
    let headers: serde_json::Map<String, Value> = one
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
        .collect();
    json!({"headers": headers, "body": String::from_utf8(one.body.to_vec()).unwrap()})
}

#[tokio::test]
async fn the_official_sdk_of_cloudevents_reads_the_structured_and_the_binary_format() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let template = r#"{"text": "${{ event.data.text }}"}"#;
    let sinks = [
        ("structured", json!({"format": "cloudevents-structured"})),
        ("binary", json!({"format": "cloudevents-binary"})),
        (
            "short",
            json!({"format": "cloudevents-structured", "body_template": template}),
        ),
        (
            "short-binary",
            json!({"format": "cloudevents-binary", "body_template": template}),
        ),
    ];
    for (name, settings) in &sinks {
        sink(&ann, &receiver.url(&format!("/{name}")), settings.clone()).await;
    }
    let data = json!({"text": "Grüße, \"you\"\n\u{1F980}", "n": 9_007_199_254_740_993_u64});
    let id = ann.emit("a.b", data.clone()).await;
    let mut requests = Vec::new();
    for (name, _) in &sinks {
        let one = receiver.wait_for(&format!("/{name}"), 1, SOON).await;
        requests.push(to_json(&one[0]));
        assert_eq!(one[0].header("webhook-id"), id, "signed in every format");
        assert!(one[0].header("webhook-signature").starts_with("v1,"));
        let is_binary = name.ends_with("binary");
        assert_eq!(one[0].header("ce-id"), if is_binary { &id } else { "" });
    }
    let types = requests
        .iter()
        .map(|one| one["headers"]["content-type"].as_str().unwrap());
    let structured = "application/cloudevents+json";
    let json = "application/json";
    assert!(types.eq([structured, json, structured, json]));

    let file = server.home().join("requests.json");
    std::fs::write(&file, Value::from(requests.clone()).to_string()).unwrap();
    let file = file.to_str().unwrap();
    let variables = [("REQUESTS", file)];
    let judged = Judge::Python("cloud_events").ask(&server, &variables);
    let Some(said) = judged.await else { return };
    assert_eq!(said.len(), sinks.len());
    let ts = &requests[0]["headers"]["x-service-event-ts"];
    for ((name, _), line) in sinks.iter().zip(said) {
        let read: Value = serde_json::from_str(&line).unwrap();
        let attributes = &read["attributes"];
        assert_eq!(attributes["specversion"], "1.0", "{name}");
        assert_eq!(attributes["id"], id, "{name}");
        assert_eq!(attributes["type"], "custom.a.b", "{name}");
        assert_eq!(attributes["datacontenttype"], "application/json", "{name}");
        let time = attributes["time"].as_str().unwrap().replace("+00:00", "Z");
        assert_eq!(time, ts.as_str().unwrap(), "{name}");
        let source = attributes["source"].as_str().unwrap();
        assert!(source.starts_with("/users/"), "{source}");
        let expected = match name.starts_with("short") {
            true => json!({"text": data["text"]}),
            false => data.clone(),
        };
        assert_eq!(read["data"], expected, "{name}");
    }
}

#[tokio::test]
async fn a_format_can_be_read_changed_previewed_and_tested() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    assert_eq!(sink.record().await["webhook"]["format"], Value::Null);
    let changed = sink
        .patch(json!({"webhook": {"format": "cloudevents-binary"}}))
        .await;
    assert_eq!(changed["webhook"]["format"], "cloudevents-binary");

    let test = format!("{}/test", sink.path());
    let body = json!({"event_type": "custom.x", "data": {"a": 1}});
    let tested = ann.post(&test, body).await.expect(200).json();
    assert_eq!(tested["body"], r#"{"a":1}"#);
    let one = receiver.wait_for("/hook", 1, SOON).await.remove(0);
    assert_eq!(one.header("ce-type"), "custom.x");

    let body =
        json!({"event_type": "custom.x", "data": {"a": 1}, "format": "cloudevents-structured"});
    let shown = ann.post("/api/event-sinks/preview", body.clone()).await;
    let shown: Value =
        serde_json::from_str(shown.expect(200).json()["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&shown["type"], &shown["data"]),
        (&json!("custom.x"), &json!({"a": 1}))
    );
    ann.post(&test, body).await.expect(400);

    // While a sink has a CloudEvents format, its headers cannot set a CloudEvents attribute.
    let header = json!({"webhook": {"headers": {"ce-subject": "x"}}});
    let refused = ann.patch(&sink.path(), header.clone()).await.expect(400);
    assert!(refused.text().contains("ce-subject"), "{}", refused.text());
    sink.patch(json!({"webhook": {"format": null}})).await;
    sink.patch(header).await;
}
