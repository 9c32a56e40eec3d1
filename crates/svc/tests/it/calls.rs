//! `POST /api/methods/call` (spec 4.1): single calls, batches, notifications, errors.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, eventually, fixture, method, result};

use crate::SOON;

/// Checks the very bytes of a request and of its answer.
async fn check(user: &TestUser, request: &str, expected: &str) {
    let answer = user.call_raw(request).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.text(), expected, "to {request}");
}

/// Checks the error code and id a body is answered with.
async fn check_error(user: &TestUser, body: &str, code: i64, id: Value) {
    let response = user.call_raw(body).await.expect(200).json();
    assert_eq!(error_code(&response), code, "to {body}");
    assert_eq!(response["id"], id, "to {body}");
    assert_eq!(response["jsonrpc"], "2.0");
}

#[tokio::test]
async fn ids_params_and_results_come_back_unchanged() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().plain("echo").plain("line").plain("fail"))
        .await;

    for id in [
        "9007199254740993",
        "\"a\"",
        "null",
        "0",
        "-7",
        "1.50",
        "\"ü\\u0000\"",
        "123456789012345678901234567890",
    ] {
        let request = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":[1],"id":{id}}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","result":[1],"id":{id}}}"#);
        check(&ann, &request, &expected).await;
    }
    for params in [
        r#"{"z":1,"a":{"y":2,"b":3},"m":[]}"#,
        r#"{"n":12345678901234567890123,"f":1.10,"e":1E400,"x":null}"#,
        r#"[9007199254740993,-0.0,"\u00e9é\ud83d\ude00"]"#,
        r#"{"a":1,"a":2}"#,
    ] {
        let request = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":1}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","result":{params},"id":1}}"#);
        check(&ann, &request, &expected).await;
    }
    // A method server's own error passes through whole.
    let error = r#"{"code":-1,"message":"no ink","data":{"z":9007199254740993,"a":null}}"#;
    let request = format!(r#"{{"jsonrpc":"2.0","method":"fail","params":{error},"id":"x"}}"#);
    check(
        &ann,
        &request,
        &format!(r#"{{"jsonrpc":"2.0","error":{error},"id":"x"}}"#),
    )
    .await;
}

#[tokio::test]
async fn a_method_server_gets_its_own_name_integer_ids_and_one_line() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("raw.request", "line")))
        .await;

    let line = |params: &'static str| {
        let ann = ann.clone();
        async move {
            let body =
                format!(r#"{{"jsonrpc":"2.0","method":"raw.request",{params}"id":"caller"}}"#);
            let response = ann.call_raw(body).await.expect(200).json();
            result(&response).as_str().unwrap().to_owned()
        }
    };
    let seen: Value = serde_json::from_str(&line("").await).unwrap();
    assert_eq!(seen["method"], "line");
    assert_eq!(seen["jsonrpc"], "2.0");
    assert!(seen["id"].as_u64().unwrap() < 1 << 53);
    assert!(
        seen.get("params").is_none(),
        "absent params stay absent: {seen}"
    );
    let seen: Value = serde_json::from_str(&line(r#""params":null,"#).await).unwrap();
    assert!(
        seen.get("params").is_none(),
        "null counts as absent: {seen}"
    );
    // Line breaks between tokens are folded; those inside strings are escapes anyway.
    let seen = line("\"params\": {\r\n \"a\":\n 1, \"b\": \"x\\ny\"},").await;
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["params"], json!({"a": 1, "b": "x\ny"}));
}

#[tokio::test]
async fn a_notification_is_forwarded_and_answered_204() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("push").plain("pushed")).await;

    let answer = ann.notify("push", json!({"n": 1})).await.expect(204);
    assert!(answer.body.is_empty());
    // A well-formed notification is never answered, not even to an unknown method.
    ann.notify("nothing.here", json!({})).await.expect(204);
    let all = json!([
        {"jsonrpc": "2.0", "method": "push", "params": {"n": 2}},
        {"jsonrpc": "2.0", "method": "nothing.here"},
        {"jsonrpc": "2.0", "method": "push", "params": {"n": 3}},
    ]);
    let answer = ann.call_raw(all).await.expect(204);
    assert!(answer.body.is_empty());
    eventually("all three arrive", SOON, || async {
        let response = ann.call("pushed", json!({})).await;
        let mut seen = result(&response).as_array().unwrap().clone();
        seen.sort_by_key(|value| value["n"].as_u64());
        seen == [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]
    })
    .await;
}

#[tokio::test]
async fn a_mixed_batch_is_answered_in_order_without_its_notifications() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().plain("echo").plain("sleep").plain("push"))
        .await;
    let batch = json!([
        {"jsonrpc": "2.0", "method": "sleep", "params": {"ms": 300}, "id": "slow"},
        {"jsonrpc": "2.0", "method": "push", "params": [1]},
        {"jsonrpc": "2.0", "method": "echo", "params": [2], "id": 2},
        {"jsonrpc": "2.0", "method": "missing", "id": 3},
        {"foo": "bar"},
        7,
        {"jsonrpc": "2.0", "method": "missing"},
        {"jsonrpc": "2.0", "method": "echo", "params": [4], "id": null},
    ]);
    let answers = ann.call_raw(batch).await.expect(200).json();
    let ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [
            json!("slow"),
            json!(2),
            json!(3),
            Value::Null,
            Value::Null,
            Value::Null
        ]
    );
    assert_eq!(answers[0]["result"]["slept"], 300);
    assert_eq!(answers[1]["result"], json!([2]));
    assert_eq!(error_code(&answers[2]), -32601);
    assert_eq!(error_code(&answers[3]), -32600);
    assert_eq!(error_code(&answers[4]), -32600);
    assert_eq!(answers[5]["result"], json!([4]));
}

#[tokio::test]
async fn a_batch_of_100_over_two_spaces_runs_in_parallel_and_answers_in_order() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (anns, bens) = (ann.space("one").await, ben.space("two").await);
    let _first = anns.publish(fixture().plain("sleep")).await;
    let shared = fixture().with(method("slow", "sleep").shared());
    let _second = bens.publish(shared).await;
    let batch: Vec<_> = (0..100)
        .map(|n| {
            let method = if n % 2 == 0 { "sleep" } else { "user.ben.slow" };
            // Later ones are faster: only order kept on purpose comes out in order.
            json!({"jsonrpc": "2.0", "method": method, "params": {"ms": 400 - 4 * n}, "id": n})
        })
        .collect();
    let begun = std::time::Instant::now();
    let answers = ann.call_raw(json!(batch)).await.expect(200).json();
    let took = begun.elapsed();
    for (n, answer) in answers.as_array().unwrap().iter().enumerate() {
        assert_eq!(answer["id"], n);
        assert_eq!(result(answer)["slept"], 400 - 4 * n);
    }
    assert_eq!(answers.as_array().unwrap().len(), 100);
    // One after the other they would take 20 s.
    assert!(took.as_secs() < 5, "took {took:?}");
}

#[tokio::test]
async fn malformed_requests_get_the_codes_of_json_rpc() {
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
        // Malformed, so answered even without an id.
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
async fn a_call_that_takes_too_long_is_timed_out_with_what_is_known() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().timeout(1).plain("never").plain("echo"))
        .await;
    let begun = std::time::Instant::now();
    let response = ann.call("never", json!({})).await;
    assert!(begun.elapsed().as_millis() < 3_000, "{:?}", begun.elapsed());
    let data = json!({"reason": "timeout", "timeout_seconds": 1, "sent": true});
    let error = json!({"code": -32001, "message": "Method timed out", "data": data});
    assert_eq!(response["error"], error);
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn a_crash_interrupts_and_a_lost_agent_makes_unavailable() {
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
    // Within the grace the method stays listed.
    let document = ann.find_method("echo").await.unwrap();
    assert_eq!(document["provider_count"], 0);
    assert_eq!(document["providers"][0]["state"], "unlinked");
}

#[tokio::test]
async fn http_problems_are_http_errors() {
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

#[tokio::test]
async fn discovery_documents_describe_what_the_caller_sees() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("open", "echo").shared().line(
            "params_schema",
            r#"{ type = "object", properties = { q = { type = "string" } }, required = ["q"] }"#,
        ))
        .with(method("hidden", "echo"));
    let _agent = space.publish(registration).await;
    let document = ben.get("/api/openrpc.json").await.expect(200).json();
    assert!(document["openrpc"].as_str().unwrap().starts_with("1."));
    let methods = document["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 1);
    assert_eq!(methods[0]["name"], "user.ann.open");
    let response = ben.call("rpc.discover", json!({})).await;
    assert_eq!(result(&response), &document);
}
