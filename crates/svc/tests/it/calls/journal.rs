//! The call journal: `GET /api/calls`, streams and `svc calls`.

mod access;
mod callers;
mod durable;
mod flood;
mod payloads;
mod streams;
mod summary;
mod top;

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, eventually, fixture, get_eventually, method, result};

use crate::{SOON, mcp};

/// The calls that a user sees, newest first.
async fn calls(user: &TestUser, query: &str) -> Vec<Value> {
    user.list(&format!("/api/calls{query}"), "calls").await
}

/// Waits until the user sees this number of calls.
async fn wait_for(user: &TestUser, query: &str, count: usize) -> Vec<Value> {
    get_eventually(&format!("{count} calls"), SOON, || async {
        let found = calls(user, query).await;
        assert!(found.len() <= count, "{found:?}");
        (found.len() == count).then_some(found)
    })
    .await
}

fn texts<'a>(calls: &'a [Value], key: &str) -> Vec<&'a str> {
    let mut texts: Vec<_> = calls
        .iter()
        .map(|call| call[key].as_str().unwrap())
        .collect();
    texts.sort_unstable();
    texts
}

#[tokio::test]
async fn every_way_to_call_a_method_is_recorded() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("echo", "echo").mcp_tool())
        .with(method("on_event", "echo").line("events", r#"["custom.go"]"#))
        .plain("fail");
    let _agent = space.publish(registration).await;
    ann.call("echo", json!({"text": "12345"})).await;
    let batch = json!([
        {"jsonrpc": "2.0", "method": "echo", "params": {}, "id": 1},
        {"jsonrpc": "2.0", "method": "nowhere", "id": 2},
        {"jsonrpc": "2.0", "method": "fail", "params": {"code": 7, "message": "no"}, "id": 3},
        {"jsonrpc": "2.0", "method": "echo", "params": {}},
        {"jsonrpc": "2.0", "method": "rpc.discover", "id": 4},
    ]);
    ann.call_raw(batch).await.expect(200);
    mcp::call(&ann, "echo", json!({})).await;
    ann.emit("go", json!({})).await;
    let source = "from svc import api\ndef main(params):\n    return api.call('echo', {})\n";
    let script = ann.script("tool", "one", source).await;
    let ran = ann
        .post(&format!("/api/scripts/{}/run", script.id), "{}")
        .await;
    ran.expect(200);

    // The server itself answers `rpc.discover`: it is not a call of a method.
    let all = wait_for(&ann, "", 8).await;
    let found: Vec<_> = all
        .iter()
        .map(|call| {
            let text = |key: &str| call[key].as_str().unwrap().to_owned();
            (
                text("via"),
                text("method"),
                text("outcome"),
                call["code"].clone(),
            )
        })
        .collect();
    for (via, name, outcome, code) in [
        ("api", "echo", "ok", Value::Null),
        ("batch", "echo", "ok", Value::Null),
        ("batch", "nowhere", "not_found", json!(-32601)),
        ("batch", "fail", "error", json!(7)),
        ("batch", "echo", "notification", Value::Null),
        ("mcp", "echo", "ok", Value::Null),
        ("event", "on_event", "ok", Value::Null),
        ("script", "echo", "ok", Value::Null),
    ] {
        let wanted = (via.to_owned(), name.to_owned(), outcome.to_owned(), code);
        assert!(found.contains(&wanted), "{wanted:?} in {found:?}");
    }
    let single = &calls(&ann, "?via=api").await[0];
    assert_eq!(
        single["params_bytes"],
        json!({"text": "12345"}).to_string().len()
    );
    assert_eq!(single["space"], "lab");
    assert_eq!(single["space_id"], space.id);
    assert_eq!(single["credential"]["kind"], "token");
    assert!(single["duration_ms"].as_f64().unwrap() > 0.0);
    let event = &calls(&ann, "?via=event").await[0];
    assert_eq!(event["credential"], Value::Null);
    assert_eq!(
        calls(&ann, "?via=script").await[0]["credential"]["kind"],
        "script"
    );
    // A call of a name that does not exist is in the journal of its caller.
    let unknown = &calls(&ann, "?outcome=not_found").await[0];
    assert_eq!(
        (&unknown["owner"], &unknown["space"]),
        (&json!("ann"), &Value::Null)
    );
}

#[tokio::test]
async fn calls_are_filtered_read_and_paged() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().plain("echo").plain("fail").plain("sleep"))
        .await;
    for n in 0..5 {
        ann.call("echo", json!([n])).await;
    }
    ann.call("fail", json!({"code": -5, "message": "no"})).await;
    ann.call("sleep", json!({"ms": 2500})).await;
    let all = wait_for(&ann, "", 7).await;
    let newest_first = all
        .windows(2)
        .all(|pair| pair[0]["id"].as_str() > pair[1]["id"].as_str());
    assert!(newest_first, "{all:?}");
    for (query, count) in [
        ("?method=echo", 5),
        ("?method=user.ann.echo", 0),
        ("?code=-5", 1),
        ("?outcome=ok", 6),
        ("?caller=ann&owner=ann", 7),
        ("?caller=nobody", 0),
        ("?until=2001-01-01T00:00:00Z", 0),
        ("?since=2001-01-01T00:00:00Z", 7),
    ] {
        assert_eq!(calls(&ann, query).await.len(), count, "{query}");
    }
    let by_space = format!("?space_id={}", space.id);
    assert_eq!(calls(&ann, &by_space).await.len(), 7);
    // On a busy machine, other calls may be slow too.
    let is_slow = |call: &&Value| call["duration_ms"].as_f64().unwrap() >= 2_400.0;
    let slow: Vec<_> = all.iter().filter(is_slow).cloned().collect();
    assert_eq!(slow[0]["method"], "sleep");
    assert_eq!(calls(&ann, "?min_duration_ms=2400").await, slow);
    for bad in [
        "outcome=good",
        "via=pigeon",
        "since=today",
        "code=x",
        "limit=0",
        "cursor=x",
    ] {
        ann.get(&format!("/api/calls?{bad}")).await.expect(400);
    }
    let id = all[3]["id"].as_str().unwrap();
    let one = ann
        .get(&format!("/api/calls/{id}"))
        .await
        .expect(200)
        .json();
    assert_eq!(one, all[3]);
    let missing = ann
        .get("/api/calls/0197a1b2-0000-7000-8000-000000000000")
        .await;
    assert_eq!(missing.expect(404).code(), "not_found");
    let first = ann.get("/api/calls?limit=3").await.expect(200).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = ann
        .get(&format!("/api/calls?limit=3&cursor={cursor}"))
        .await
        .expect(200)
        .json();
    assert_eq!(first["calls"], json!(all[..3]));
    assert_eq!(second["calls"], json!(all[3..6]));
    assert_eq!(first["dropped"], 0);
}

#[tokio::test]
async fn the_trace_id_of_a_request_is_recorded() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    for header in [
        format!("00-{trace}-b7ad6b7169203331-01"),
        "00-zz-b7-01".to_owned(),
    ] {
        let request = ann
            .request("POST", "/api/methods/call")
            .header("content-type", "application/json")
            .header("traceparent", header)
            .body(
                json!({"jsonrpc": "2.0", "method": "nowhere", "id": 1})
                    .to_string()
                    .into(),
            );
        ann.http().send(request.unwrap()).await.expect(200);
    }
    let found = wait_for(&ann, "", 2).await;
    let traces: Vec<_> = found.iter().map(|call| &call["trace_id"]).collect();
    assert_eq!(traces, [&Value::Null, &json!(trace)]);
}

#[tokio::test]
async fn the_trace_id_of_an_mcp_message_precedes_that_of_its_request() {
    let (_server, ann, _space) = mcp::with_echo().await;
    let [first, second] = [
        "0af7651916cd43dd8448eb211c80319c",
        "4bf92f3577b34da6a3ce929d0e0e4736",
    ];
    let parent = |trace: &str| format!("00-{trace}-b7ad6b7169203331-01");
    let header = parent(first);
    for in_message in [None, Some(parent(second)), Some("00-zz".to_owned())] {
        let params = json!({"name": "notes_echo", "arguments": {}});
        let mut body = mcp::modern_body("tools/call", params);
        if let Some(parent) = in_message {
            body["params"]["_meta"]["traceparent"] = json!(parent);
        }
        let headers = [
            ("mcp-protocol-version", mcp::MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "notes_echo"),
            ("traceparent", header.as_str()),
        ];
        mcp::post(&ann, "/mcp", &headers, body).await.expect(200);
    }
    let found = wait_for(&ann, "?via=mcp", 3).await;
    let traces: Vec<_> = found.iter().rev().map(|call| &call["trace_id"]).collect();
    assert_eq!(traces, [first, second, first]);
}

#[tokio::test]
async fn a_call_has_the_time_of_its_wait_and_of_the_method_server() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().serial().plain("sleep")).await;
    // The second call waits in the space until the first is answered.
    let first = ann.start_call("sleep", json!({"ms": 400, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    let second = ann.start_call("sleep", json!({"ms": 400}));
    eventually("the second call waits", SOON, || async {
        agent.status().await["method_server"]["queued"] == 1
    })
    .await;
    space.write("go", "");
    for call in [first, second] {
        result(&call.await.unwrap());
    }
    ann.call("nowhere", json!({})).await;
    let found = wait_for(&ann, "", 3).await;
    let ms = |call: &Value, key: &str| call[key].as_f64().unwrap();
    let [unknown, second, first] = found.as_slice() else {
        panic!("{found:?}");
    };
    for call in [first, second] {
        assert!(ms(call, "method_ms") >= 390.0, "{call}");
        let parts = ms(call, "queue_ms") + ms(call, "method_ms");
        assert!(parts <= ms(call, "duration_ms"), "{call}");
    }
    // While the second call waited, the first took at least 400 ms.
    assert!(ms(second, "queue_ms") >= 390.0, "{found:?}");
    assert_eq!(
        (&unknown["queue_ms"], &unknown["method_ms"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_caller_who_leaves_before_the_answer_is_recorded() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("never")).await;
    let metrics = async || {
        let http = server.http();
        let answer = http.request("GET", "/metrics", &[], "").await;
        answer.expect(200).text()
    };
    let is_running = get_eventually("the call runs", SOON, || async {
        let line = r#"svc_method_calls_in_flight{method="never"} 1"#;
        metrics().await.contains(line).then_some(())
    });
    tokio::select! {
        answer = ann.call("never", json!({"a": 1})) => panic!("{answer}"),
        () = is_running => {}
    }
    let left = &wait_for(&ann, "?outcome=cancelled", 1).await[0];
    assert_eq!(
        (&left["method"], &left["space"]),
        (&json!("never"), &json!("lab"))
    );
    assert_eq!(
        (&left["code"], &left["result_bytes"]),
        (&Value::Null, &json!(0))
    );
    assert!(left["duration_ms"].as_f64().unwrap() > 0.0);
    let text = metrics().await;
    for line in [
        r#"svc_calls_total{outcome="cancelled"} 1"#,
        r#"svc_method_calls_total{method="never",outcome="cancelled"} 1"#,
        r#"svc_method_call_seconds_count{method="never"} 0"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    // The call has one row.
    assert_eq!(calls(&ann, "").await.len(), 1);
}

#[tokio::test]
async fn a_journal_that_is_off_records_nothing() {
    let server = TestServer::builder()
        .env("SVC_JOURNAL_ROWS", "0")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    ann.call("echo", json!({})).await;
    agent.stop().await;
    let mut server = server;
    // When a server with a journal stops, it writes the calls that wait in memory.
    server.restart().await;
    assert!(calls(&ann.at(&server), "").await.is_empty());
}

#[tokio::test]
async fn no_param_result_or_token_is_recorded() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo").plain("fail")).await;
    ann.call("echo", json!({"text": "sesame-param"})).await;
    ann.call("fail", json!({"code": 1, "message": "sesame-error"}))
        .await;
    wait_for(&ann, "", 2).await;
    let text = ann.get("/api/calls").await.expect(200).text();
    for secret in ["sesame", ann.token.as_str()] {
        assert!(!text.contains(secret), "{text}");
    }
    server.terminate().await;
    for file in std::fs::read_dir(server.data_dir()).expect("a folder") {
        let path = file.expect("an entry").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("a file");
            let found = bytes.windows(6).any(|part| part == b"sesame");
            assert!(!found, "{}", path.display());
        }
    }
    assert!(!server.log().contains("sesame"));
}
