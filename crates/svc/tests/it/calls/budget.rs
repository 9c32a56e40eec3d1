//! Limits of one request: the bytes of its responses, its work, the time its body takes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_link::{Control, VERSION};
use svc_testkit::{
    RawLink, TestServer, error_code, fixture, peak_resident_mib, resident_mib, result,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Maximum bytes of all responses to one body.
const BUDGET: usize = 64 << 20;

/// Checks that every answer is a result or an error that names the budget, in the order of the
/// requests. Returns the number of results.
fn check_budget(answers: &[Value]) -> usize {
    let is_result = |answer: &&Value| answer.get("error").is_none();
    let (within, past): (Vec<_>, Vec<_>) = answers.iter().partition(is_result);
    for answer in past {
        assert_eq!(error_code(answer), -32603);
        let data = &answer["error"]["data"];
        assert_eq!(data["reason"], "answer_too_large", "{answer}");
        assert_eq!(data["limit_bytes"], BUDGET);
    }
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], id, "in the order of the requests");
    }
    within.len()
}

#[tokio::test]
async fn s4_1_responses_beyond_the_byte_budget_of_a_batch_become_errors() {
    const ONE: usize = 12 << 20;
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("huge").plain("echo")).await;
    let batch: Vec<_> = (0..8)
        .map(|id| json!({"jsonrpc": "2.0", "method": "huge", "params": {"bytes": ONE}, "id": id}))
        .collect();
    let answer = ann.call_raw(json!(batch)).await.expect(200);
    assert!(answer.body.len() < BUDGET + ONE, "{}", answer.body.len());
    let answers: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answers.len(), 8);
    assert_eq!(check_budget(&answers), BUDGET / ONE);
    // Each request body has its own budget.
    result(&ann.call("echo", json!({})).await);
    let alone = ann.call("huge", json!({"bytes": ONE})).await;
    assert_eq!(result(&alone).as_str().unwrap().len(), ONE);
}

#[tokio::test]
async fn s4_1_a_batch_of_discoveries_is_computed_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut link = RawLink::connect(server.address(), &space.agent_token).await;
    link.hello(&[VERSION]).await;
    let methods: Vec<_> = (0..1_000)
        .map(|n| {
            json!({
                "name": format!("m{n}"), "local_name": "m", "description": "d".repeat(200),
                "params_schema": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            })
        })
        .collect();
    let registration = json!({"server": {"command": "x"}, "methods": methods});
    let registered = link
        .register(serde_json::from_value(registration).unwrap())
        .await;
    assert!(
        matches!(registered, Control::Registered(_)),
        "{registered:?}"
    );
    let single = Instant::now();
    let document = ann.call("rpc.discover", json!({})).await;
    let single = single.elapsed();
    assert_eq!(
        result(&document)["methods"].as_array().unwrap().len(),
        1_000
    );

    let before = resident_mib(server.id());
    let batch: Vec<_> = (0..1_000)
        .map(|id| json!({"jsonrpc": "2.0", "method": "rpc.discover", "id": id}))
        .collect();
    let begun = Instant::now();
    let answer = ann.call_raw(json!(batch)).await.expect(200);
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(15) + 100 * single,
        "1,000 took {took:?}, one {single:?}"
    );
    assert!(answer.body.len() < BUDGET + (1 << 20));
    let grown = peak_resident_mib(server.id()).saturating_sub(before);
    assert!(grown < 300, "the server grew by {grown} MiB");
    let answers: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let within = check_budget(&answers);
    assert!((1..1_000).contains(&within), "{within}");
    assert_eq!(answers[0]["result"], document["result"]);
}

#[tokio::test]
async fn a_request_body_that_arrives_too_slowly_is_refused() {
    let server = TestServer::start().await;
    let slow = async |path: &str| {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let begun = Instant::now();
        let mut answer = Vec::new();
        let mut trickle = tokio::time::interval(Duration::from_secs(2));
        let (mut reading, mut writing) = stream.split();
        let read = async {
            // Stop at the end of the JSON error: the server may keep the connection open.
            let mut part = [0; 1024];
            while let Ok(count @ 1..) = reading.read(&mut part).await {
                answer.extend_from_slice(&part[..count]);
                if answer.ends_with(b"}") {
                    return;
                }
            }
        };
        let write = async {
            loop {
                trickle.tick().await;
                if writing.write_all(b" ").await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let limit = Duration::from_secs(45);
        tokio::select! {
            () = read => {}
            () = write => {}
            () = tokio::time::sleep(limit) => {}
        }
        assert!(begun.elapsed() < limit, "{path} waits");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    };
    tokio::join!(slow("/api/auth/login"), slow("/api/auth/setup"));
}

#[tokio::test]
async fn a_request_body_other_than_an_object_is_refused() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    for (path, bodies) in [
        (
            "/api/tokens",
            [r#"["x"]"#, r#"["x",["methods"],1]"#, "null"],
        ),
        ("/api/groups", [r#"["ops"]"#, r#" ["ops"]"#, r#""ops""#]),
        ("/api/spaces", [r#"["lab"]"#, "[]", "1"]),
        (
            "/api/users",
            [r#"["eve","correct horse",[],[],true]"#, "[]", "true"],
        ),
        (
            "/api/auth/login",
            [r#"["admin","correct horse battery"]"#, "[]", "null"],
        ),
    ] {
        for body in bodies {
            let answer = admin.post(path, body).await;
            assert_eq!(answer.status, 400, "{path} {body}: {}", answer.text());
            assert_eq!(answer.code(), "invalid_body", "{path} {body}");
        }
    }
    assert_eq!(
        admin.get("/api/groups").await.json()["groups"],
        Value::Array(Vec::new())
    );
}
