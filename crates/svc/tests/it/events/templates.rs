//! Body templates.

use serde_json::{Value, json};
use svc_testkit::{TestReceiver, TestServer, TestServerBuilder, TestUser};

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

async fn preview(user: &TestUser, template: &str, data: Value) -> Value {
    let body = json!({"body_template": template, "event_type": "custom.a", "data": data});
    let previewed = user
        .post("/api/event-sinks/preview", body)
        .await
        .expect(200);
    let body = previewed.json()["body"].as_str().unwrap().to_owned();
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

#[tokio::test]
async fn s6_3_preview_shows_the_rendered_body() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    let data = json!({"name": "Ada \"x\"", "n": 3, "list": [1, "b"], "none": null});
    for (template, expected) in [
        (r#"{"t": "${{ event.type }}"}"#, json!({"t": "custom.a"})),
        (r#"{"t": ${{ event.type }}}"#, json!({"t": "custom.a"})),
        (r#"${{ event.data }}"#, data.clone()),
        (
            r#"{"a": "Hi ${{ event.data.name }}!"}"#,
            json!({"a": "Hi Ada \"x\"!"}),
        ),
        (
            r#"{"a": "${{ event.data.n }}", "b": ${{ event.data.n }}}"#,
            json!({"a": "3", "b": 3}),
        ),
        (
            r#"{"a": "${{ event.data.list }}"}"#,
            json!({"a": "[1,\"b\"]"}),
        ),
        (
            r#"{"a": ${{ event.data.missing }}, "b": "${{ event.data.missing }}"}"#,
            json!({"a": null, "b": ""}),
        ),
        (
            r#"{"a": "${{ event.data.name | upper }}"}"#,
            json!({"a": "ADA \"X\""}),
        ),
        (
            r#"[{% for x in event.data.list %}${{ x }}{% if not loop.last %},{% endif %}{% endfor %}]"#,
            json!([1, "b"]),
        ),
        (r#"{"who": "${{ actor.username }}"}"#, json!({"who": "ann"})),
    ] {
        assert_eq!(
            preview(&ann, template, data.clone()).await,
            expected,
            "{template}"
        );
    }
    // A preview can use a past event; without a template it shows the default body.
    let id = ann.emit("paid", json!({"n": 9})).await;
    let body = json!({"event_id": id, "body_template": "${{ event.data.n }}"});
    let previewed = ann
        .post("/api/event-sinks/preview", body)
        .await
        .expect(200)
        .json();
    assert_eq!(previewed["body"], "9");
    let previewed = ann
        .post("/api/event-sinks/preview", json!({"event_id": id}))
        .await;
    let body = previewed.expect(200).json()["body"]
        .as_str()
        .unwrap()
        .to_owned();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["event_id"], id);
    assert_eq!(body["data"], json!({"n": 9}));
    // Events of other users cannot be previewed.
    let bob = server.user("bob").await;
    bob.post("/api/event-sinks/preview", json!({ "event_id": id }))
        .await
        .expect(404);
}

#[tokio::test]
async fn s6_3_templates_that_cannot_render_are_refused_with_the_reason() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    let long = format!("\"{}\"", "x".repeat(17 * 1024));
    for bad in [
        "${{",
        "{\"a\": ${{ event.type }",
        "{\"a\": }",
        "not json",
        "",
        "{% for x in event.data %}",
        "{% set x = 1 %}{}",
        "{% include 'x' %}{}",
        "{% macro m() %}{% endmacro %}{}",
        "${{ event.type | nonsense }}",
        "${{ range(1000000) }}",
        "{} {}",
        &long,
    ] {
        let sink = json!({"name": "t", "patterns": "*", "type": "webhook",
            "webhook": {"url": "https://example.com/", "body_template": bad}});
        let shown: String = bad.chars().take(60).collect();
        for (path, body) in [
            ("/api/event-sinks", sink),
            ("/api/event-sinks/preview", json!({ "body_template": bad })),
        ] {
            let answer = ann.post(path, body).await;
            assert!(
                matches!(answer.status, 400 | 422),
                "{shown}: {}",
                answer.text()
            );
            let problem = answer.json();
            assert!(
                problem["detail"].as_str().unwrap().len() > 10,
                "{shown}: {problem}"
            );
            assert!(!answer.code().is_empty());
        }
    }
    let formatter = json!({"name": "f", "patterns": "*", "type": "json-rpc",
        "json_rpc": {"body_template": "[1]"}});
    let answer = ann.post("/api/event-sinks", formatter).await;
    assert!(matches!(answer.status, 400 | 422), "{}", answer.text());
    assert!(answer.text().contains("object"), "{}", answer.text());
}

/// Texts that try to leave the string they are put into.
const HOSTILE: &[&str] = &[
    r#"","admin":true,"x":""#,
    r#""}"#,
    "\\",
    "\\\"",
    "\n\r\t\u{0}\u{7f}",
    "\u{2028}\u{2029}",
    "${{ event.id }}",
    "{% if true %}",
    "}}{{",
    "\u{1F980}\u{FEFF}",
];

#[tokio::test]
async fn s6_3_payloads_cannot_add_a_key_to_a_delivered_body() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let template = r#"{"in": "<${{ event.data.text }}>", "out": ${{ event.data.text }}, "all": "${{ event.data }}", "keys": {% if event.data.text %}1{% else %}2{% endif %}}"#;
    ann.sink(json!({"name": "t", "patterns": "*", "type": "webhook",
        "webhook": {"url": receiver.url("/t"), "body_template": template}}))
        .await;
    ann.webhook("default", "*", &receiver.url("/default")).await;
    for text in HOSTILE {
        ann.emit("hostile", json!({"text": text, *text: 1})).await;
    }
    let rendered = receiver.wait_for("/t", HOSTILE.len(), SOON).await;
    let default = receiver.wait_for("/default", HOSTILE.len(), SOON).await;
    for ((text, rendered), default) in HOSTILE.iter().zip(rendered).zip(default) {
        let data = json!({"text": text, *text: 1});
        let body = rendered.json();
        let keys: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["in", "out", "all", "keys"]);
        assert_eq!(body["in"], format!("<{text}>"));
        assert_eq!(body["out"], *text);
        let all: Value = serde_json::from_str(body["all"].as_str().unwrap()).unwrap();
        assert_eq!(all, data);
        let body = default.json();
        assert_eq!(body.as_object().unwrap().len(), 4);
        assert_eq!(body["data"], data);
    }
}

#[tokio::test]
async fn s6_3_a_template_that_fails_for_an_event_makes_the_delivery_dead_at_once() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let template = r#"{"a": {% if event.data.bad %}oops{% else %}1{% endif %}}"#;
    let sink = ann
        .sink(json!({"name": "t", "patterns": "*", "type": "webhook",
            "webhook": {"url": receiver.url("/t"), "body_template": template}}))
        .await;
    ann.emit("a", json!({"bad": true})).await;
    ann.emit("a", json!({})).await;
    let dead = sink.wait_for("dead", 1, SOON).await.remove(0);
    assert_eq!(dead["n"], 1);
    assert!(
        dead["attempts"][0]["error"].as_str().unwrap().len() > 10,
        "{dead}"
    );
    sink.wait_for("delivered", 1, SOON).await;
    assert_eq!(receiver.count("/t"), 1);
    assert_eq!(receiver.received("/t")[0].json(), json!({"a": 1}));
    // With a corrected template, a resend delivers the event.
    sink.patch(json!({"webhook": {"body_template": "{\"fixed\": true}"}}))
        .await;
    let path = format!("{}/deliveries/1/resend", sink.path());
    let answer = ann.post(&path, "{}").await;
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    let received = receiver.wait_for("/t", 2, SOON).await;
    assert_eq!(received[1].json(), json!({"fixed": true}));
    // `null` removes the template.
    let record = sink
        .patch(json!({"webhook": {"body_template": null}}))
        .await;
    assert_eq!(record["webhook"]["body_template"], Value::Null);
    assert_eq!(record["webhook"]["url"], receiver.url("/t"));
}

#[tokio::test]
async fn s6_3_a_sink_test_sends_or_only_shows_the_request() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let template = r#"{"n": ${{ event.data.n }}}"#;
    let sink = ann
        .sink(json!({"name": "t", "patterns": "*", "type": "webhook",
            "webhook": {"url": receiver.url("/t"), "body_template": template}}))
        .await;
    let path = format!("{}/test", sink.path());
    let body = json!({"data": {"n": 5}, "dry_run": true});
    let shown = ann.post(&path, body).await.expect(200).json();
    assert_eq!(shown["body"], r#"{"n": 5}"#);
    assert!(shown.get("attempt").is_none_or(Value::is_null));
    assert_eq!(receiver.count("/t"), 0);
    let sent = ann
        .post(&path, json!({"data": {"n": 6}}))
        .await
        .expect(200)
        .json();
    assert_eq!(sent["attempt"]["status"], 200);
    assert_eq!(receiver.received("/t")[0].json(), json!({"n": 6}));
    assert!(sink.deliveries().await.is_empty(), "a test is no delivery");
}
