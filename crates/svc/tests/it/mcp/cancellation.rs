//! `notifications/cancelled` of legacy clients.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{
    Answer, TestAgent, TestServer, TestSpace, TestUser, eventually, fixture, method,
};
use tokio::task::JoinHandle;

use crate::{
    SOON,
    mcp::{LEGACY, MODERN, call, post, text},
};

const TOOLS: [&str; 3] = ["sleep", "push", "pushed"];
/// Longer than a test waits for an answer, so only a cancellation ends such a call in time.
const LONG_MS: u64 = 60_000;

struct Site {
    server: TestServer,
    ann: TestUser,
    agent: TestAgent,
    space: TestSpace,
}

impl Site {
    async fn start(is_serial: bool) -> Self {
        let server = TestServer::start().await;
        let ann = server.user("ann").await;
        let space = ann.space("lab").await;
        let registration = if is_serial {
            fixture().serial()
        } else {
            fixture()
        };
        let with_tools = TOOLS.iter().fold(registration, |all, name| {
            all.with(method(name, name).mcp_tool())
        });
        let agent = space.publish(with_tools).await;
        Self {
            server,
            ann,
            agent,
            space,
        }
    }

    async fn wait_for_queued(&self, count: u64) {
        let is_so = async || self.agent.status().await["method_server"]["queued"] == count;
        eventually("the queue has this length", SOON, is_so).await;
    }
}

fn start(user: &TestUser, id: Value, tool: &str, arguments: Value) -> JoinHandle<Answer> {
    let (user, params) = (user.clone(), json!({"name": tool, "arguments": arguments}));
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    tokio::spawn(
        async move { post(&user, "/mcp", &[("mcp-protocol-version", LEGACY)], body).await },
    )
}

async fn cancel_as(version: &str, user: &TestUser, id: Value) {
    let params = json!({"requestId": id, "reason": "no longer needed"});
    let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let headers = [("mcp-protocol-version", version)];
    post(user, "/mcp", &headers, body).await.expect(202);
}

async fn cancel(user: &TestUser, id: Value) {
    cancel_as(LEGACY, user, id).await;
}

async fn answered(call: JoinHandle<Answer>) -> Answer {
    let answer = tokio::time::timeout(Duration::from_millis(LONG_MS / 2), call);
    answer.await.expect("the call ends soon").unwrap()
}

#[tokio::test]
async fn a_cancelled_call_that_waits_is_not_sent() {
    let site = Site::start(true).await;
    let slow = start(
        &site.ann,
        json!(1),
        "sleep",
        json!({"ms": 10, "until": "go"}),
    );
    site.ann.wait_for_in_flight("sleep", 1).await;
    let queued = start(&site.ann, json!("a"), "push", json!({"never": "sent"}));
    site.wait_for_queued(1).await;
    cancel(&site.ann, json!("a")).await;
    let answer = answered(queued).await.expect(202);
    assert!(answer.body.is_empty(), "a cancelled call has no answer");
    site.wait_for_queued(0).await;
    site.space.write("go", "");
    answered(slow).await.expect(200);
    assert_eq!(text(&call(&site.ann, "pushed", json!({})).await), "[]");
}

#[tokio::test]
async fn a_running_call_is_cancelled_only_by_its_own_credential() {
    let site = Site::start(false).await;
    let ann = &site.ann;
    let running = start(ann, json!(7), "sleep", json!({ "ms": LONG_MS }));
    ann.wait_for_in_flight("sleep", 1).await;
    let ben = site.server.user("ben").await;
    let other_token = ann.scoped(&["mcp"]).await;
    for other in [&ben, &other_token] {
        cancel(other, json!(7)).await;
    }
    cancel(ann, json!("7")).await;
    cancel(ann, json!(8)).await;
    // A modern client cancels by closing the response, so its notification has no effect.
    cancel_as(MODERN, ann, json!(7)).await;
    // With a second call of the same id, a cancellation is ambiguous and ends neither call.
    let second = start(ann, json!(7), "sleep", json!({"ms": 10, "until": "go"}));
    ann.wait_for_in_flight("sleep", 2).await;
    cancel(ann, json!(7)).await;
    site.space.write("go", "");
    answered(second).await.expect(200);
    assert!(!running.is_finished());

    cancel(ann, json!(7)).await;
    answered(running).await.expect(202);
    ann.wait_for_in_flight("sleep", 0).await;
}

#[tokio::test]
async fn a_cancelled_item_of_a_batch_has_no_answer() {
    let site = Site::start(false).await;
    let item = |id: u32, ms: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "sleep", "arguments": {"ms": ms}}})
    };
    let (ann, body) = (site.ann.clone(), json!([item(1, LONG_MS), item(2, 10)]));
    let batch = tokio::spawn(async move { post(&ann, "/mcp", &[], body).await });
    site.ann.wait_for_in_flight("sleep", 1).await;
    cancel(&site.ann, json!(1)).await;
    let answers = answered(batch).await.expect(200).json();
    let ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["id"])
        .collect();
    assert_eq!(ids, [2]);
}
