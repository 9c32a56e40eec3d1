//! A POST without body and content type is accepted where every field is optional.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser};

/// Sends a POST without a body. Returns the status and the body of the answer.
async fn post_nothing(user: &TestUser, server: &TestServer, path: &str) -> (u16, Value) {
    let bearer = format!("Bearer {}", user.token);
    let headers = [("authorization", bearer.as_str())];
    let answer = server.http().request("POST", path, &headers, "").await;
    let body = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    (answer.status, body)
}

#[tokio::test]
async fn a_post_without_a_body_means_no_options() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let sink = json!({
        "name": "hook", "patterns": "custom.*", "type": "webhook",
        "webhook": {"url": "https://example.com/hook"},
    });
    let sink = ann
        .post("/api/event-sinks", &sink.to_string())
        .await
        .expect(201)
        .json();
    let formatter = json!({"name": "format", "patterns": "custom.*", "type": "json-rpc"});
    let formatter = ann
        .post("/api/event-sinks", &formatter.to_string())
        .await
        .expect(201)
        .json();
    let tool =
        json!({"name": "tool", "kind": "tool", "source": "def main(params):\n    return params"});
    let tool = ann
        .post("/api/scripts", &tool.to_string())
        .await
        .expect(201)
        .json();
    let id = |record: &Value| record["id"].as_str().unwrap().to_owned();

    let path = format!("/api/event-sinks/{}/test", id(&formatter));
    let (status, answer) = post_nothing(&ann, &server, &path).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["body"].is_string(), "{answer}");
    let path = format!("/api/event-sinks/{}/replay", id(&sink));
    let (status, answer) = post_nothing(&ann, &server, &path).await;
    assert_eq!((status, &answer["queued"]), (200, &json!(0)), "{answer}");
    let path = format!("/api/event-sinks/{}/rotate-secret", id(&sink));
    let (status, answer) = post_nothing(&ann, &server, &path).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["secret"].is_string(), "{answer}");
    let path = format!("/api/scripts/{}/run", id(&tool));
    let (status, answer) = post_nothing(&ann, &server, &path).await;
    assert_eq!((status, &answer["result"]), (200, &json!({})), "{answer}");
    let (status, answer) = post_nothing(&ann, &server, "/api/event-sinks/preview").await;
    assert_eq!(status, 200, "{answer}");

    // The answer names a missing required field.
    let (status, answer) = post_nothing(&ann, &server, "/api/tokens").await;
    assert_eq!(
        (status, &answer["code"]),
        (400, &json!("invalid_body")),
        "{answer}"
    );
    assert!(
        answer["detail"].as_str().unwrap().contains("`name`"),
        "{answer}"
    );
    // A body still needs its content type.
    let bearer = format!("Bearer {}", ann.token);
    let headers = [("authorization", bearer.as_str())];
    server
        .http()
        .request("POST", &path, &headers, "{}")
        .await
        .expect(415);
}
