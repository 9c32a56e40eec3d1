//! Many links and many methods on one server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{Http, SimulatedAgents, TestServer, TestUser, raise_open_files_limit, result};
use tokio::task::JoinSet;

const LINKS: usize = 2_000;
const METHODS: usize = 10;
/// Requests of the test that wait for an answer at the same time.
const AT_ONCE: usize = 64;

/// Creates spaces `s0`, `s1`… and returns their agent tokens.
async fn spaces(user: &TestUser, count: usize) -> Vec<String> {
    let mut tokens = Vec::with_capacity(count);
    let mut creating = JoinSet::new();
    for n in 0..count {
        if creating.len() >= AT_ONCE
            && let Some(done) = creating.join_next().await
        {
            tokens.push(done.unwrap());
        }
        let user = user.clone();
        creating.spawn(async move {
            let body = json!({"name": format!("s{n}")});
            let record = user.post("/api/spaces", body).await.expect(201).json();
            record["agent_token"].as_str().unwrap().to_owned()
        });
    }
    tokens.extend(creating.join_all().await);
    tokens
}

#[tokio::test]
async fn two_thousand_links_with_twenty_thousand_methods_still_answer() {
    raise_open_files_limit();
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let tokens = spaces(&ann, LINKS).await;
    let Http::Tcp(address) = server.http() else {
        unreachable!("a test server listens on TCP")
    };
    let mut agents = SimulatedAgents::link(address, tokens, METHODS, AT_ONCE).await;
    assert_eq!(agents.len(), LINKS);

    // Every 97th space, so that the links of early and late spaces are among them.
    let begun = Instant::now();
    let mut called = 0;
    for n in (0..LINKS).step_by(97) {
        let name = format!("s{n}.m{}", n % METHODS);
        assert_eq!(
            result(&ann.call(&name, json!({ "n": n })).await),
            &json!({ "n": n })
        );
        called += 1;
    }
    let each = begun.elapsed() / called;
    assert!(each < Duration::from_millis(100), "a call takes {each:?}");

    let batch: Vec<_> = (0..1_000)
        .map(|n| json!({"jsonrpc": "2.0", "method": format!("s{}.m3", 2 * n), "params": [n], "id": n}))
        .collect();
    let answers = ann.call_raw(json!(batch)).await.expect(200).json();
    for (n, answer) in answers.as_array().unwrap().iter().enumerate() {
        assert_eq!(result(answer), &json!([n]));
    }
    let listed: Value = ann.get("/api/methods").await.expect(200).json();
    assert_eq!(listed["count"], LINKS * METHODS);
    let metrics = ann
        .http()
        .request("GET", "/metrics", &[], "")
        .await
        .expect(200)
        .text();
    assert!(metrics.contains(&format!("svc_links {LINKS}")), "{metrics}");
    assert_eq!(agents.ended(), Vec::<String>::new());
}
