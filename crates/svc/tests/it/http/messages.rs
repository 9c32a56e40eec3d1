//! Refused bodies and queries: the message names the field and the value and shows what to write.

use serde_json::json;
use svc_testkit::TestServer;

/// Words that only parsers and types in the code use.
const LIBRARY_WORDS: [&str; 9] = [
    "untagged",
    "enum ",
    "struct ",
    "u32",
    "invalid type",
    "expected value",
    "EOF",
    "deserialize",
    " at line 1 column",
];

#[tokio::test]
async fn messages_of_refused_requests_have_no_text_of_a_library() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let cases = [
        (
            "/api/event-sinks",
            r#"{"name":"a","patterns":7,"type":"webhook"}"#,
            "`patterns`: expected event patterns: a string such as",
        ),
        (
            "/api/event-sinks",
            r#"{"name":"a","patterns":"*","type":"mail"}"#,
            "`type`: expected one of `webhook`, `script` or `json-rpc`, not the text `mail`",
        ),
        (
            "/api/event-sinks",
            r#"{"name":"a","patterns":"*","type":"script","script":{"script_id":"x"}}"#,
            "`script.script_id`: expected an id",
        ),
        (
            "/api/tokens",
            r#"{"name": }"#,
            "this is not valid JSON at column 10: `}`",
        ),
        ("/api/tokens", "[", "must be a JSON object"),
        (
            "/api/tokens",
            r#"{"name":"a","scope":["mcp"]}"#,
            "unknown field `scope`; did you mean `scopes`?",
        ),
        (
            "/api/tokens",
            r#"{"name":"a","name":"b"}"#,
            "field `name` occurs twice",
        ),
        (
            "/api/events/emit",
            r#"{"payload":{}}"#,
            "missing field `type`",
        ),
        (
            "/api/spaces",
            r#"{"name":"lab","runtime":true}"#,
            "`runtime`: expected one of",
        ),
    ];
    for (path, body, expected) in cases {
        let request = ann
            .request("POST", path)
            .header("content-type", "application/json")
            .body(body.into())
            .unwrap();
        let answer = ann.http().send(request).await.expect(400).json();
        check(answer["detail"].as_str().unwrap(), expected);
    }
    let webhook = ann.webhook("hook", "*", "https://example.com/").await;
    let admin = server.admin().await;
    let template = admin.post("/api/templates", json!({"name": "web"})).await;
    let template = template.expect(201).json();
    let template = format!("/api/templates/{}", template["id"].as_str().unwrap());
    let sink = webhook.path();
    for (user, path, body, expected) in [
        (
            &ann,
            &sink,
            json!({"webhook": null}),
            "`webhook`: expected an object, not null",
        ),
        (
            &ann,
            &sink,
            json!({"webhook": "x"}),
            "`webhook`: expected an object, not the text `x`",
        ),
        (
            &ann,
            &sink,
            json!({"delivery": []}),
            "`delivery`: expected an object, not an array",
        ),
        (
            &admin,
            &template,
            json!({"custom_fields": {"": "x"}}),
            "a custom field has an empty name",
        ),
        (
            &admin,
            &template,
            json!({"health_check": {"type": "none", "port": 1}}),
            "`port` is for health checks of type `tcp`",
        ),
    ] {
        let answer = user.patch(path, body).await.expect(400).json();
        check(answer["detail"].as_str().unwrap(), expected);
    }
    for (path, expected) in [
        (
            "/api/spaces?limit=many",
            "in the query: `limit`: expected a whole number from 0 to 4294967295, not the text `many`",
        ),
        (
            "/api/events?limit=3&actr=ann",
            "in the query: unknown parameter `actr`; did you mean `actor`?",
        ),
        (
            "/api/auth/me?verbose=1",
            "in the query: unknown parameter `verbose`",
        ),
    ] {
        let answer = ann.get(path).await.expect(400).json();
        check(answer["detail"].as_str().unwrap(), expected);
    }
    let known = format!(
        "/api/event-sinks/{}/deliveries?limit=3&dead=1",
        uuid::Uuid::nil()
    );
    let answer = ann.get(&known).await.expect(400).json();
    check(answer["detail"].as_str().unwrap(), "expected one of");
}

#[track_caller]
fn check(detail: &str, expected: &str) {
    assert!(detail.contains(expected), "{detail}");
    for word in LIBRARY_WORDS {
        assert!(!detail.contains(word), "{detail}");
    }
}
