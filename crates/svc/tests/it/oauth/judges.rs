//! Independent clients go through the whole flow: from the address of `/mcp` to a result, a renewal,
//! and the end.

use svc_testkit::{TestServer, TestUser};

use crate::{judge::Judge, mcp::judges::publish_tools};

async fn judge(judge: Judge) {
    let server = TestServer::start().await;
    let ann: TestUser = server.user("ann").await;
    let _agent = publish_tools(&ann).await;
    let url = format!("{}/mcp", server.url());
    let cookie = ann.login().await;
    let variables = [
        ("MCP_URL", url.as_str()),
        ("MCP_TOKEN", ""),
        ("MCP_COOKIE", cookie.as_str()),
    ];
    if let Some(said) = judge.ask(&server, &variables).await {
        assert_eq!(said.last().map(String::as_str), Some("ok"));
    }
}

#[tokio::test]
async fn the_typescript_sdk_1_connects_by_address() {
    judge(Judge::Node("oauth.mjs", &["sdk1"])).await;
}

#[tokio::test]
async fn the_typescript_client_2_connects_by_address() {
    judge(Judge::Node("oauth.mjs", &["client2"])).await;
}

#[tokio::test]
async fn the_python_client_2_connects_by_address() {
    judge(Judge::PythonOf("mcp2", "oauth")).await;
}
