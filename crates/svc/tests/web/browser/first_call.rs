//! The way from an empty server to the first call, and tokens that users create in the pages.

use serde_json::{Value, json};
use svc_testkit::{
    Answer, Cli, TempDir, TestUser, error_code, fixture, get_eventually, method, result,
};

use super::{
    SOON,
    flow::{Flow, credentials},
    install::Browser,
    site::{Site, orders, server},
};

#[tokio::test]
async fn from_the_setup_link_to_the_first_call() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut server = server().without_admin().start().await;
    let line = server.process().wait_for_log("/setup?token=", SOON).await;
    let link = line
        .split_whitespace()
        .find(|word| word.contains("/setup?token="));
    let facts = json!({ "link": link.unwrap() });
    let mut flow = Flow::start(&browser, "first-call", &server, &facts);

    // The flow has created a space. The page shows shell commands; the test runs them.
    let token = flow.until("start the agent").await;
    let folder = TempDir::new().unwrap();
    let mut agent = Cli::new(server.home())
        .folder(folder.path())
        .env("SVC_URL", server.url())
        .env("SVC_AGENT_TOKEN", token.as_str().unwrap())
        .spawn(&["agent", "start", "--listen", "127.0.0.1:0"]);
    agent.wait_for_log("linked to the server", SOON).await;
    std::fs::write(folder.path().join("methods.toml"), orders("ready")).unwrap();
    let cli = Cli::new(server.home()).folder(folder.path());
    cli.run(&["methods", "register", "methods.toml"])
        .await
        .expect(0);
    flow.go_on().await;
    flow.end().await;
    drop(agent);
}

#[tokio::test]
async fn a_token_is_shown_once_used_and_revoked() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("warehouse").await;
    let _agent = space.publish(fixture().with(method("sum", "add"))).await;
    let facts = json!({"ann": credentials(&ann)});
    let mut flow = Flow::start(&browser, "token", &server, &facts);

    let token = flow.until("use the token").await;
    let holder = ann.with_token(token.as_str().unwrap());
    let answer = holder.call("sum", json!({"a": 40, "b": 2})).await;
    assert_eq!(*result(&answer), 42);
    holder.get("/api/spaces").await.expect(403);
    let unknown = holder.call("nothing", json!({})).await;
    assert_eq!(error_code(&unknown), -32601);
    flow.go_on().await;

    flow.until("use the revoked token").await;
    holder.get("/api/methods").await.expect(401);
    flow.go_on().await;
    flow.end().await;
}

#[tokio::test]
async fn a_client_is_configured_with_a_token_of_the_page() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut site = Site::shop(server()).await;
    let dana = site.server.user("dana").await;
    site.facts["dana"] = credentials(&dana);
    let mut flow = Flow::start(&browser, "mcp", &site.server, &site.facts);
    let token = flow.until("use the token").await;
    let client = site.ann.with_token(token.as_str().unwrap());
    let listed = post_mcp(&client, "tools/list", json!({})).await;
    assert!(listed.text().contains("orders_create"));
    client.get("/api/methods").await.expect(403);
    let sum = json!({"name": "orders_total", "arguments": {"a": 40, "b": 2}});
    post_mcp(&client, "tools/call", sum).await;
    // A client of a user without permissions.
    let client = dana.scoped(&["mcp"]).await;
    let greeting = json!({"name": "user_ben_greet", "arguments": {}});
    post_mcp(&client, "tools/call", greeting).await;
    get_eventually("the calls are recorded", SOON, || async {
        let calls = site.ann.list("/api/calls?via=mcp", "calls").await;
        (calls.len() == 2).then_some(())
    })
    .await;
    flow.go_on().await;
    flow.end().await;
}

async fn post_mcp(client: &TestUser, method: &str, params: Value) -> Answer {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = client
        .request("POST", "/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_string().into_bytes().into())
        .unwrap();
    client.http().send(request).await.expect(200)
}
