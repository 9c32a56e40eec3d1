//! Calls that fail: the error codes and messages (spec 7).

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, eventually, fixture, result};

use crate::SOON;

/// Checks the error code and the id of the response to a body.
async fn check_error(user: &TestUser, body: &str, code: i64, id: Value) {
    let response = user.call_raw(body).await.expect(200).json();
    assert_eq!(error_code(&response), code, "to {body}");
    assert_eq!(response["id"], id, "to {body}");
    assert_eq!(response["jsonrpc"], "2.0");
}

#[tokio::test]
async fn s7_s9_malformed_requests_get_the_error_codes_of_json_rpc_2_0() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for body in [
        "",
        "{",
        "nonsense",
        r#"{"jsonrpc":"2.0","method":"x","id":1"#,
        "[1,",
    ] {
        check_error(&ann, body, -32700, Value::Null).await;
    }
    for (body, id) in [
        ("[]", Value::Null),
        ("1", Value::Null),
        ("\"x\"", Value::Null),
        ("null", Value::Null),
        ("{}", Value::Null),
        (r#"{"jsonrpc":"2.0"}"#, Value::Null),
        (r#"{"jsonrpc":"1.0","method":"x","id":5}"#, json!(5)),
        (r#"{"method":"x","id":"q"}"#, json!("q")),
        (r#"{"jsonrpc":"2.0","method":7,"id":5}"#, json!(5)),
        (r#"{"jsonrpc":"2.0","method":"x","id":[1]}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","method":"x","id":true}"#, Value::Null),
        (
            r#"{"jsonrpc":"2.0","method":"x","params":1,"id":5}"#,
            json!(5),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"x","params":"p","id":5}"#,
            json!(5),
        ),
        // A malformed request gets a response even without an id.
        (r#"{"jsonrpc":"2.0","method":"x","params":1}"#, Value::Null),
    ] {
        check_error(&ann, body, -32600, id).await;
    }
    check_error(
        &ann,
        r#"{"jsonrpc":"2.0","method":"x","id":null}"#,
        -32601,
        Value::Null,
    )
    .await;

    let batch = |n: usize| {
        let item = json!({"jsonrpc": "2.0", "method": "missing", "id": 1});
        Value::from(vec![item; n]).to_string()
    };
    check_error(&ann, &batch(1_001), -32600, Value::Null).await;
    let answers = ann.call_raw(batch(1_000)).await.expect(200).json();
    assert_eq!(answers.as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn s7_s8_a_call_over_its_timeout_gets_an_error_with_its_details() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().timeout(3).plain("never").plain("echo"))
        .await;
    let begun = std::time::Instant::now();
    let response = ann.call("never", json!({})).await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let data = json!({"reason": "timeout", "timeout_seconds": 3, "sent": true});
    let error = json!({"code": -32001, "message": "Method timed out", "data": data});
    assert_eq!(response["error"], error);
    // A busy machine may need longer than the timeout for one call.
    eventually("the method server answers again", SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn s7_a_crash_interrupts_calls_and_a_lost_agent_makes_methods_unavailable() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("crash").plain("echo")).await;
    let response = ann.call("crash", json!({})).await;
    let error =
        json!({"code": -32002, "message": "Method interrupted", "data": {"reason": "interrupted"}});
    assert_eq!(response["error"], error);
    result(&ann.call("echo", json!({})).await);

    agent.kill9();
    let error =
        json!({"code": -32000, "message": "Method unavailable", "data": {"reason": "unavailable"}});
    eventually("calls are unavailable", SOON, || async {
        ann.call("echo", json!({})).await["error"] == error
    })
    .await;
    // Within the grace period the method stays listed.
    let document = ann.find_method("echo").await.unwrap();
    assert_eq!(document["provider_count"], 0);
    assert_eq!(document["providers"][0]["state"], "unlinked");
}

#[tokio::test]
async fn s7_http_problems_are_http_errors() {
    let server = TestServer::builder()
        .config("max_body_bytes = 20000")
        .start()
        .await;
    let ann = server.user("ann").await;
    let bearer = format!("Bearer {}", ann.token);
    let body = r#"{"jsonrpc":"2.0","method":"x","id":1}"#;
    let post = |content_type: &'static str, body: String| {
        let (http, bearer) = (server.http(), bearer.clone());
        async move {
            let headers = [
                ("authorization", bearer.as_str()),
                ("content-type", content_type),
            ];
            http.request("POST", "/api/methods/call", &headers, body)
                .await
        }
    };
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
    ] {
        let answer = post(content_type, body.to_owned()).await.expect(415);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
    }
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
    ] {
        post(content_type, body.to_owned()).await.expect(200);
    }
    let long = body.replace('x', &"x".repeat(30_000));
    let problem = post("application/json", long).await.expect(413).json();
    assert_eq!(problem["status"], 413);
    for key in ["type", "title", "detail", "code"] {
        assert!(problem[key].is_string(), "{key} in {problem}");
    }
    let headers = [("content-type", "application/json")];
    server
        .http()
        .request("POST", "/api/methods/call", &headers, body)
        .await
        .expect(401);
    ann.get("/api/methods/call").await.expect(405);
    assert_eq!(
        ann.get("/api/nowhere").await.expect(404).code(),
        "not_found"
    );
}
