//! The call journal: the page of calls, and the calls of a method.

use serde_json::{Value, json};
use svc_testkit::{TestUser, fixture, get_eventually, method};

use super::{
    SOON,
    flow::{Flow, credentials},
    install::Browser,
    site::server,
};

const LOGIN: &str =
    "{ type = 'object', properties = { pin = { type = 'string', writeOnly = true } } }";

#[tokio::test]
async fn calls_are_followed_filtered_opened_and_made_again() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let space = ann.space("shop").await;
    let methods = fixture()
        .with(method("total", "add").shared())
        .with(method("refund", "fail"))
        .with(method("echo", "echo"))
        .with(
            method("pay", "echo")
                .line("journal", "'payloads'")
                .line("journal_redact", "['/card']"),
        )
        .with(method("login", "echo").line("params_schema", LOGIN));
    let _agent = space.publish(methods).await;
    let facts = json!({"ann": credentials(&ann), "ben": credentials(&ben)});
    let mut flow = Flow::start(&browser, "calls", &server, &facts);

    flow.until("call").await;
    for n in 0..70 {
        ann.call("total", json!({"a": n, "b": 2})).await;
    }
    ben.call("user.ann.total", json!({"a": 1, "b": 2})).await;
    let refusal = json!({"code": 4, "message": "the order was shipped"});
    ann.call("refund", refusal).await;
    flow.go_on().await;
    flow.until("call while it pauses").await;
    ann.call("missing", json!({})).await;
    flow.go_on().await;
    flow.until("call often").await;
    call_often(&ann).await;
    flow.go_on().await;
    flow.end().await;
}

/// Calls `total` 600 times, and waits until the calls are recorded.
async fn call_often(user: &TestUser) {
    let call =
        |n: u32| json!({"jsonrpc": "2.0", "id": n, "method": "total", "params": {"a": n, "b": 2}});
    let batch: Vec<_> = (0..600).map(call).collect();
    user.call_raw(Value::from(batch)).await.expect(200);
    get_eventually("the calls are recorded", SOON, || async {
        let batched = user.list("/api/calls?via=batch", "calls").await;
        (batched.len() == 600).then_some(())
    })
    .await;
}
