//! Independent clients go through the whole flow. Each client starts with only the address of
//! `/mcp`. The user agrees in a real browser.

use std::ffi::OsStr;

use svc_testkit::{TestServer, TestUser, find_browser, found_or_skipped};

use crate::{judge::Judge, mcp::judges::publish_tools};

async fn judge(judge: Judge) {
    let problem = "apps cannot be connected in a browser";
    let Some(browser) = found_or_skipped(find_browser(), "SVC_REQUIRE_BROWSER", problem) else {
        return;
    };
    let Some(script) = Judge::Node("browser.mjs", &[]).install() else {
        return;
    };
    let script: Vec<_> = std::iter::once(script.get_program())
        .chain(script.get_args())
        .filter_map(OsStr::to_str)
        .collect();
    let server = TestServer::start().await;
    let ann: TestUser = server.user("ann").await;
    let _agent = publish_tools(&ann).await;
    let url = format!("{}/mcp", server.url());
    let cookie = ann.login().await;
    let (browser, script) = (browser.to_string_lossy(), script.join("\n"));
    let variables = [
        ("MCP_URL", url.as_str()),
        ("MCP_TOKEN", ""),
        ("MCP_COOKIE", cookie.as_str()),
        ("MCP_BROWSER", &browser),
        ("MCP_BROWSER_SCRIPT", script.as_str()),
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

#[tokio::test]
async fn mcp_remote_connects_by_address() {
    judge(Judge::Node("mcp-remote.mjs", &[])).await;
}

#[tokio::test]
async fn the_conformance_suite_accepts_the_authorization_server() {
    judge(Judge::Node("authorization.mjs", &[])).await;
}
