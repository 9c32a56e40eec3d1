//! `POST /api/methods/call` (spec 4.1): single calls, batches and notifications. Also the discovery
//! documents.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, eventually, fixture, method, result};

use crate::SOON;

/// Sends exactly these bytes as a request, and checks the exact bytes of the response.
async fn check(user: &TestUser, request: &str, expected: &str) {
    let answer = user.call_raw(request).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.text(), expected, "to {request}");
}

#[tokio::test]
async fn s4_1_s9_ids_params_and_results_pass_unchanged() {
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
    // An error of the method server passes through unchanged.
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
async fn s1_s2_1_a_method_server_receives_the_local_name_an_integer_id_and_one_line() {
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
    // The method server gets one line: line breaks between tokens become spaces. Inside strings, a
    // line break is always an escape.
    let seen = line("\"params\": {\r\n \"a\":\n 1, \"b\": \"x\\ny\"},").await;
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["params"], json!({"a": 1, "b": "x\ny"}));
}

#[tokio::test]
async fn s4_1_s7_a_notification_is_forwarded_and_answered_204() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("push").plain("pushed")).await;

    let answer = ann.notify("push", json!({"n": 1})).await.expect(204);
    assert!(answer.body.is_empty());
    // A well-formed notification is never answered, even if its method is unknown.
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
async fn s4_1_s7_a_mixed_batch_is_answered_in_order_without_its_notifications() {
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
        ["2.0", "echo", [1], 5],
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
            Value::Null,
            Value::Null
        ]
    );
    assert_eq!(answers[0]["result"]["slept"], 300);
    assert_eq!(answers[1]["result"], json!([2]));
    assert_eq!(error_code(&answers[2]), -32601);
    assert_eq!(error_code(&answers[3]), -32600);
    assert_eq!(error_code(&answers[4]), -32600);
    assert_eq!(error_code(&answers[5]), -32600);
    assert_eq!(answers[6]["result"], json!([4]));
}

#[tokio::test]
async fn s4_1_a_batch_of_100_over_two_spaces_runs_in_parallel_and_answers_in_order() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (anns, bens) = (ann.space("one").await, ben.space("two").await);
    let _first = anns.publish(fixture().plain("sleep")).await;
    let shared = fixture().with(method("slow", "sleep").shared());
    let _second = bens.publish(shared).await;
    let batch: Vec<_> = (0..100)
        .map(|n| {
            let method = if n % 2 == 0 { "sleep" } else { "user.ben.slow" };
            // Later calls finish earlier, so the order of the responses is not an accident.
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
    // In sequence they would take 20 s.
    assert!(took.as_secs() < 15, "took {took:?}");
}

#[tokio::test]
async fn s4_1_discovery_documents_describe_the_methods_that_the_caller_sees() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("open", "echo").shared().line(
            "params_schema",
            r#"{ type = "object", properties = { q = { type = "string" } }, required = ["q"] }"#,
        ))
        .with(
            method("titled", "echo")
                .shared()
                .line("title", r#""With a title""#)
                .line("annotations", "{ destructive = false }"),
        )
        .with(method("hidden", "echo"));
    let _agent = space.publish(registration).await;
    let document = ben.get("/api/openrpc.json").await.expect(200).json();
    assert!(document["openrpc"].as_str().unwrap().starts_with("1."));
    let methods = document["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 2);
    assert_eq!(methods[0]["name"], "user.ann.open");
    assert_eq!(methods[0].get("x-title"), None);
    assert_eq!(methods[0].get("x-annotations"), None);
    assert_eq!(methods[1]["x-title"], "With a title");
    assert_eq!(methods[1]["x-annotations"], json!({"destructive": false}));
    let response = ben.call("rpc.discover", json!({})).await;
    assert_eq!(result(&response), &document);
}
